"""Rows about a message: its options, edits and deletion."""

import re

from playwright.sync_api import expect

import pages
from world import PHONE, User, world

# A desk on which a few messages fill more than the list.
LOW = {"width": 1280, "height": 420}


def w_action_sheet(browser, place):
    """M-28…M-32, M-36, M-51, R-39: titles, order, icons, colours and conditions of the sheet."""
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?")
        sheet = alice.options("noodles?")
        assert alice.choices() == [
            "Edit", "Pin", "Copy", "Create Action Item", "Delete for Me", "Delete for Everyone"]
        icons = sheet.locator(".sheet-choice .icon").evaluate_all(
            "icons => icons.map(icon => icon.dataset.icon)")
        assert icons == ["pencil", "pin", "copy", "item", "trash", "trashFilled"], icons
        for name in ["Delete for Me", "Delete for Everyone"]:
            expect(alice.button(name, sheet)).to_have_css("color", "rgb(192, 31, 46)")
        expect(sheet).to_have_css("border-radius", "16px")
        expect(sheet).to_have_css("background-color", "rgb(255, 255, 255)")
        for choice in sheet.locator("button").all():
            expect(choice).to_have_css("border-top-width", "1px")
            expect(choice).not_to_have_css("padding-top", "0px")
        alice.button("Cancel", sheet).click()
        expect(sheet).to_have_count(0)
        expect(alice.message("noodles?")).to_be_visible()
        bob.options("noodles?")
        assert bob.choices() == ["Pin", "Copy", "Create Action Item", "Delete for Me"], bob.choices()
        bob.page.keyboard.press("Escape")
        expect(bob.dialog).to_have_count(0)


def w_long_press(browser, place):
    """M-34, M-35: a long press vibrates and opens the sheet; so do menu key and context menu."""
    with world(browser, place, size=PHONE, has_touch=True) as w:
        alice, _ = w.pair("noodles?")
        alice.page.evaluate("""() => {
            globalThis.vibrations = 0;
            navigator.vibrate = () => { vibrations += 1; return true; };
        }""")
        bubble = alice.message("noodles?").locator(".bubble")
        alice.touch(bubble)
        alice.touch(bubble, (0, 40), hold=100)
        alice.page.wait_for_timeout(700)
        expect(alice.dialog).to_have_count(0)
        assert alice.page.evaluate("vibrations") == 0
        alice.touch(bubble, hold=700)
        expect(alice.dialog.get_by_role("heading")).to_have_text("Message Options")
        assert alice.page.evaluate("vibrations") == 1
        expect(alice.dialog).to_have_count(1)
        alice.button("Cancel", alice.dialog).click()
        alice.message("noodles?").focus()
        for key in ["Enter", "Shift+F10"]:
            alice.page.keyboard.press(key)
            expect(alice.dialog.get_by_role("heading")).to_have_text("Message Options")
            alice.page.keyboard.press("Escape")
            expect(alice.message("noodles?")).to_be_focused()


def w_edit(browser, place):
    """M-68…M-72: "Edit" with a pencil, the bar above the input, its save and cancel."""
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?")
        alice.choose("noodles?", "Edit")
        bar = alice.page.locator(".edit-bar")
        field = alice.page.get_by_label("Edit message")
        expect(alice.dialog).to_have_count(0)
        expect(field).to_have_value("noodles?")
        expect(field).to_be_focused()
        below = alice.page.locator(".composer").bounding_box()["y"]
        assert bar.bounding_box()["y"] < below
        expect(bar).to_have_css("border-top-width", "1px")
        save, cancel = alice.button("Save", bar), alice.button("Cancel editing", bar)
        expect(save).to_have_css("color", "rgb(11, 98, 214)")
        expect(cancel).to_have_css("color", "rgb(99, 93, 110)")
        field.fill(" \n ")
        expect(save).to_be_disabled()
        cancel.click()
        expect(bar).to_be_hidden()
        alice.choose("noodles?", "Edit")
        expect(field).to_have_value("noodles?")
        field.fill("rice?")
        save.click()
        expect(bar).to_be_hidden()
        expect(bob.message("rice?")).to_be_visible()
        expect(alice.dialog).to_have_count(0)


