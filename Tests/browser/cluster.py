#!/usr/bin/env python3
"""Drives the page /cluster of three real nodes in a browser: it cuts, heals, kills, pauses, wipes.

usage: cluster.py BINARY [FOLDER]    with FOLDER, leaves pictures of every state there
"""

import contextlib
import glob
import http.client
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from urllib.parse import urlsplit

from playwright.sync_api import expect, sync_playwright

from chromium import launch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PORTS = int(os.environ.get("GRAPEVINE_PORTS", "8700"))
NODES = ["n1", "n2", "n3"]
PROOF = "3 nodes agree on 64 shards"
WIDTHS = [390, 820, 1280]
# A start, the second in which a node catches up, and a machine that does other things too.
SECONDS = 20_000


def script(name, *words):
    return subprocess.run(
        [os.path.join(ROOT, "cluster", name), *words], check=True, capture_output=True, text=True)


@contextlib.contextmanager
def cluster(binary):
    """Three nodes and cluster/play; yields the address of the page with the token."""
    with tempfile.TemporaryDirectory(prefix="grapevine-page-") as state:
        os.environ |= {
            "GRAPEVINE_STATE": state, "GRAPEVINE_PORTS": f"{PORTS}", "GRAPEVINE_BIN": binary}
        # Each node is told of all that have a log.
        for node in NODES:
            open(os.path.join(state, node + ".log"), "w").close()
        play = None
        try:
            for node in NODES:
                script("start", node)
            script("converged", "20")
            play = subprocess.Popen(
                [os.path.join(ROOT, "cluster", "play")], stdout=subprocess.PIPE, text=True)
            yield play.stdout.readline().strip()
        finally:
            if play:
                play.terminate()
                play.wait()
            script("down", "--wipe")
            os.makedirs(state, exist_ok=True)


class Page:
    """The page, and what must never happen on it."""

    def __init__(self, browser, address, pictures, **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.pictures = pictures
        self.troubles = []
        self.page.on("request", self.check_host)
        self.page.on("pageerror", lambda error: self.troubles.append(f"{error}"))
        # What a node that is away does not answer is an error to the browser, and not to the page.
        self.page.on("console", lambda line: self.troubles.append(line.text)
                     if line.type in ("error", "warning") and "net::ERR" not in line.text else None)
        self.page.goto(address)

    def check_host(self, request):
        url = urlsplit(request.url)
        if url.hostname != "127.0.0.1" or not PORTS < url.port <= PORTS + 400:
            self.troubles.append(f"a request to another host: {request.url}")

    def proven(self):
        expect(self.page.locator("#proof")).to_have_text(PROOF, timeout=SECONDS)
        expect(self.page.locator("#proof")).to_have_class("proven")

    def give(self, order, node):
        self.page.get_by_role("button", name=f"{order} {node}", exact=True).click()

    def state(self, node, word):
        row = self.page.locator("tbody tr").filter(has=self.page.locator("th", has_text=node))
        expect(row.locator("td").first).to_have_text(word, timeout=SECONDS)

    def event(self, text, count=1):
        events = self.page.locator("#timeline li").filter(has_text=re.compile(text))
        expect(events).not_to_have_count(count - 1, timeout=SECONDS)

    def picture(self, name):
        if not self.pictures:
            return
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 900})
            scheme = self.page.evaluate(
                "matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")
            path = os.path.join(self.pictures, f"cluster-{name}-{scheme}-{width}.png")
            self.page.screenshot(path=path, full_page=True)

    def accessible(self):
        """No findings of axe, with which a node's own policy does not interfere."""
        folder = os.path.dirname(find_spec("axe_playwright_python").origin)
        script, = glob.glob(os.path.join(folder, "**", "axe.min.js"), recursive=True)
        with open(script, encoding="utf-8") as file:
            self.page.evaluate(file.read())
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 900})
            found = self.page.evaluate("axe.run().then((result) => result.violations)")
            assert not found, [(each["id"], each["nodes"][0]["html"]) for each in found]


def cut_and_heal(it):
    it.give("Send 500", "n1")
    expect(it.page.locator(".said")).to_have_text(
        "n1: 500 of 500 messages acknowledged", timeout=SECONDS)
    it.proven()
    it.page.get_by_label("Select n3").check()
    it.page.get_by_role("button", name="Cut off the selected nodes").click()
    it.event("The connection between n1 and n3 is cut")
    expect(it.page.locator(".link.cut line")).to_have_count(2, timeout=SECONDS)
    it.give("Send 500", "n1")
    expect(it.page.locator("#proof")).to_contain_text("shards differ", timeout=SECONDS)
    assert it.page.locator(".cell.different").count() > 0
    it.event("n1 considers n3 dead")
    it.picture("cut")
    it.accessible()
    it.page.get_by_role("button", name="Heal all").click()
    it.proven()
    it.event(r"3 nodes agree on 64 shards, after \d")
    expect(it.page.locator(".cell.different")).to_have_count(0)
    it.page.get_by_label("Select n3").uncheck()


