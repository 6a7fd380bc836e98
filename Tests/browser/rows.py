"""The rows of requirements that the chat page meets, a script each (`w:name`).

    rows.py [--nodes ADDRESS[,ADDRESS…]] [NAME …]

Without `--nodes` the pages use the fake client, as scripts do that need a fault which nodes do not
have.
"""

import argparse
import sys
import time
import traceback

from playwright.sync_api import sync_playwright

import rows_chats
import rows_direction
import rows_items
import rows_live
import rows_messages
import rows_nodes
import rows_people
import rows_push
import rows_shell
from chromium import launch
from server import serve
from world import NeedsFake, NeedsNodes, Place

MODULES = [rows_people, rows_chats, rows_messages, rows_direction, rows_live, rows_items, rows_push,
           rows_shell, rows_nodes]


def scripts():
    """The scripts by name; `w_action_sheet` is `w:action-sheet`."""
    found = {}
    for module in MODULES:
        for name, script in vars(module).items():
            if name.startswith("w_"):
                found[name[2:].replace("_", "-")] = script
    return found


def place(error):
    """The line of the script at which it failed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "rows" in frame.filename]
    frame = next((frame for frame in ours if frame.name.startswith("w_")), ours[-1])
    return f"{frame.filename.rpartition('/')[2]}:{frame.lineno}: {frame.line}"


def run(script, browser, nodes):
    """Runs a script at nodes if it can; returns where it ran."""
    if nodes:
        try:
            script(browser, Place(nodes, is_fake=False))
            return ""
        except NeedsFake:
            pass
    script(browser, Place([serve()], is_fake=True))
    return " (fake client)"


def main():
    all_scripts = scripts()
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", default="")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    wanted = [name.removeprefix("w:") for name in options.names] or list(all_scripts)
    if unknown := [name for name in wanted if name not in all_scripts]:
        parser.error(f"no script is called {', '.join(unknown)}")
    nodes = [node for node in options.nodes.split(",") if node]
    failures = 0
    with sync_playwright() as playwright:
        browser = launch(
            playwright, "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
        for name in wanted:
            start = time.monotonic()
            try:
                where = run(all_scripts[name], browser, nodes)
                print(f"ok   w:{name} {time.monotonic() - start:.1f} s{where}", flush=True)
            except NeedsNodes:
                print(f"skip w:{name}: needs nodes", flush=True)
            except Exception as error:
                failures += 1
                print(f"FAIL w:{name}: {place(error)}\n    {error}", flush=True)
        browser.close()
    print(f"{len(wanted)} rows, {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
