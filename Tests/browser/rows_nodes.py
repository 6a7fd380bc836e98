"""Rows about pages whose node ends. They need nodes that `cluster/up` started."""

import os
import pathlib
import subprocess
import time
from urllib.parse import urlsplit

from playwright.sync_api import expect

from world import world

# The base of the ports of the nodes, of which each has the one for apps 200 above it.
PORTS = int(os.environ.get("GRAPEVINE_PORTS", "7100"))
CLUSTER = pathlib.Path(__file__).parents[2] / "cluster"
SWITCHED_MS = 4000

COUNT_REMOVED_ROWS = """() => {
    window.removedRows = 0;
    new MutationObserver((records) => {
        for (const { removedNodes } of records) {
            for (const node of removedNodes) {
                if (node.classList?.contains("message-row")) window.removedRows += 1;
            }
        }
    }).observe(document.body, { childList: true, subtree: true });
}"""


def order(script, address):
    """Runs `cluster/kill` or `cluster/start` for the node at an address."""
    node = f"n{urlsplit(address).port - PORTS - 200}"
    subprocess.run([CLUSTER / script, node], check=True, capture_output=True)


def w_node_killed(browser, place):
    """A page goes on with another node when its own is killed while its user types."""
    place.need_nodes()
    with world(browser, place) as w:
        alice, bob = w.pair("before")
        for user in (alice, bob):
            user.page.evaluate(COUNT_REMOVED_ROWS)
        # Each page begins with the node that served it.
        node = next(each for each in place.addresses if alice.page.url.startswith(each))
        field = alice.page.get_by_label("Message", exact=True)
        field.press_sequentially("are you ")
        order("kill", node)
        try:
            killed = time.monotonic()
            field.press_sequentially("there?")
            field.press("Enter")
            expect(bob.message("are you there?")).to_be_visible(timeout=SWITCHED_MS)
            print(f"     seen {time.monotonic() - killed:.1f} s after the kill")
            bob.send("yes")
            expect(alice.message("yes")).to_be_visible(timeout=SWITCHED_MS)
            for user in (alice, bob):
                assert user.texts() == ["before", "are you there?", "yes"], user.texts()
                assert user.page.evaluate("removedRows") == 0, "a message has disappeared"
        finally:
            order("start", node)
