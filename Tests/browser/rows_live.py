"""Rows about what two pages show of each other's changes."""

import base64
import json
import zlib

from playwright.sync_api import expect

from world import User, world

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
    "rkJggg==")


# After a device is connected again.
ARRIVED_MS = 1000


def w_chat(browser, place):
    """R-32, R-36: bubbles with the sender's name and picture, days, marks with times, typing."""
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?")
        row = bob.message("noodles?")
        expect(row.locator(".sender")).to_have_text("Alice")
        expect(row.locator(".avatar")).to_be_visible()
        expect(row.locator(".day")).to_have_text("Today")
        expect(alice.button("Read", alice.message("noodles?"))).to_be_visible()
        expect(alice.message("noodles?").locator(".receipt")).to_contain_text("Read ")
        alice.button("Read", alice.message("noodles?")).click()
        expect(alice.dialog.locator(".detail").last).to_contain_text("Bob")
        alice.button("Close", alice.dialog).click()
        bob.page.get_by_label("Message", exact=True).press_sequentially("yes")
        expect(alice.page.locator(".typing")).to_have_text("Bob is typing…")
        bob.page.get_by_label("Message", exact=True).press("Enter")
        expect(alice.page.locator(".typing")).to_be_hidden()
        expect(alice.message("yes")).to_be_visible()
        bob.leave_chat()
        alice.send("at noon?", "or later?")
        expect(alice.button("Delivered", alice.message("or later?"))).to_be_visible()
        bob.open_chat("Lunch")
        expect(bob.message("at noon?").locator(".new-line")).to_have_text("New")
        expect(bob.page.locator(".new-line:visible")).to_have_count(1)


def w_types(browser, place):
    """F-21, R-05: text, photo and voice, each in its own way; a recording is made and played."""
    with world(browser, place, permissions=["microphone"]) as w:
        alice, bob = w.pair("see https://example.org/menu, please")
        link = bob.page.locator(".bubble a")
        expect(link).to_have_attribute("href", "https://example.org/menu")
        alice.page.locator(".composer input[type=file]").set_input_files(
            {"name": "view.png", "mimeType": "image/png", "buffer": PIXEL})
        expect(bob.page.locator("img.photo")).to_be_visible()
        bob.button("Photo from Alice").click()
        expect(bob.dialog.locator("img")).to_be_visible()
        bob.button("Close", bob.dialog).click()
        alice.button("Record voice message").click()
        expect(alice.page.locator(".recording")).to_be_visible()
        alice.page.wait_for_timeout(1200)
        alice.button("Send recording").click()
        play = bob.button("Play voice message")
        expect(play).to_be_visible()
        expect(bob.page.locator(".voice-time")).to_have_text("0:01")
        play.click()
        expect(bob.button("Pause voice message").or_(play)).to_be_visible()
        expect(bob.page.get_by_role("slider", name="Position")).to_be_enabled()
        bob.leave_chat()
        expect(bob.chat("Lunch")).to_contain_text("Voice message")