def kill_and_start(it):
    it.give("Kill", "n2")
    it.state("n2", "stopped")
    it.event("n2 has stopped")
    it.give("Wipe", "n2")
    it.event("n2: wiped")
    it.give("Start", "n2")
    it.state("n2", "serves")
    it.proven()


def pause_and_resume(it):
    it.give("Pause", "n3")
    it.state("n3", "silent")
    # The button that was pressed has gone; the focus stays in its row.
    expect(it.page.get_by_role("button", name="Resume n3")).to_be_focused()
    expect(it.page.locator("#proof")).to_contain_text("not in sync yet: ")
    it.picture("silent")
    it.give("Resume", "n3")
    it.state("n3", "serves")
    it.proven()


def outlives_its_node(it):
    """The node that the page came from dies; the page goes on with the others."""
    it.give("Kill", "n1")
    it.state("n1", "stopped")
    it.event("n2 considers n1 dead")
    it.picture("stopped")
    it.accessible()
    it.give("Start", "n1")
    it.state("n1", "serves")
    it.proven()


def works_by_keyboard(it):
    """Every button of the table is reached by Tab, in its order."""
    it.page.get_by_label("Select n1").focus()
    reached = []
    for _ in range(16):
        reached.append(it.page.evaluate(
            "document.activeElement.ariaLabel ?? document.activeElement.textContent"))
        it.page.keyboard.press("Tab")
    wanted = ["Select n1", "Send 500 n1", "Pause n1", "Kill n1", "Select n2"]
    assert reached[:5] == wanted, reached
    assert "Heal all" in reached, reached


def without_the_token(browser, address):
    """The page without its token gives no orders, and a page elsewhere reads nothing."""
    it = Page(browser, address.split("#")[0], None)
    it.proven()
    expect(it.page.get_by_role("button")).to_have_count(0)
    it.page.goto(f"http://127.0.0.1:{PORTS + 201}/")
    answer = it.page.evaluate(
        f"fetch('http://127.0.0.1:{PORTS + 301}/cluster.json').then(() => 'read', () => 'refused')")
    assert answer == "refused", answer


def orders_need_the_token(address):
    """cluster/play takes orders of the page and of nobody else, and no others than it knows."""
    taker = urlsplit(address.split("#play=")[1])
    own = {"Origin": f"http://127.0.0.1:{PORTS + 301}"}

    def status(path, headers, method="POST", body=None):
        connection = http.client.HTTPConnection(taker.hostname, taker.port, timeout=60)
        connection.request(method, path, body, headers)
        return connection.getresponse().status

    heal = f"{taker.path}/heal"
    assert status(heal, own) == 200
    assert status("/x/heal", own) == status("/heal", own) == 403
    assert status(heal, {}) == status(heal, {"Origin": "http://evil.example"}) == 403
    assert status(heal, own | {"Host": f"evil.example:{taker.port}"}) == 403
    assert status(heal, own, body=b"x") == 403
    assert status(heal, own, method="GET") == 501
    for order in ("kill", "kill/n0", "kill/n1/n2", "kill/n1%20n2", "kill/..", "down", "../up",
                  "partition/n1", "partition/n1/--one-way", "send/x", ""):
        assert status(f"{taker.path}/{order}", own) == 404, order


def main(binary, pictures=None):
    with cluster(os.path.abspath(binary)) as address, sync_playwright() as playwright:
        browser = launch(playwright)
        for scheme in ("light", "dark"):
            it = Page(browser, address, pictures, color_scheme=scheme)
            it.proven()
            checks = (
                works_by_keyboard, cut_and_heal, kill_and_start, pause_and_resume,
                outlives_its_node)
            # What the colours change is seen while the network is cut.
            for check in checks if scheme == "light" or pictures else (cut_and_heal,):
                check(it)
                print(f"{scheme}: {check.__name__}")
            it.picture("proven")
            it.accessible()
            assert not it.troubles, it.troubles
            it.context.close()
        without_the_token(browser, address)
        print("without_the_token")
        orders_need_the_token(address)
        print("orders_need_the_token")
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
