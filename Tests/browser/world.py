"""Two users in two pages, for the scripts of the rows.

Without nodes the pages use the fake client: two tabs of one context share its cluster, and each tab
is signed in by itself. With nodes, each user has a context, and the pages are spread over the
nodes. A script touches the page as a user does; only faults need the fake client.
"""

import contextlib
import itertools
import re
import uuid

from playwright.sync_api import expect

import pages

PASSWORD = "walnut-lantern"
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 800}


class NeedsFake(Exception):
    """A script that makes a fault which nodes do not have."""


class NeedsNodes(Exception):
    """A script that ends nodes, or needs what the client stores."""


class Place:
    """Where the pages come from: the addresses of nodes, or one of a server with the fake client."""

    def __init__(self, addresses, is_fake):
        self.addresses, self.is_fake = addresses, is_fake
        self.turns = itertools.cycle(addresses)

    def need_fake(self):
        if not self.is_fake:
            raise NeedsFake

    def need_nodes(self):
        if self.is_fake:
            raise NeedsNodes


class User:
    """A user's page, and what a user does on it."""

    def __init__(self, page, place, name, email):
        self.place, self.name, self.email = place, name, email
        self.errors, self.log = [], []
        self.listeners = {
            "pageerror": lambda error: self.errors.append(str(error)),
            "console": lambda line: self.log.append(line.text)}
        self.show(page, next(place.turns))

    def show(self, page, address):
        self.page = page
        for event, listener in self.listeners.items():
            page.on(event, listener)
        # The pages of two users load at once; each is waited for when it is used.
        page.goto(address, wait_until="commit")

    # Accounts

    def sign_up(self, with_profile=True):
        self.come_to_front()
        self.page.wait_for_load_state()
        self.button("New here? Create an account").click()
        self.fill_in()
        self.button("Create Account").click()
        if with_profile:
            self.page.get_by_label("Name").fill(self.name)
            self.button("Continue").click()
        return self

    def sign_in(self, password=PASSWORD):
        self.page.wait_for_load_state()
        self.fill_in(password)
        self.button("Sign In").click()
        return self

    def fill_in(self, password=PASSWORD):
        self.page.get_by_label("E-mail address").fill(self.email)
        self.page.get_by_label("Password").fill(password)

    def come_to_front(self):
        """Browsers slow down a tab that is not in front; pages at nodes have windows of their own."""
        if self.place.is_fake:
            self.page.bring_to_front()

    # Finding

    def button(self, name, within=None):
        return (within or self.page).get_by_role("button", name=name, exact=True)

    def chat(self, title):
        return self.page.locator(".chat-list li").filter(has_text=title)

    def message(self, text):
        return self.page.locator(".message-row").filter(
            has=self.page.locator(".bubble", has_text=text))

    def item(self, title):
        return self.page.locator(".item-list li").filter(has_text=title)

    @property
    def dialog(self):
        return self.page.locator("dialog[open]")

    @property
    def toast(self):
        return self.page.locator(".toast")

    # Doing

    def start_chat(self, other, title):
        self.page.locator(".side-header").get_by_role("button", name="New Chat").click()
        self.page.get_by_label("E-mail addresses").fill(other.email)
        self.dialog.get_by_label("Title").fill(title)
        self.button("Start Chat").click()
        expect(self.page.locator(".pane-title")).to_have_text(title)

    def open_chat(self, title):
        self.chat(title).locator(".chat-link").click()
        expect(self.page.locator(".pane-title")).to_have_text(title)

    def leave_chat(self):
        self.page.evaluate("location.hash = '#/'")

    def send(self, *texts):
        for text in texts:
            self.page.get_by_label("Message", exact=True).fill(text)
            self.button("Send").click()
            expect(self.message(text).last).to_be_visible()

    def options(self, text):
        """Opens "Message Options" as a mouse does."""
        self.message(text).last.locator(".bubble").click(button="right", position={"x": 8, "y": 8})
        expect(self.dialog.get_by_role("heading")).to_have_text("Message Options")
        return self.dialog

    def choose(self, text, choice):
        self.options(text)
        self.button(choice, self.dialog).click()
        if choice == "Delete for Everyone":
            self.button("Delete", self.dialog).click()

    def choices(self):
        """The choices of the open sheet, without "Cancel"."""
        return self.dialog.locator(".sheet-choice").all_inner_texts()

    def back(self):
        self.button("Back").click()

    def reload(self):
        self.page.reload()

    def reopen(self):
        """Closes the page at once, and opens another one at its address."""
        context, address = self.page.context, self.page.url
        self.page.close()
        self.show(context.new_page(), address)

    def set_offline(self, is_offline):
        self.button("Settings").click()
        self.dialog.get_by_role("switch").set_checked(is_offline)
        self.button("Close", self.dialog).click()

    def texts(self):
        return self.page.locator(".message .text-content:visible").all_inner_texts()

    # Fingers

    def touch(self, target, *moves, hold=0):
        """Touches a target in its middle, and moves by each of `moves`."""
        box = target.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + min(box["height"] / 2, 24)
        session = self.page.context.new_cdp_session(self.page)
        point = [{"x": x, "y": y}]
        session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": point})
        if hold:
            self.page.wait_for_timeout(hold)
        for dx, dy in moves:
            x, y = x + dx, y + dy
            session.send("Input.dispatchTouchEvent",
                         {"type": "touchMove", "touchPoints": [{"x": x, "y": y}]})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        session.detach()

    def swipe(self, target, by):
        self.touch(target, *[(by / 8, 0)] * 8)

    # Faults

    def refuse(self, kind, code, message):
        """Has the cluster refuse the next operation of this kind."""
        self.place.need_fake()
        self.page.evaluate(
            "([kind, code, message]) => fakeClient.refusals.set(kind, { code, message })",
            [kind, code, message])

    def set_latency(self, milliseconds):
        self.place.need_fake()
        self.page.evaluate("latency => fakeClient.latency = latency", milliseconds)

    def fail_loads(self, fails):
        self.place.need_fake()
        self.page.evaluate("fails => fakeClient.failsLoads = fails", fails)