def w_edit_refused(browser, place):
    """M-73: a refused edit keeps the bar and what was typed, and shows the node's sentence."""
    place.need_fake()
    with world(browser, place) as w:
        alice, _ = w.pair("noodles?")
        sentence = "You can only edit your own messages within 15 minutes"
        alice.refuse("edit", 403, sentence)
        alice.choose("noodles?", "Edit")
        field = alice.page.get_by_label("Edit message")
        field.fill("rice?")
        alice.button("Save").click()
        expect(alice.dialog.get_by_role("heading")).to_have_text("Error")
        expect(alice.dialog).to_contain_text(sentence)
        alice.button("OK", alice.dialog).click()
        expect(field).to_have_value("rice?")
        expect(alice.message("noodles?")).to_be_visible()
        alice.button("Save").click()
        expect(alice.message("rice?")).to_be_visible()


def w_send_refused(browser, place):
    """X-05: a refused message leaves the view with the node's sentence, and is a draft again."""
    with world(browser, place) as w:
        alice, _ = w.pair("noodles?")
        sentence = "Only participants can do this"
        field = alice.page.get_by_label("Message", exact=True)
        alice.refuse("send", 403, sentence)
        field.fill("rice?")
        alice.button("Send").click()
        expect(alice.dialog.locator("p")).to_have_text(sentence)
        alice.button("OK", alice.dialog).click()
        expect(alice.message("rice?")).to_have_count(0)
        expect(field).to_have_value("rice?")
        # Another text that has been begun stays, below the refused one.
        alice.refuse("send", 403, sentence)
        alice.set_latency(400)
        alice.button("Send").click()
        field.fill("or this")
        expect(alice.dialog.locator("p")).to_have_text(sentence)
        alice.button("OK", alice.dialog).click()
        expect(field).to_have_value("rice?\nor this")
        assert alice.texts() == ["noodles?"], alice.texts()


def w_edited_label(browser, place):
    """M-74, M-75: "• edited" beside the time, on edited messages alone, live; history on tap."""
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?", "at noon")
        for user in (alice, bob):
            expect(user.page.locator(".edited:visible")).to_have_count(0)
        alice.choose("noodles?", "Edit")
        alice.page.get_by_label("Edit message").fill("rice?")
        alice.button("Save").click()
        label = bob.message("rice?").locator(".edited")
        expect(label).to_have_text("• edited")
        expect(label).to_have_css("font-size", "12px")
        expect(bob.page.locator(".edited:visible")).to_have_count(1)
        order = alice.message("rice?").locator(".meta > :visible").evaluate_all(
            "parts => parts.map(part => part.className)")
        assert order == ["time", "edited", "mark"], order
        label.click()
        expect(bob.dialog.locator(".history-text")).to_have_text(["rice?", "noodles?"])


def w_tombstone(browser, place):
    """F-11, M-19, X-02: others read "This message was deleted", the sender sees nothing."""
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?", "at noon")
        alice.choose("noodles?", "Delete for Everyone")
        expect(bob.message("This message was deleted")).to_be_visible()
        expect(bob.message("[Message deleted]")).to_have_count(0)
        expect(alice.page.locator(".message-row")).to_have_count(1)
        bob.options("This message was deleted")
        assert bob.choices() == ["Delete for Me"], bob.choices()


