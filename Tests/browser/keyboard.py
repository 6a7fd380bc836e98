"""w:keyboard-only: a new user's whole way by keyboard alone, at a desk and zoomed to 400 %.

    keyboard.py [--folder FOLDER] [ADDRESS]

Every stop of the tab key must be visible and have a ring, no page may be cut off, and the focus is
never lost. Pictures of the way are stored in the folder that is named. Without an address the
page uses the fake client.
"""

import argparse
import pathlib
import uuid

from playwright.sync_api import expect, sync_playwright

from chromium import launch
from server import serve
from world import DESK, PASSWORD

# A desk of 1280 by 1024 pixels, zoomed to 400 %.
SIZES = {"desk": DESK, "zoomed": {"width": 320, "height": 256}}
STOPS_MAX = 40

FOCUS = """() => {
    const target = document.activeElement;
    const drawn = target.matches(".message-row") ? target.querySelector(".bubble") : target;
    const { top, bottom, left, right } = drawn.getBoundingClientRect();
    const name = target.ariaLabel ?? target.labels?.[0]?.textContent ?? target.textContent.trim();
    return {
        name: target === document.body ? "" : name,
        isTitle: target.matches("h2"),
        hasRing: getComputedStyle(drawn).outlineStyle !== "none",
        isVisible: bottom > 0 && top < innerHeight && right > 0 && left < innerWidth,
    };
}"""

# Its parts scroll; the page itself does so only where they do not fit.
IS_CUT = """() => {
    const { scrollWidth, scrollHeight } = document.body;
    return scrollWidth > innerWidth || scrollHeight > innerHeight;
}"""


class Keyboard:
    """A page that is used by its keyboard alone."""

    def __init__(self, page, folder, view):
        self.page, self.folder, self.view = page, folder, view
        self.pictures = 0

    @property
    def focus(self):
        """The name of what has the focus, which has to be seen there."""
        focus = self.page.evaluate(FOCUS)
        name = focus["name"]
        if not name:
            return "nothing"
        assert focus["isVisible"], f"{name} is out of view"
        assert focus["hasRing"] or focus["isTitle"], f"{name} has no ring"
        return name

    def go(self, name, key="Tab"):
        """Presses a key until something whose name ends so has the focus."""
        for _ in range(STOPS_MAX):
            # After the last stop comes the browser itself, and then the first one.
            if self.focus.endswith(name):
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"{key} does not reach {name}")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, *texts):
        """Types into fields that follow each other."""
        for index, text in enumerate(texts):
            if index:
                self.press("Tab")
            self.page.keyboard.type(text)

    def see(self, text, picture):
        """Waits for a text, and takes a picture."""
        expect(self.page.get_by_text(text, exact=True).last).to_be_visible()
        self.pictures += 1
        if self.folder:
            name = f"{self.view}-{self.pictures:02}-{picture}.png"
            self.page.screenshot(path=self.folder / name)
        assert not self.page.evaluate(IS_CUT), f"{picture} is cut off"


def sign_up(it, email, name):
    it.press("Tab")
    it.go("New here? Create an account")
    it.press("Enter")
    it.go("E-mail address", "Shift+Tab")
    it.type(email, PASSWORD)
    it.see("8 to 256 characters", "sign-up")
    it.press("Enter")
    it.see("Set Up Your Profile", "profile")
    it.go("Name")
    it.type(name)
    it.press("Enter")
    it.see("No Chats Yet", "empty")
    assert it.focus == "Chats"


def write(it, other):
    it.go("New Chat")
    it.press("Enter")
    it.see("Start Chat", "new-chat")
    it.type(other, "Harbour walk")
    it.press("Enter")
    it.see("No messages yet", "chat")
    it.go("Message")
    it.type("Hello")
    it.press("Enter")
    it.page.keyboard.type("one")
    it.press("Shift+Enter")
    it.page.keyboard.type("two")
    it.press("Enter")
    it.page.keyboard.type("three")
    it.press("Enter")
    it.see("three", "sent")


def edit(it):
    """The newest message is the one that the tab key reaches; an edit keeps its lines."""
    it.go("three", "Shift+Tab")
    it.press("ArrowUp", "Enter")
    it.see("Message Options", "options")
    it.go("Edit")
    it.press("Enter")
    assert it.focus == "Edit message"
    it.press("Control+End")
    it.page.keyboard.type("!")
    it.see("one\ntwo", "edit")
    it.press("Enter")
    expect(it.page.locator(".text-content", has_text="one")).to_have_text("one\ntwo!")
    expect(it.page.locator(".edit-bar")).to_be_hidden()
    assert it.focus == "Message"


def delete(it):
    it.go("three", "Shift+Tab")
    it.press("Shift+F10")
    it.go("Delete for Me", "ArrowDown")
    it.press("Enter")
    it.see("Message deleted for you", "deleted")
    assert "one\ntwo!" in it.focus
    it.go("Undo")
    it.press("Enter")
    it.see("three", "restored")
    assert it.focus != "nothing"


def note(it):
    """An action item; on a low page the list of chats is behind the button "Back"."""
    if it.view == "zoomed":
        it.go("Back", "Shift+Tab")
        it.press("Enter")
    it.go("New Action Item")
    it.press("Enter")
    it.see("Due date", "item-form")
    it.type("Bring a map")
    it.press("Enter")
    it.see("Bring a map", "item")
    it.go("Mark “Bring a map” as complete")
    it.press("Space")
    expect(it.page.get_by_role("checkbox")).to_be_checked()


def leave(it):
    it.go("Archived", "Shift+Tab")
    it.press("Enter")
    it.see("No Archived Chats", "archived")
    assert it.focus == "Archived"
    it.go("Back")
    it.press("Enter")
    it.see("Harbour walk", "chats")
    it.go("Settings", "Tab")
    it.press("Enter")
    it.see("Edit Profile", "settings")
    it.press("Escape")
    assert it.focus == "Settings"
    it.press("Enter")
    it.go("Sign Out")
    it.press("Enter")
    it.see("New here? Create an account", "signed-out")
    assert it.focus == "E-mail address"
    expect(it.page.get_by_label("Password")).to_have_value("")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("address", nargs="?")
    options = parser.parse_args()
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
    address = options.address or serve()
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for view, size in SIZES.items():
            context = browser.new_context(
                viewport=size, reduced_motion="reduce", locale="en-GB", service_workers="block")
            emails = [f"{name}-{uuid.uuid4()}@example.org" for name in ("lee", "kim")]
            for email, name in zip(emails, ("Lee", "Kim")):
                page = context.new_page()
                page.goto(address)
                page.get_by_label("Password").wait_for()
                it = Keyboard(page, options.folder, view)
                sign_up(it, email, name)
                if name == "Lee":
                    # Nodes sign in all pages of a context.
                    it.go("Settings")
                    it.press("Enter")
                    it.go("Sign Out")
                    it.press("Enter")
                    it.see("New here? Create an account", "signed-out")
                    page.close()
            for step in (lambda it: write(it, emails[0]), edit, delete, note, leave):
                step(it)
            context.close()
            print(f"w:keyboard-only: {view}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
