"""w:gallery (M-33): every component in every state, in both colour schemes and three widths.

Each state is checked by axe (WCAG 2.2 AA), must log no error, ask no other host, and not scroll
sideways; a photograph of it is stored in the folder that is named.

    gallery.py [--folder FOLDER] [--only NAME[,NAME…]] [--quick]
"""

import argparse
import pathlib
import sys

import axe_playwright_python
from playwright.sync_api import sync_playwright

from chromium import launch
from server import serve

AXE = pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDTHS = {"phone": (360, 740), "tablet": (768, 1024), "desk": (1280, 800)}
SCHEMES = ["light", "dark"]
# A page that zooms to 200 % on a desk has half its width.
ZOOMED = ("zoomed", (640, 400))
# Layout, and photos that are drawn by the page itself.
SETTLE_MS = 120


def findings(page):
    """The findings of axe, a line each."""
    violations = page.evaluate(
        """async (rules) => {
            const runOnly = { type: "tag", values: rules };
            return (await axe.run(document, { runOnly, resultTypes: ["violations"] })).violations;
        }""", RULES)
    lines = []
    for violation in violations:
        targets = [str(node["target"]) for node in violation["nodes"]]
        summary = violation["nodes"][0].get("failureSummary", "")
        lines.append(f"{violation['id']}: {', '.join(targets[:3])}: {summary}")
    return lines


class Device:
    """A page of one device, which shows the states of the gallery in different sizes and schemes."""

    def __init__(self, context, address):
        self.page, self.address, self.name, self.problems = context.new_page(), address, "", []
        page = self.page
        page.on("console", lambda line: line.type == "error" and self.note(line.text))
        page.on("pageerror", lambda error: self.note(str(error)))
        page.on("request", lambda request: request.url.startswith((address, "blob:")) or
                self.note(f"asks {request.url}"))

    def show(self, name):
        """Shows a state."""
        self.name, self.problems = name, []
        self.page.goto(f"{self.address}/gallery?state={name}")
        self.page.wait_for_selector("body[data-is-ready]")

    def note(self, problem):
        # A refused form logs its refusal, and a photo that is lost its loss.
        if not any(words in problem for words in ("a chat was not created", "a photo cannot be")):
            self.problems.append(problem)

    def check(self, view, size, scheme, folder):
        """The findings in one size and scheme."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        self.page.wait_for_timeout(SETTLE_MS)
        if folder:
            self.page.screenshot(path=folder / f"{self.name}-{view}.png")
        if self.page.evaluate(
                "document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            self.note("scrolls sideways")
        problems = self.problems + findings(self.page)
        self.problems = []
        return problems


def views_of(is_quick):
    """The views: their names, sizes and colour schemes."""
    views = [(f"{width}-{scheme}", size, scheme)
             for width, size in WIDTHS.items() for scheme in SCHEMES]
    views.append((*ZOOMED, "light"))
    return [views[0], views[5]] if is_quick else views


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true", help="phone and desk, light and dark once")
    options = parser.parse_args()
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
    address = serve()
    views = views_of(options.quick)
    failures = 0
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page()
        page.goto(f"{address}/gallery")
        page.wait_for_selector("body[data-is-ready]")
        states = [link.inner_text() for link in page.locator("a").all()]
        page.close()
        wanted = [name for name in options.only.split(",") if name]
        states = [state for state in states if not wanted or state in wanted]
        # A phone has a finger and no pointer that hovers.
        phone = browser.new_context(locale="en-GB", is_mobile=True, has_touch=True)
        desk = browser.new_context(locale="en-GB")
        for context in (phone, desk):
            # The page's policy forbids inline scripts; those of the debugger are not bound by it.
            context.add_init_script(path=AXE)
        devices = [(Device(phone, address), True), (Device(desk, address), False)]
        for name in states:
            for device, is_phone in devices:
                device.show(name)
                for view, size, scheme in views:
                    if view.startswith("phone") != is_phone:
                        continue
                    for problem in device.check(view, size, scheme, options.folder):
                        failures += 1
                        print(f"FAIL {name} {view}: {problem}", flush=True)
        browser.close()
    print(f"w:gallery: {len(states)} states, {len(views)} views, {failures} findings")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