def w_error_alert(browser, place):
    """M-38…M-40: "Error", the sentence, "OK" for a failure; no alert for a success."""
    place.need_fake()
    with world(browser, place) as w:
        alice, _ = w.pair("one", "two", "three")
        alice.choose("one", "Delete for Me")
        expect(alice.message("one")).to_have_count(0)
        expect(alice.dialog).to_have_count(0)
        alice.refuse("retract", 403, "Only the sender can delete for everyone")
        alice.choose("two", "Delete for Everyone")
        expect(alice.dialog.get_by_role("heading")).to_have_text("Error")
        expect(alice.dialog.locator("p")).to_have_text("Only the sender can delete for everyone")
        assert alice.dialog.get_by_role("button").all_inner_texts() == ["OK"]
        alice.button("OK", alice.dialog).click()
        expect(alice.dialog).to_have_count(0)
        expect(alice.message("two")).to_be_visible()
        alice.refuse("delete", 500, "")
        alice.choose("two", "Delete for Me")
        expect(alice.dialog.locator("p")).to_have_text("Failed to delete message")


def w_delete_fails_logged(browser, place):
    """M-37: a failed deletion is logged."""
    place.need_fake()
    with world(browser, place) as w:
        alice, _ = w.pair("one")
        alice.refuse("delete", 404, "Message not found")
        alice.choose("one", "Delete for Me")
        expect(alice.dialog).to_contain_text("Message not found")
        assert any("Message not found" in line for line in alice.log), alice.log


def w_swipe_delete(browser, place):
    """P-05: a swipe uncovers the deletion; it can be undone."""
    with world(browser, place, size=PHONE, has_touch=True) as w:
        alice, _ = w.pair("one", "two")
        alice.swipe(alice.message("one").locator(".message"), -120)
        alice.button("Delete for Me", alice.message("one")).click()
        expect(alice.message("one")).to_have_count(0)
        alice.button("Undo").click()
        expect(alice.message("one")).to_be_visible()
        assert alice.texts() == ["one", "two"], alice.texts()


def w_delete_each(browser, place):
    """F-01, P-14: deleting the last, first and middle message, and two in a row, breaks nothing."""
    with world(browser, place) as w:
        alice, _ = w.pair("alpha", "beta", "gamma", "delta", "kappa", "omega")
        left = alice.texts()
        for text in ["omega", "alpha", "gamma", "delta", "beta", "kappa"]:
            left.remove(text)
            alice.choose(text, "Delete for Me")
            expect(alice.page.locator(".message-row")).to_have_count(len(left))
            assert alice.texts() == left, alice.texts()
        expect(alice.page.locator(".pane").get_by_text("No messages yet")).to_be_visible()
        expect(alice.chat("Lunch").locator(".chat-preview")).to_have_text("No messages yet")


def w_node_reuse(browser, place):
    """F-07: a message keeps its element when it is edited, or others are deleted."""
    with world(browser, place) as w:
        alice, bob = w.pair("one", "two", "three")
        two = bob.message("two").element_handle()
        alice.choose("two", "Edit")
        alice.page.get_by_label("Edit message").fill("second")
        alice.button("Save").click()
        alice.choose("one", "Delete for Everyone")
        bob.choose("three", "Delete for Me")
        expect(bob.message("three")).to_have_count(0)
        second = bob.message("second").element_handle()
        assert bob.page.evaluate("([a, b]) => a === b", [two, second])


def w_scroll_after_delete(browser, place):
    """F-09: deletions keep the end at the end, and move nothing for who reads further up."""
    with world(browser, place, size=LOW) as w:
        # The mark ends the number, which else goes on with the time: "number 15:41".
        alice, bob = w.pair(*[f"number {n}!" for n in range(1, 16)])
        where = """() => { const list = document.querySelector(".message-list");
            return [list.scrollTop, list.scrollHeight - list.clientHeight - list.scrollTop]; }"""
        bob.choose("number 15!", "Delete for Me")
        expect(bob.message("number 15!")).to_have_count(0)
        bob.page.wait_for_timeout(150)
        assert bob.page.evaluate(where)[1] < 2
        bob.page.locator(".message-list").evaluate("list => list.scrollTop = 0")
        expect(bob.message("number 1!").first).to_be_visible()
        bob.page.wait_for_timeout(100)
        top = bob.message("number 3!").first.bounding_box()["y"]
        alice.choose("number 14!", "Delete for Everyone")
        alice.send("one more")
        expect(bob.button("1, scroll to the newest message")).to_have_count(0)
        bob.page.wait_for_timeout(150)
        assert bob.page.evaluate(where)[0] == 0
        assert abs(bob.message("number 3!").first.bounding_box()["y"] - top) < 1
        bob.button("1 new, scroll to the newest message").click()
        expect(bob.message("one more")).to_be_in_viewport()


