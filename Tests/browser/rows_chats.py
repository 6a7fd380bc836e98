"""Rows about the list of chats, the archive and the pinned messages."""

from playwright.sync_api import expect

from world import PHONE, exactly, world


def w_main(browser, place):
    """R-31: the chats and the action items together; empty states say what to do."""
    with world(browser, place) as w:
        alice = w.user("Alice").sign_up()
        expect(alice.page.get_by_text("No Chats Yet")).to_be_visible()
        expect(alice.button("Add Sample Data")).to_be_visible()
        expect(alice.page.get_by_text("No Action Items")).to_be_visible()
        bob = w.user("Bob").sign_up()
        alice.start_chat(bob, "Lunch")
        expect(alice.chat("Lunch")).to_contain_text("No messages yet")
        expect(alice.page.get_by_role("region", name="Action Items")).to_be_visible()


def w_new_chat(browser, place):
    """R-14: a chat by e-mail address; an unknown one is refused in the node's words."""
    with world(browser, place) as w:
        bob = w.user("Bob").sign_up()
        alice = w.user("Alice").sign_up()
        alice.page.locator(".side-header").get_by_role("button", name="New Chat").click()
        alice.page.get_by_label("E-mail addresses").fill("who@example.org")
        alice.dialog.get_by_label("Title").fill("Lunch")
        alice.button("Start Chat").click()
        expect(alice.dialog.get_by_role("alert")).to_have_text(
            "No account has this e-mail address")
        alice.page.get_by_label("E-mail addresses").fill(bob.email)
        alice.button("Start Chat").click()
        expect(alice.dialog).to_have_count(0)
        expect(alice.page.locator(".pane-title")).to_have_text("Lunch")
        expect(bob.chat("Lunch")).to_be_visible()


def w_list_live(browser, place):
    """P-13: the list refreshes by itself, the latest chat first."""
    with world(browser, place) as w:
        alice, bob = w.pair("first")
        alice.start_chat(bob, "Trip")
        titles = bob.page.locator(".chat-title")
        expect(titles).to_have_text(["Trip", "Lunch"])
        alice.open_chat("Lunch")
        alice.send("second")
        expect(titles).to_have_text(["Lunch", "Trip"])
        expect(bob.chat("Lunch")).to_contain_text("second")
        alice.choose("second", "Delete for Everyone")
        expect(bob.chat("Lunch")).to_contain_text("first")


def w_badge(browser, place):
    """R-04, R-40: unread messages are counted, and not once the chat is read."""
    with world(browser, place) as w:
        alice, bob = w.pair()
        bob.leave_chat()
        alice.send("one", "two")
        badge = bob.chat("Lunch").locator(".badge")
        expect(badge).to_be_visible()
        expect(badge).to_contain_text("2 unread messages")
        expect(bob.page).to_have_title("(2) Grapevine")
        bob.open_chat("Lunch")
        expect(badge).to_be_hidden()
        expect(bob.page).to_have_title("Grapevine")


def w_archive_swipe(browser, place):
    """A-27, A-28: a swipe towards the start uncovers "Archive"; the archive box opens the archive."""
    with world(browser, place, size=PHONE, has_touch=True) as w:
        alice, _ = w.pair("hello")
        alice.back()
        row = alice.chat("Lunch")
        expect(row.locator(".swipe-actions.trailing")).to_be_hidden()
        alice.swipe(row, -160)
        expect(alice.button("Archive", row)).to_be_visible()
        alice.button("Archive", row).click()
        expect(alice.chat("Lunch")).to_have_count(0)
        alice.button("Archived").click()
        expect(alice.page.locator(".side-title")).to_have_text("Archived")
        expect(alice.chat("Lunch")).to_be_visible()


def w_archived(browser, place):
    """A-23, A-24, A-34: the archive's title, empty state, and "Unarchive" in blue."""
    with world(browser, place, size=PHONE, has_touch=True) as w:
        alice, _ = w.pair("hello")
        alice.back()
        alice.button("Archived").click()
        empty = alice.page.locator(".sidebar .empty-state").first
        expect(empty).to_contain_text("No Archived Chats")
        expect(empty).to_contain_text("Your archived conversations will appear here")
        expect(empty.locator("[data-icon=archive]")).to_be_visible()
        alice.back()
        alice.swipe(alice.chat("Lunch"), -160)
        alice.button("Archive", alice.chat("Lunch")).click()
        alice.button("Archived").click()
        alice.swipe(alice.chat("Lunch"), 120)
        unarchive = alice.button("Unarchive", alice.chat("Lunch"))
        expect(unarchive).to_have_css("background-color", "rgb(11, 98, 214)")
        unarchive.click()
        expect(alice.page.get_by_text("No Archived Chats")).to_be_visible()


