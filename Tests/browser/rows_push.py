"""Rows about notifications, of an open page and of one that is closed."""

import json

from playwright.sync_api import expect

from world import DESK, User, world

SHOWN = """async () => {
    const registration = await navigator.serviceWorker.ready;
    const notifications = await registration.getNotifications();
    return notifications.map(({ title, body, tag, data }) => [title, body, tag, data.address]);
}"""
IS_ACTIVE = """async () => {
    const registration = await navigator.serviceWorker.ready;
    return registration.active.state === "activated";
}"""
# Pages of a browser that is driven are never hidden.
SET_HIDDEN = """isHidden => {
    Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
NOTIFICATION = {
    "id": "1", "kind": "message", "user": "u1", "device": "d1", "conversation": "lunch",
    "message": "m1", "from": "u2", "fromName": "Bob", "text": "noodles?", "badge": 1}


class Deliveries:
    """What a push service hands to the service worker of a page."""

    def __init__(self, page):
        self.page, self.registration = page, None
        self.delivered = self.handled = 0
        self.session = page.context.new_cdp_session(page)
        self.session.on("BackgroundService.backgroundServiceEventReceived", self.on_event)
        pushes = {"service": "pushMessaging"}
        self.session.send("BackgroundService.startObserving", pushes)
        self.session.send("BackgroundService.setRecording", {"shouldRecord": True, **pushes})
        self.session.on("ServiceWorker.workerRegistrationUpdated", self.on_registrations)
        self.session.send("ServiceWorker.enable")
        # A worker that is only being activated takes no message.
        page.wait_for_function(IS_ACTIVE)
        while self.registration is None:
            page.wait_for_timeout(20)

    def on_event(self, event):
        self.handled += event["backgroundServiceEvent"]["eventName"] == "Push event completed"

    def on_registrations(self, event):
        for registration in event["registrations"]:
            self.registration = registration["registrationId"]

    def deliver(self, **changes):
        origin = self.page.evaluate("location.origin")
        self.delivered += 1
        self.session.send("ServiceWorker.deliverPushMessage", {
            "origin": origin, "registrationId": self.registration,
            "data": json.dumps(NOTIFICATION | changes)})

    def begin(self, shown):
        """Delivers a first message until it is shown: what comes before the worker has begun is
        dropped, which a push service would notice."""
        for _ in range(5):
            self.delivered = self.handled
            self.deliver()
            if self.is_handled(milliseconds=2_000):
                return expect_shown(self.page, shown)
        raise AssertionError("the worker takes no message")

    def is_handled(self, milliseconds):
        """Whether the worker has handled all that was delivered, within so many milliseconds.

        A browser that lists notifications while it shows one may forget that one."""
        for _ in range(milliseconds // 20):
            if self.handled >= self.delivered:
                return True
            self.page.wait_for_timeout(20)
        return False

    def expect(self, shown):
        assert self.is_handled(milliseconds=10_000), "the worker handles no message"
        expect_shown(self.page, shown)


def expect_shown(page, wanted):
    """The notifications of a page are these, within ten seconds."""
    for _ in range(200):
        found = page.evaluate(SHOWN)
        missing = [each for each in wanted if each not in found]
        needless = [each for each in found if each not in wanted]
        if not missing and not needless:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"notifications: missing {missing}, needless {needless}")


def w_notify(browser, place):
    """P-58…P-60: an open page notifies of what is not on screen, and takes back what is deleted."""
    place.need_nodes()
    with world(browser, place, permissions=["notifications"], has_worker=True) as w:
        bob, alice = w.user("Bob").sign_up(), w.user("Alice").sign_up()
        bob.page.wait_for_function(IS_ACTIVE)
        alice.start_chat(bob, "Lunch")
        lunch = alice.page.evaluate("location.hash")
        alice.send("noodles?")
        # She was a stranger until now.
        first = ["Alice", "noodles?", id_of(alice, "noodles?"), f"/{lunch}"]
        expect_shown(bob.page, [first])
        bob.open_chat("Lunch")
        # A second tab, in which the chat is not on screen.
        tab = User(bob.page.context.new_page(), place, bob.name, bob.email)
        w.users.append(tab)
        tab.page.goto(bob.page.url.partition("#")[0])
        expect(tab.chat("Lunch")).to_be_visible()
        bob.page.bring_to_front()
        alice.send("at noon?")
        expect(bob.message("at noon?")).to_be_visible()
        alice.start_chat(bob, "Trip")
        alice.send("to the sea?", "by train?")
        trip = bob.chat("Trip").locator(".chat-link").get_attribute("href")
        elsewhere = [first] + [
            ["Alice", text, id_of(alice, text), f"/{trip}"] for text in ("to the sea?", "by train?")]
        # Nothing of the chat that is on screen, although it was sent before these.
        expect_shown(bob.page, elsewhere)
        bob.page.evaluate(SET_HIDDEN, True)
        alice.open_chat("Lunch")
        alice.send("are you there?")
        hidden = ["Alice", "are you there?", id_of(alice, "are you there?"), f"/{lunch}"]
        expect_shown(bob.page, [*elsewhere, hidden])
        bob.page.evaluate(SET_HIDDEN, False)
        alice.send("or later?")
        expect(bob.message("or later?")).to_be_visible()
        alice.choose("are you there?", "Delete for Everyone")
        expect_shown(bob.page, elsewhere)
        alice.open_chat("Trip")
        alice.choose("by train?", "Delete for Everyone")
        expect_shown(bob.page, elsewhere[:2])


def id_of(user, text):
    return user.message(text).get_attribute("data-id")


def w_push(browser, place):
    """P-60, P-61: a pushed message is shown, and taken back when it is deleted."""
    context = browser.new_context(viewport=DESK, permissions=["notifications"])
    page = context.new_page()
    try:
        page.goto(place.addresses[0])
        expect(page.get_by_label("Password")).to_be_visible()
        service = Deliveries(page)
        lunch = ["Bob", "noodles?", "m1", "/#/chat/lunch"]
        service.begin([lunch])
        service.deliver(id="2", message="m2", text="at noon?")
        # The service may deliver a message twice.
        service.deliver()
        service.expect([lunch, ["Bob", "at noon?", "m2", "/#/chat/lunch"]])
        service.deliver(id="2", message="m2", kind="withdrawn")
        service.expect([lunch])
    finally:
        context.close()