def w_photo_notes(browser, place):
    """A picture is sent without what a camera notes in it; what no browser shows goes as a file."""
    note = b"a place that nobody is told"
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?")
        drawn = alice.page.evaluate("""() => {
            const canvas = document.createElement("canvas");
            canvas.width = canvas.height = 8;
            canvas.getContext("2d").fillRect(0, 0, 8, 8);
            return canvas.toDataURL("image/jpeg").split(",")[1];
        }""")
        photo = base64.b64decode(drawn)
        exif = b"Exif\0\0" + note
        photo = photo[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + photo[2:]
        text = b"tEXtComment\0" + note
        end = PIXEL.rindex(b"IEND") - 4
        noted = (PIXEL[:end] + (len(text) - 4).to_bytes(4, "big") + text
                 + zlib.crc32(text).to_bytes(4, "big") + PIXEL[end:])
        for kind, content in (("image/jpeg", photo), ("image/png", noted)):
            sent = alice.page.evaluate("""async ([kind, content]) => {
                const { preparePhoto } = await import("/chat/conversation/photo.js");
                const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
                const photo = await preparePhoto(new Blob([bytes], { type: kind }));
                return [photo.file.type, await photo.file.text()];
            }""", [kind, base64.b64encode(content).decode()])
            assert sent[0] == kind and sent[1] and note.decode() not in sent[1], sent
        field = alice.page.locator(".composer input[type=file]")
        field.set_input_files({"name": "view.jpeg", "mimeType": "image/jpeg", "buffer": photo})
        expect(bob.page.locator("img.photo")).to_have_count(1)
        field.set_input_files(
            {"name": "view.png", "mimeType": "image/png", "buffer": b"no picture"})
        expect(bob.button("view.png")).to_be_visible()
        expect(bob.page.locator("img.photo")).to_have_count(1)


def w_delete_live(browser, place):
    """M-26, P-03: a deletion is seen by the other without a reload."""
    with world(browser, place) as w:
        alice, bob = w.pair("one", "two")
        alice.choose("one", "Delete for Everyone")
        expect(bob.message("This message was deleted")).to_be_visible()
        assert bob.texts() == ["two"], bob.texts()


def w_two_devices(browser, place):
    """M-22: on the sender's other device the message disappears, the other user has a tombstone."""
    with world(browser, place) as w:
        alice, bob = w.pair("one", "two")
        laptop = w.user("Alice").sign_in()
        laptop.open_chat("Lunch")
        expect(laptop.message("one")).to_be_visible()
        alice.choose("one", "Delete for Everyone")
        expect(laptop.message("one")).to_have_count(0)
        expect(laptop.message("This message was deleted")).to_have_count(0)
        expect(bob.message("This message was deleted")).to_be_visible()
        bob.choose("two", "Delete for Me")
        # The deletion is older than what follows it, and has come before.
        bob.send("three")
        expect(laptop.message("three")).to_be_visible()
        assert laptop.texts() == ["two", "three"], laptop.texts()


def w_all_views(browser, place):
    """P-76: one change reaches the list, the conversation, the pinned view and the search."""
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?")
        bob.choose("noodles?", "Pin")
        bob.button("Pinned Messages").click()
        bob.page.get_by_role("searchbox").fill("rice")
        expect(bob.page.get_by_text("No Results")).to_be_visible()
        alice.choose("noodles?", "Edit")
        alice.page.get_by_label("Edit message").fill("rice?")
        alice.button("Save").click()
        expect(bob.page.locator(".pin-text")).to_have_text("rice?")
        expect(bob.page.locator(".result-list")).to_contain_text("rice?")
        bob.page.get_by_role("searchbox").fill("")
        expect(bob.chat("Lunch")).to_contain_text("rice?")
        bob.back()
        expect(bob.message("rice?")).to_be_visible()


def w_view_sync(browser, place):
    """P-80: what B sends is in both of A's views; what B deletes is gone from both."""
    with world(browser, place) as w:
        alice, bob = w.pair("first")
        bob.send("second")
        expect(alice.message("second")).to_be_visible()
        expect(alice.chat("Lunch")).to_contain_text("second")
        bob.choose("second", "Delete for Everyone")
        expect(alice.message("This message was deleted")).to_be_visible()
        expect(alice.chat("Lunch")).to_contain_text("first")


def w_leave_return(browser, place):
    """F-02: a deleted message does not come back with its conversation."""
    with world(browser, place) as w:
        alice, bob = w.pair("one", "two")
        alice.choose("one", "Delete for Me")
        expect(alice.message("one")).to_have_count(0)
        alice.leave_chat()
        bob.send("three")
        alice.open_chat("Lunch")
        assert alice.texts() == ["two", "three"], alice.texts()
        alice.reload()
        expect(alice.message("three")).to_be_visible()
        assert alice.texts() == ["two", "three"], alice.texts()


def w_delete_and_leave(browser, place):
    """F-16: a deletion holds, even if the page is closed before it is answered."""
    place.need_fake()
    with world(browser, place) as w:
        alice, bob = w.pair("one", "two")
        alice.set_latency(400)
        alice.choose("one", "Delete for Everyone")
        alice.leave_chat()
        alice.reload()
        expect(bob.message("This message was deleted")).to_be_visible()
        alice.open_chat("Lunch")
        assert alice.texts() == ["two"], alice.texts()


BUSY_STORE = """async () => {
    const request = indexedDB.open("grapevine");
    await new Promise((resolve) => request.onsuccess = resolve);
    const table = request.result.transaction("entries", "readwrite").objectStore("entries");
    const read = () => table.get("nothing").onsuccess = read;
    read();
}"""


def w_close_at_once(browser, place):
    """F-13, F-14: what is shown when the page is closed is done, and once, stored or not."""
    if place.is_fake:
        raise NeedsNodes
    with world(browser, place) as w:
        alice, bob = w.pair("first")
        for ending, close in [("reload", alice.reload), ("close", alice.reopen)]:
            # Nothing that is done from here on reaches the disk before the page is closed.
            alice.page.evaluate(BUSY_STORE)
            alice.send(f"{ending} 1", f"{ending} 2")
            expect(alice.button("Waiting to be sent")).to_have_count(2)
            close()
            for user in (alice, bob):
                expect(user.message(f"{ending} 2")).to_be_visible()
        alice.page.evaluate(BUSY_STORE)
        alice.choose("first", "Delete for Me")
        expect(alice.message("first")).to_have_count(0)
        alice.reopen()
        expect(alice.message("close 2")).to_be_visible()
        expected = ["reload 1", "reload 2", "close 1", "close 2"]
        assert alice.texts() == expected, alice.texts()
        assert bob.texts() == ["first", *expected], bob.texts()


def w_delete_while_typing(browser, place):
    """F-18: a deletion while somebody types breaks nothing, and keeps what is typed."""
    with world(browser, place) as w:
        alice, bob = w.pair("one", "two")
        bob.page.get_by_label("Message", exact=True).press_sequentially("half a sen")
        expect(alice.page.locator(".typing")).to_be_visible()
        alice.choose("two", "Delete for Everyone")
        expect(bob.message("This message was deleted")).to_be_visible()
        expect(bob.page.get_by_label("Message", exact=True)).to_have_value("half a sen")
        expect(alice.page.locator(".typing")).to_be_visible()
        bob.page.get_by_label("Message", exact=True).press_sequentially("tence")
        bob.button("Send").click()
        expect(alice.message("half a sentence")).to_be_visible()


def w_offline_3(browser, place):
    """P-34, P-43: three messages sent offline are shown, kept, and arrive in order."""
    with world(browser, place) as w:
        alice, bob = w.pair("hello")
        alice.set_offline(True)
        alice.send("one", "two", "three")
        expect(alice.button("Waiting to be sent")).to_have_count(3)
        bob.page.wait_for_timeout(200)
        assert bob.texts() == ["hello"], bob.texts()
        alice.set_offline(False)
        expect(bob.message("three")).to_be_visible(timeout=ARRIVED_MS)
        assert bob.texts() == ["hello", "one", "two", "three"], bob.texts()
        expect(alice.button("Waiting to be sent")).to_have_count(0)
        expect(alice.chat("Lunch")).to_contain_text("three")


def w_load_fails(browser, place):
    """A-35: a failed load is logged and told, the spinner ends, and it is asked for again."""
    place.need_fake()
    with world(browser, place) as w:
        alice, _ = w.pair("noodles?")
        chat = alice.page.evaluate("location.hash")
        alice.leave_chat()
        alice.fail_loads(True)
        alice.page.evaluate("chat => location.hash = chat.replace('#/chat/', '#/pins/')", chat)
        expect(alice.page.get_by_text("Messages could not be loaded.")).to_be_visible()
        expect(alice.page.locator(".pane .spinner:visible")).to_have_count(0)
        assert any("not loaded" in line for line in alice.log), alice.log
        alice.fail_loads(False)
        alice.button("Try Again").click()
        expect(alice.page.get_by_text("No Pinned Messages")).to_be_visible()
        expect(alice.page.get_by_text("Messages could not be loaded.")).to_be_hidden()


def w_two_tabs(browser, place):
    """Two tabs of one user agree, send each message once, and are signed out together."""
    place.need_nodes()
    with world(browser, place, is_fresh=True) as w:
        alice, bob = w.pair("noodles?")
        tab = User(alice.page.context.new_page(), place, alice.name, alice.email)
        w.users.append(tab)
        sent = [note_sent(user.page) for user in (alice, tab)]
        for user in (alice, tab):
            user.page.goto(alice.page.url)
            user.reload()
            expect(user.message("noodles?")).to_be_visible()
        tab.send("at noon?")
        expect(alice.message("at noon?")).to_be_visible()
        # Browsers slow down a tab that is not in front.
        alice.page.bring_to_front()
        alice.send("or later?")
        expect(tab.message("or later?")).to_be_visible()
        expect(bob.message("or later?")).to_be_visible()
        for user in (alice, bob, tab):
            assert user.texts() == ["noodles?", "at noon?", "or later?"], user.texts()
        alice.choose("or later?", "Delete for Everyone")
        expect(tab.message("or later?")).to_be_hidden()
        texts = [text for each in sent for text in each]
        assert sorted(texts) == ["at noon?", "or later?"], f"the tabs have sent {texts}"
        alice.button("Settings").click()
        alice.button("Sign Out", alice.dialog).click()
        expect(alice.page.get_by_label("Password")).to_be_visible()
        expect(tab.page.get_by_label("Password")).to_be_visible()


def note_sent(page):
    """The texts that a page sends from its next load on, each as often as it is sent."""
    texts = []

    def on_frame(frame):
        body = json.loads(frame).get("body") or {}
        if "text" in body:
            texts.append(body["text"])

    page.on("websocket", lambda socket: socket.on("framesent", on_frame))
    return texts


def w_opens_at_new(browser, place):
    """A chat opens at the first message that was not read, which may be beyond the first page."""
    with world(browser, place) as w:
        alice, bob = w.pair("seen")
        bob.leave_chat()
        alice.send(*[f"number {number}" for number in range(70)])
        alice.choose("number 69", "Delete for Everyone")
        expect(bob.chat("Lunch").locator(".badge")).to_contain_text("69")
        bob.open_chat("Lunch")
        line = bob.page.locator(".message-row").filter(has=bob.page.locator(".new-line:visible"))
        expect(line.locator(".text-content")).to_have_text("number 0")
        expect(line).to_be_in_viewport()


def w_files(browser, place):
    """Any file can be sent; its name saves it as it was."""
    content = b"%PDF-1.7 what was agreed"
    with world(browser, place) as w:
        alice, bob = w.pair("noodles?")
        alice.page.locator(".composer input[type=file]").set_input_files(
            {"name": "plan.pdf", "mimeType": "application/pdf", "buffer": content})
        expect(bob.message("plan.pdf")).to_be_visible()
        with bob.page.expect_download() as download:
            bob.button("plan.pdf").click()
        assert download.value.suggested_filename == "plan.pdf", download.value.suggested_filename
        with open(download.value.path(), "rb") as saved:
            assert saved.read() == content