def w_archive_6(browser, place):
    """A-31, A-12: archived by a swipe, gone, in the archive, unarchived, back; for one user alone."""
    with world(browser, place, size=PHONE, has_touch=True) as w:
        alice, bob = w.pair("hello")
        alice.back()
        alice.swipe(alice.chat("Lunch"), -160)
        alice.button("Archive", alice.chat("Lunch")).click()
        expect(alice.chat("Lunch")).to_have_count(0)
        bob.back()
        expect(bob.chat("Lunch")).to_be_visible()
        alice.button("Archived").click()
        alice.swipe(alice.chat("Lunch"), 120)
        alice.button("Unarchive", alice.chat("Lunch")).click()
        alice.back()
        expect(alice.chat("Lunch")).to_be_visible()


def w_archive_undo(browser, place):
    """Archiving by the options of a chat, by keyboard, and its undo."""
    with world(browser, place) as w:
        alice, _ = w.pair("hello")
        alice.chat("Lunch").locator(".chat-link").focus()
        alice.page.keyboard.press("Shift+F10")
        expect(alice.dialog.get_by_role("heading")).to_have_text("Chat Options")
        alice.button("Archive", alice.dialog).press("Enter")
        expect(alice.chat("Lunch")).to_have_count(0)
        expect(alice.toast).to_contain_text("Chat archived")
        alice.button("Undo").press("Enter")
        expect(alice.chat("Lunch")).to_be_visible()


def w_hide_chat(browser, place):
    """R-38, R-20: a swipe uncovers "Delete", which takes the chat off one's own list alone."""
    with world(browser, place, size=PHONE, has_touch=True) as w:
        alice, bob = w.pair("hello")
        alice.back()
        alice.swipe(alice.chat("Lunch"), -160)
        alice.button("Delete", alice.chat("Lunch")).click()
        expect(alice.chat("Lunch")).to_have_count(0)
        bob.back()
        expect(bob.chat("Lunch")).to_be_visible()
        bob.open_chat("Lunch")
        bob.send("are you there?")
        expect(alice.chat("Lunch")).to_contain_text("are you there?")


def w_pin_menu(browser, place):
    """A-29, A-30: "Pin" or "Unpin" by the message; the pin in the header opens the pinned view."""
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?")
        sheet = bob.options("noodles?")
        expect(sheet.locator(".sheet-choice", has_text=exactly("Pin")).locator("[data-icon=pin]"))\
            .to_be_visible()
        bob.button("Pin", sheet).click()
        expect(alice.message("noodles?").get_by_role("img", name="Pinned")).to_be_visible()
        sheet = alice.options("noodles?")
        expect(sheet.locator(".sheet-choice", has_text="Unpin").locator("[data-icon=pinOff]"))\
            .to_be_visible()
        alice.button("Cancel", sheet).click()
        alice.button("Pinned Messages").click()
        expect(alice.page.locator(".pinned-view h2")).to_have_text("Pinned Messages")
        expect(alice.page.locator(".pin-text")).to_have_text("noodles?")


def w_pinned(browser, place):
    """A-25, A-26: the pinned view's title, empty state, and "Unpin" by a swipe, in red."""
    with world(browser, place, size=PHONE, has_touch=True) as w:
        alice, _ = w.pair("noodles?")
        alice.button("Pinned Messages").click()
        empty = alice.page.locator(".pinned-view .empty-state")
        expect(empty).to_contain_text("No Pinned Messages")
        expect(empty).to_contain_text("Pin important messages to keep them at the top")
        expect(empty.locator("[data-icon=pinOff]")).to_be_visible()
        alice.back()
        alice.touch(alice.message("noodles?").locator(".bubble"), hold=700)
        alice.button("Pin", alice.dialog).click()
        alice.button("Pinned Messages").click()
        row = alice.page.locator(".pin-list li")
        alice.swipe(row, -120)
        unpin = row.locator(".swipe-action")
        expect(unpin).to_have_text("Unpin")
        expect(unpin).to_have_css("background-color", "rgb(200, 32, 47)")
        unpin.click()
        expect(empty).to_be_visible()