class World:
    """Alice and Bob, signed up, with a chat "Lunch" that Alice began."""

    def __init__(self, browser, place, size=DESK, has_touch=False, permissions=(),
                 has_worker=False, is_fresh=False):
        self.browser, self.place = browser, place
        self.options = dict(
            viewport=size, has_touch=has_touch, locale="en-GB", reduced_motion="reduce",
            permissions=list(permissions), service_workers="allow" if has_worker else "block")
        # What tabs and workers keep outlives the end of a script.
        self.is_fresh = is_fresh or has_worker or place.is_fake
        self.users = []
        # Nodes keep the accounts of earlier scripts.
        self.suffix = "" if place.is_fake else f"-{uuid.uuid4()}"

    def page(self):
        if self.users and self.place.is_fake:
            return self.users[0].page.context.new_page()
        return (pages.make if self.is_fresh else pages.take)(self.browser, self.options)

    def user(self, name):
        email = f"{name.lower()}{self.suffix}@example.org"
        user = User(self.page(), self.place, name, email)
        self.users.append(user)
        return user

    def pair(self, *texts):
        """Bob and Alice in the chat "Lunch", in which Alice has sent `texts`."""
        bob, alice = self.user("Bob"), self.user("Alice")
        bob.sign_up()
        alice.sign_up()
        alice.start_chat(bob, "Lunch")
        alice.send(*texts)
        bob.come_to_front()
        bob.open_chat("Lunch")
        alice.come_to_front()
        return alice, bob

    def end(self):
        """Leaves the pages; no script may leave an error of the page behind."""
        errors = [error for user in self.users for error in user.errors]
        if errors or self.is_fresh:
            self.close()
        else:
            for page in self.first_pages():
                pages.give_back(page, self.options)
        assert not errors, f"errors of the page: {errors}"

    def close(self):
        for page in self.first_pages():
            page.context.close()

    def first_pages(self):
        """A page of each context."""
        for user in self.users:
            for event, listener in user.listeners.items():
                user.page.remove_listener(event, listener)
        return list({user.page.context: user.page.context.pages[0] for user in self.users}.values())


@contextlib.contextmanager
def world(browser, place, **options):
    made = World(browser, place, **options)
    try:
        yield made
    except BaseException:
        made.close()
        raise
    made.end()


def exactly(text):
    return re.compile(f"^{re.escape(text)}$")
