"""Rows about accounts, profiles and notifications."""

from playwright.sync_api import expect

from world import PASSWORD, PHONE, world


def w_root(browser, place):
    """R-33: the sign-in decides what the page shows."""
    with world(browser, place) as w:
        alice = w.user("Alice")
        expect(alice.page.get_by_role("heading", name="Sign In")).to_be_visible()
        expect(alice.page.locator(".sidebar")).to_have_count(0)
        alice.sign_in()
        expect(alice.page.get_by_role("alert")).to_have_text("Wrong e-mail address or password")
        alice.sign_up()
        expect(alice.page.locator(".sidebar")).to_be_visible()
        alice.reload()
        expect(alice.page.locator(".sidebar")).to_be_visible()
        alice.button("Settings").click()
        alice.button("Sign Out").click()
        expect(alice.page.get_by_role("heading", name="Sign In")).to_be_visible()
        alice.sign_in()
        expect(alice.page.locator(".sidebar")).to_be_visible()


def w_first_run(browser, place):
    """R-12: a new user sets up a profile, once."""
    with world(browser, place) as w:
        alice = w.user("Alice").sign_up(with_profile=False)
        expect(alice.page.get_by_role("heading", name="Set Up Your Profile")).to_be_visible()
        alice.reload()
        expect(alice.page.get_by_role("heading", name="Set Up Your Profile")).to_be_visible()
        alice.page.get_by_label("Name").fill("Alice Amsel")
        alice.button("Continue").click()
        expect(alice.page.locator(".sidebar")).to_be_visible()
        alice.reload()
        expect(alice.page.locator(".sidebar")).to_be_visible()
        alice.button("Settings").click()
        alice.button("Edit Profile").click()
        expect(alice.page.get_by_label("Name")).to_have_value("Alice Amsel")


def w_profile(browser, place):
    """R-13: a user changes the own profile; others see the name."""
    with world(browser, place) as w:
        alice, bob = w.pair("hello")
        alice.button("Settings").click()
        alice.button("Edit Profile").click()
        expect(alice.dialog.get_by_role("heading")).to_have_text("Edit Profile")
        alice.dialog.get_by_label("Name").fill("Alice Amsel")
        png = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJ"
               "RU5ErkJggg==")
        alice.dialog.locator("input[type=file]").set_input_files(
            {"name": "me.png", "mimeType": "image/png", "buffer": __import__("base64").b64decode(png)})
        expect(alice.dialog.locator(".avatar img")).to_be_visible()
        alice.button("Save").click()
        expect(bob.page.locator(".sender")).to_have_text("Alice Amsel")
        expect(bob.page.locator(".message .avatar img")).to_be_visible()


def w_notify_permission(browser, place):
    """P-74: the permission is asked after the first message, by a button, and is respected."""
    with world(browser, place, is_fresh=True) as w:
        bob = w.user("Bob").sign_up()
        alice = w.user("Alice")
        alice.page.add_init_script("""
            globalThis.asked = 0;
            Object.defineProperty(Notification, "permission", { get: () => "default" });
            Notification.requestPermission = async () => { asked += 1; return "denied"; };
        """)
        alice.reload()
        alice.sign_up()
        alice.start_chat(bob, "Lunch")
        offer = alice.page.locator(".offer")
        expect(offer).to_be_hidden()
        alice.send("hello")
        expect(offer).to_be_visible()
        assert alice.page.evaluate("asked") == 0
        alice.button("Turn On Notifications").click()
        expect(offer).to_be_hidden()
        assert alice.page.evaluate("asked") == 1
        alice.send("again")
        expect(offer).to_be_hidden()


def w_debug_offline(browser, place):
    """P-47, P-48: in the debug offline mode nothing of typing is sent or shown; a banner says so."""
    with world(browser, place) as w:
        alice, bob = w.pair("hello")
        bob.page.get_by_label("Message", exact=True).press_sequentially("hm")
        expect(alice.page.locator(".typing")).to_have_text("Bob is typing…")
        alice.set_offline(True)
        expect(alice.page.locator(".typing")).to_be_hidden()
        expect(alice.page.locator(".banner")).to_contain_text("You are offline")
        alice.page.get_by_label("Message", exact=True).press_sequentially("well")
        alice.page.wait_for_timeout(200)
        expect(bob.page.locator(".typing")).to_be_hidden()
        alice.set_offline(False)
        expect(alice.page.locator(".banner")).to_be_hidden()


def w_phone(browser, place):
    """A phone shows the list or the conversation, and goes back between them."""
    with world(browser, place, size=PHONE, has_touch=True) as w:
        alice, _ = w.pair("hello")
        expect(alice.page.locator(".sidebar")).to_be_hidden()
        alice.back()
        expect(alice.page.locator(".sidebar")).to_be_visible()
        expect(alice.page.locator(".pane")).to_be_hidden()
        alice.open_chat("Lunch")
        alice.page.go_back()
        expect(alice.page.locator(".sidebar")).to_be_visible()


def w_account(browser, place):
    """A user changes the password and the e-mail address, and deletes the account."""
    place.need_nodes()
    with world(browser, place) as w:
        alice = w.user("Alice").sign_up()
        change(alice, "Change Password", {"Password": "not-the-password",
                                          "New password": "lantern-walnut"})
        expect(alice.dialog.get_by_role("alert")).to_have_text("Wrong password")
        alice.dialog.get_by_label("Password", exact=True).fill(PASSWORD)
        alice.button("Change Password", alice.dialog).click()
        expect(alice.toast).to_contain_text("Password changed")
        alice.email = f"new-{alice.email}"
        change(alice, "Change E-mail Address", {"New e-mail address": alice.email,
                                                "Password": "lantern-walnut"})
        expect(alice.toast).to_contain_text("E-mail address changed")
        sign_out(alice)
        alice.sign_in("lantern-walnut")
        expect(alice.page.locator(".sidebar")).to_be_visible()
        change(alice, "Delete Account", {"Password": "lantern-walnut"})
        expect(alice.page.get_by_role("heading", name="Sign In")).to_be_visible()
        alice.sign_in("lantern-walnut")
        expect(alice.page.get_by_role("alert")).to_have_text("Wrong e-mail address or password")


def change(user, name, fields):
    """Opens a form of the settings, fills it in, and sends it."""
    user.button("Settings").click()
    user.button(name, user.dialog).click()
    for label, text in fields.items():
        user.dialog.get_by_label(label, exact=True).fill(text)
    user.button(name, user.dialog).click()


def sign_out(user):
    user.button("Settings").click()
    user.button("Sign Out").click()
    expect(user.page.get_by_role("heading", name="Sign In")).to_be_visible()


def w_block(browser, place):
    """What a blocked person sends is not shown, until the block is ended."""
    place.need_nodes()
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?")
        bob.send("heard")
        expect(alice.message("heard")).to_be_visible()
        alice.button("Chat Options").click()
        alice.button("Block Bob", alice.dialog).click()
        expect(alice.toast).to_contain_text("Bob is blocked")
        bob.send("not heard")
        alice.page.wait_for_timeout(1000)
        expect(alice.message("not heard")).to_have_count(0)
        alice.button("Settings").click()
        alice.button("Blocked People", alice.dialog).click()
        expect(alice.dialog.get_by_role("listitem")).to_have_text("BobUnblock")
        alice.button("Unblock", alice.dialog).click()
        expect(alice.dialog).to_contain_text("Nobody Is Blocked")
        alice.button("Close", alice.dialog).click()
        expect(alice.message("not heard")).to_be_visible()