def w_loading(browser, place):
    """M-79: what is being saved cannot be sent twice, and says so."""
    place.need_fake()
    with world(browser, place) as w:
        alice, _ = w.pair("noodles?")
        alice.set_latency(600)
        alice.choose("noodles?", "Edit")
        alice.page.get_by_label("Edit message").fill("rice?")
        alice.button("Save").click()
        expect(alice.button("Save")).to_be_disabled()
        expect(alice.message("rice?")).to_be_visible()
        expect(alice.page.locator(".edit-bar")).to_be_hidden()
        alice.send("waits")
        expect(alice.button("Waiting to be sent")).to_be_visible()
        expect(alice.button("Waiting to be sent")).to_be_hidden()


def w_long_text(browser, place):
    """A text is counted in bytes, as a node does, and never cut."""
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?")
        field = alice.page.get_by_label("Message", exact=True)
        field.fill("é" * 8_193)
        alice.button("Send").click()
        expect(alice.dialog).to_contain_text("2 bytes too long")
        alice.button("OK", alice.dialog).click()
        assert len(field.input_value()) == 8_193
        field.fill("é" * 8_192)
        alice.button("Send").click()
        expect(field).to_have_value("")
        expect(bob.message("é" * 100)).to_be_visible()


def w_draft(browser, place):
    """What is typed and not sent survives a reload, and ends with the sign-in."""
    with world(browser, place) as w:
        alice, _ = w.pair("noodles?")
        field = alice.page.get_by_label("Message", exact=True)
        field.fill("half a thought")
        alice.reload()
        expect(field).to_have_value("half a thought")
        alice.leave_chat()
        alice.reload()
        alice.open_chat("Lunch")
        expect(field).to_have_value("half a thought")
        alice.button("Settings").click()
        alice.button("Sign Out", alice.dialog).click()
        expect(alice.page.get_by_label("Password")).to_be_visible()
        assert "half a thought" not in alice.page.evaluate("JSON.stringify({ ...localStorage })")
        alice.sign_in()
        alice.open_chat("Lunch")
        expect(field).to_have_value("")


def w_unknown_chat(browser, place):
    """A link to a chat that does not exist says so, and leads to the list."""
    place.need_nodes()
    with world(browser, place) as w:
        alice, _ = w.pair("noodles?")
        alice.page.evaluate("location.hash = '#/chat/nowhere'")
        expect(alice.dialog).to_contain_text("This chat does not exist, or you are not in it.")
        alice.button("OK", alice.dialog).click()
        expect(alice.page).to_have_url(re.compile(r"#/$"))
        alice.open_chat("Lunch")
        expect(alice.message("noodles?")).to_be_visible()


def w_ended_elsewhere(browser, place):
    """A page whose sign-in was ended on another device says why it asks for the password."""
    place.need_nodes()
    with world(browser, place, is_fresh=True) as w:
        alice, _ = w.pair("noodles?")
        other = User(pages.make(browser, w.options), place, alice.name, alice.email)
        w.users.append(other)
        other.sign_in()
        other.button("Settings").click()
        other.button("Sign Out on All Devices", other.dialog).click()
        expect(alice.page.get_by_label("Password")).to_be_visible()
        expect(alice.dialog).to_contain_text("sign in again")
        alice.button("OK", alice.dialog).click()
        alice.sign_in()
        alice.open_chat("Lunch")
        expect(alice.message("noodles?")).to_be_visible()
