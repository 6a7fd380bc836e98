"""Rows about the page as a whole: its size, its start without a network, long lists, the keyboard."""

from playwright.sync_api import expect

from world import DESK, world

TRANSFER_MAX = 100_000
REQUESTS_MAX = 12
ROWS_MAX = 60
# A step of scrolling takes 2.5 layouts.
LAYOUTS_MAX = 6
# The processor time of a step, against that of a conversation of a tenth of the length: about 1.
GROWTH_MAX = 2
STEPS_WARM = 20
STEPS = 60

# Scrolls up by steps; returns the most rows at once, how many different ones there were, and the
# steps at which rows did not fill the list.
SCROLL = """async (steps) => {
    const list = document.querySelector(".message-list");
    const frame = () => new Promise(requestAnimationFrame);
    const different = new Set();
    let most = 0, gaps = 0;
    for (let step = 0; step < steps; step += 1) {
        list.scrollTop -= 400;
        // The list hears of it in the first frame, and has drawn in the second.
        await frame();
        await frame();
        const rows = [...document.querySelectorAll(".message-row")];
        rows.forEach((row) => different.add(row));
        most = Math.max(most, rows.length);
        const { top, bottom } = list.getBoundingClientRect();
        const isFilled = rows[0].getBoundingClientRect().top <= top &&
            rows.at(-1).getBoundingClientRect().bottom >= bottom;
        if (!isFilled) gaps += 1;
    }
    return [most, different.size, gaps];
}"""

IS_KEPT = """async () => {
    const cache = await caches.open("grapevine-shell");
    const files = performance.getEntriesByType("resource").map((entry) => entry.name);
    const kept = await Promise.all(files.map((file) => cache.match(file)));
    return kept.every((file) => file !== undefined);
}"""


def w_first_paint(browser, place):
    """A first visit takes one script, one style sheet and twelve requests at most, and 100 KB, heads
    included, all of the page's own origin."""
    place.need_nodes()
    with world(browser, place, is_fresh=True) as w:
        page = w.user("Alice").sign_up().page
        page.wait_for_load_state("networkidle")
        urls, sizes = transfers(page)
        page.reload()
        expect(page.get_by_text("No Chats Yet")).to_be_visible()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(300)
        strangers = [url for url in urls if not url.startswith(tuple(place.addresses))]
        assert not strangers, strangers
        assert len(urls) <= REQUESTS_MAX, urls
        for kind in (".js", ".css"):
            files = [url for url in urls if url.endswith(kind) and "worker" not in url]
            assert len(files) == 1, files
        assert sum(sizes) <= TRANSFER_MAX, f"{sum(sizes)} bytes in {len(sizes)} answers"


def transfers(page):
    """Notes what a page asks for from here on, past all caches, and the bytes of the answers."""
    urls, sizes = [], []
    network = page.context.new_cdp_session(page)
    network.on("Network.requestWillBeSent", lambda told: urls.append(told["request"]["url"]))
    network.on("Network.loadingFinished", lambda told: sizes.append(told["encodedDataLength"]))
    network.send("Network.enable")
    network.send("Network.setBypassServiceWorker", {"bypass": True})
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    return urls, sizes


def w_offline_start(browser, place):
    """A page that was visited once starts without a network."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(place.addresses[0])
    page.evaluate("navigator.serviceWorker.ready")
    while not page.evaluate(IS_KEPT):
        page.wait_for_timeout(50)
    context.set_offline(True)
    page.reload()
    expect(page.get_by_role("heading", name="Sign In")).to_be_visible()
    context.close()


def w_long(browser, place):
    """10,000 messages scroll smoothly: few rows exist and are used again, and a step is as little work
    as with 1,000."""
    long, short = scrolled(browser, place, "long"), scrolled(browser, place, "tenth")
    assert long["gaps"] == 0, f"{long['gaps']} of {STEPS} steps showed a gap"
    assert long["most"] <= ROWS_MAX, f"{long['most']} rows at once"
    assert long["different"] <= ROWS_MAX, f"{long['different']} rows were made in turn"
    layouts = long["LayoutCount"] / STEPS
    assert layouts <= LAYOUTS_MAX, f"{layouts:.1f} layouts a step"
    growth = long["TaskDuration"] / short["TaskDuration"]
    assert growth <= GROWTH_MAX, f"{growth:.1f} times the processor time of 1,000 messages"


def scrolled(browser, place, length):
    """What scrolling through a conversation of the gallery showed and cost."""
    context = browser.new_context(viewport=DESK)
    page = context.new_page()
    page.goto(f"{place.addresses[0]}/gallery?state=conversation-{length}")
    expect(page.locator(".message-row").last).to_be_visible()
    session = context.new_cdp_session(page)
    # Processor time of the page's thread: other programs on the machine do not count.
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.evaluate(SCROLL, STEPS_WARM)
    before = metrics(session)
    most, different, gaps = page.evaluate(SCROLL, STEPS)
    after = metrics(session)
    context.close()
    cost = {name: after[name] - before[name] for name in ("LayoutCount", "TaskDuration")}
    return {"most": most, "different": different, "gaps": gaps, **cost}


def metrics(session):
    return {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}


def w_keyboard(browser, place):
    """A conversation by keyboard alone: tab into the list, arrows between messages, focus returned."""
    with world(browser, place) as w:
        alice, _ = w.pair("one", "two", "three")
        keyboard = alice.page.keyboard
        alice.chat("Lunch").locator(".chat-link").focus()
        keyboard.press("Enter")
        alice.message("three").focus()
        keyboard.press("ArrowUp")
        expect(alice.message("two")).to_be_focused()
        keyboard.press("Home")
        expect(alice.message("one")).to_be_focused()
        keyboard.press("Enter")
        expect(alice.dialog.get_by_role("heading")).to_have_text("Message Options")
        for _ in range(4):
            keyboard.press("ArrowDown")
        expect(alice.button("Delete for Me", alice.dialog)).to_be_focused()
        keyboard.press("Enter")
        expect(alice.message("one")).to_have_count(0)
        expect(alice.message("two")).to_be_focused()
        outline = alice.message("two").locator(".bubble")
        expect(outline).to_have_css("outline-style", "solid")