def w_pin_7(browser, place):
    """A-32: long press, "Pin", marked, in the view, unpinned, gone."""
    with world(browser, place, size=PHONE, has_touch=True) as w:
        alice, bob = w.pair("noodles?")
        bubble = alice.message("noodles?").locator(".bubble")
        mark = alice.message("noodles?").get_by_role("img", name="Pinned")
        alice.touch(bubble, hold=700)
        alice.button("Pin", alice.dialog).click()
        expect(mark).to_be_visible()
        expect(bob.message("noodles?").get_by_role("img", name="Pinned")).to_be_visible()
        alice.button("Pinned Messages").click()
        expect(alice.page.locator(".pin-text")).to_have_text("noodles?")
        alice.button("Unpin", alice.page.locator(".pin-row")).click()
        expect(alice.page.get_by_text("No Pinned Messages")).to_be_visible()
        alice.back()
        expect(mark).to_be_hidden()


def w_search(browser, place):
    """What is loaded is found by words, and a found message is shown in its chat."""
    with world(browser, place) as w:
        alice, _ = w.pair("noodles?", "at noon")
        alice.leave_chat()
        alice.page.get_by_role("searchbox").fill("noodles")
        result = alice.page.locator(".result-list li")
        expect(result).to_contain_text("noodles?")
        result.locator("a").click()
        expect(alice.message("noodles?")).to_be_visible()
        alice.page.get_by_role("searchbox").fill("zebra")
        expect(alice.page.get_by_text("No Results")).to_be_visible()


def w_sample_data(browser, place):
    """R-22: a user without chats looks around in two chats and three action items."""
    place.need_nodes()
    with world(browser, place) as w:
        carol = w.user("Carol").sign_up()
        carol.button("Add Sample Data").click()
        expect(carol.page.locator(".chat-list li")).to_have_count(2)
        expect(carol.page.locator(".item-list li")).to_have_count(3)
        carol.open_chat("Lunch on Friday")
        expect(carol.message("Noodles on Friday?").locator(".sender")).to_have_text("Alice")


def w_people(browser, place):
    """A chat with several people, without a title, is named after them."""
    with world(browser, place) as w:
        bob = w.user("Bob").sign_up()
        carol = w.user("Carol").sign_up()
        alice = w.user("Alice").sign_up()
        alice.page.locator(".side-header").get_by_role("button", name="New Chat").click()
        alice.page.get_by_label("E-mail addresses").fill(f"{bob.email}, {carol.email}")
        alice.button("Start Chat").click()
        expect(alice.page.locator(".pane-title")).to_have_text("Bob, Carol")
        expect(bob.page.locator(".chat-title")).to_have_text("Alice, Carol")
        expect(carol.page.locator(".chat-title")).to_have_text("Alice, Bob")


def w_back(browser, place):
    """Back closes what lies over the page first, also after others were closed in another way."""
    with world(browser, place) as w:
        alice, _ = w.pair("noodles?")
        for _ in range(2):
            alice.options("noodles?")
            alice.button("Cancel", alice.dialog).click()
        alice.options("noodles?")
        alice.page.go_back()
        expect(alice.dialog).to_have_count(0)
        expect(alice.page.locator(".pane-title")).to_have_text("Lunch")
        alice.button("Chat Options").click()
        alice.page.keyboard.press("Escape")
        expect(alice.dialog).to_have_count(0)
        alice.page.go_back()
        expect(alice.page.locator(".pane-title")).to_have_count(0)


def w_leave_asks(browser, place):
    """Leaving a chat asks first, and the others see who left."""
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?")
        alice.button("Chat Options").click()
        alice.button("Leave Chat", alice.dialog).click()
        expect(alice.dialog).to_contain_text("You will see no more of it")
        alice.button("Cancel", alice.dialog).click()
        expect(alice.message("noodles?")).to_be_visible()
        alice.button("Chat Options").click()
        alice.button("Leave Chat", alice.dialog).click()
        alice.button("Leave Chat", alice.dialog).click()
        expect(alice.chat("Lunch")).to_have_count(0)
        expect(bob.message("noodles?")).to_be_visible()
        expect(bob.message("Alice left")).to_be_visible()
        bob.page.reload()
        bob.open_chat("Lunch")
        expect(bob.message("Alice left")).to_be_visible()
