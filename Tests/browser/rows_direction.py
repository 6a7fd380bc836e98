"""Rows about texts that are read from right to left, in a page that is not."""

from playwright.sync_api import expect

from world import DESK, PHONE, world

ALICE, BOB, TITLE = "نور الحسن", "דוד לוי", "غداء الجمعة"
ARABIC = "مرحبا! هل نلتقي يوم الجمعة في المطعم القديم قرب الميناء، أم تفضل أن نذهب إلى مكان آخر؟"
HEBREW = "הכתובת היא 12 Harbour Street, קומה 3"
ENGLISH = "The menu says مرحبا, and it costs 30 € for each of us, without the drinks and the dessert"
# A word that fits no line.
WORD = "سلام" * 60
DIRECTIONS = {ARABIC: "rtl", HEBREW: "rtl", ENGLISH: "ltr", WORD: "rtl"}
# Letters may reach a little beyond their places.
NEAR = 4

# The places of a message: of its lines, its bubble, its time, and of the whole list.
PLACES = """row => {
    const box = ({ left, right, top, bottom }) => ({ left, right, top, bottom });
    const text = row.querySelector(".text-content");
    const lines = new Map();
    for (let index = 0; index < text.firstChild.length; index += 1) {
        if (text.textContent[index] === " ") continue;
        const range = document.createRange();
        range.setStart(text.firstChild, index);
        range.setEnd(text.firstChild, index + 1);
        const letter = range.getBoundingClientRect();
        const line = Math.round(letter.top);
        const { left, right, top, bottom } = lines.get(line) ?? letter;
        lines.set(line, { top, bottom, left: Math.min(left, letter.left),
            right: Math.max(right, letter.right) });
    }
    return {
        direction: getComputedStyle(text).direction,
        lines: [...lines.values()],
        bubble: box(row.querySelector(".bubble").getBoundingClientRect()),
        time: box(row.querySelector(".meta").getBoundingClientRect()),
        list: box(row.closest(".message-list").getBoundingClientRect()),
    };
}"""
SIDEWAYS = """() => [document.documentElement, document.querySelector(".message-list")]
    .some(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)"""


def check(user, text, is_mine):
    """A message is on the side of its sender, and its lines begin where its language does."""
    place = user.message(text).evaluate(PLACES)
    name, direction, lines = f"{user.name}: {text[:20]}", DIRECTIONS[text], place["lines"]
    assert place["direction"] == direction, f"{name}: the direction is {place['direction']}"
    bubble, time, outside = place["bubble"], place["time"], place["list"]
    before, after = bubble["left"] - outside["left"], outside["right"] - bubble["right"]
    assert (after < before) == is_mine, f"{name}: the bubble is on the other's side"
    assert before >= 0 and after >= 0, f"{name}: the bubble is wider than the list"
    edge = "right" if direction == "rtl" else "left"
    # The time stands beside the last line.
    edges = [line[edge] for line in lines[:-1]]
    assert not edges or max(edges) - min(edges) < NEAR, f"{name}: lines begin at {edges}"
    for line in lines:
        assert bubble["left"] - NEAR < line["left"] < line["right"] < bubble["right"] + NEAR, \
            f"{name}: a line leaves the bubble"
        is_beside = line["top"] < time["bottom"] - NEAR and time["top"] < line["bottom"] - NEAR
        is_below = line["left"] < time["right"] - NEAR and time["left"] < line["right"] - NEAR
        assert not (is_beside and is_below), f"{name}: a line covers the time"


def direction(locator):
    return locator.evaluate("element => getComputedStyle(element).direction")


def w_right_to_left(browser, place):
    """Arabic, Hebrew and mixed texts and names have their direction, and bubbles keep their side."""
    with world(browser, place) as w:
        bob, alice = w.user("Bob"), w.user("Alice")
        bob.name, alice.name = BOB, ALICE
        bob.sign_up()
        alice.sign_up()
        alice.start_chat(bob, TITLE)
        field = alice.page.get_by_label("Message", exact=True)
        field.fill(HEBREW)
        assert direction(field) == "rtl", "the direction of the field"
        alice.send(*DIRECTIONS)
        bob.open_chat(TITLE)
        expect(bob.message(WORD)).to_be_visible()
        for size in (DESK, PHONE):
            for user in (alice, bob):
                user.page.set_viewport_size(size)
                for text in DIRECTIONS:
                    check(user, text, is_mine=user is alice)
                assert not user.page.evaluate(SIDEWAYS), f"{user.name}: the page scrolls sideways"
        expect(bob.message(ARABIC).locator(".sender")).to_have_text(ALICE)
        assert direction(bob.message(ARABIC).locator(".sender")) == "rtl", "the sender's name"
        assert direction(bob.page.locator(".pane-title")) == "rtl", "the title"
        bob.back()
        assert direction(bob.chat(TITLE).locator(".chat-title")) == "rtl", "the title in the list"
        preview = bob.chat(TITLE).locator(".chat-preview")
        expect(preview).to_have_text(WORD)
        assert direction(preview) == "rtl", "the preview"
