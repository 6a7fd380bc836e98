"""Rows about action items."""

from playwright.sync_api import expect

from world import PHONE, world


def add(user, title):
    user.button("New Action Item").click()
    user.dialog.get_by_label("Title").fill(title)
    user.button("Save").click()


def w_toggle(browser, place):
    """R-17: the circle toggles complete and incomplete."""
    with world(browser, place) as w:
        alice = w.user("Alice").sign_up()
        add(alice, "Water the plants")
        circle = alice.page.get_by_role("checkbox", name="Water the plants")
        expect(circle).to_have_attribute("aria-checked", "false")
        circle.click()
        expect(circle).to_have_attribute("aria-checked", "true")
        alice.reload()
        expect(circle).to_have_attribute("aria-checked", "true")
        circle.click()
        expect(circle).to_have_attribute("aria-checked", "false")


def w_action_from_message(browser, place):
    """R-15, R-16: an action item from a message of anybody, linked both ways."""
    with world(browser, place) as w:
        _, bob = w.pair("book a table")
        bob.choose("book a table", "Create Action Item")
        expect(bob.dialog.get_by_role("heading")).to_have_text("Create Action Item")
        expect(bob.dialog.get_by_label("Title")).to_have_value("book a table")
        bob.button("Save").click()
        expect(bob.item("book a table")).to_be_visible()
        expect(bob.message("book a table").get_by_role("img", name="Has an action item"))\
            .to_be_visible()
        bob.leave_chat()
        bob.item("book a table").locator(".item-row").click(button="right")
        bob.button("Open Chat", bob.dialog).click()
        expect(bob.page.locator(".pane-title")).to_have_text("Lunch")


def w_action_edit(browser, place):
    """R-37, R-19: an item alone, with title, due date and priority, which can be changed."""
    with world(browser, place) as w:
        alice = w.user("Alice").sign_up()
        add(alice, "Water the plants")
        alice.item("Water the plants").locator(".item-text").click()
        expect(alice.dialog.get_by_role("heading")).to_have_text("Edit Action Item")
        alice.dialog.get_by_label("Title").fill("Water all plants")
        alice.dialog.get_by_label("Due date").fill("2031-05-06T10:30")
        alice.dialog.get_by_label("Priority").select_option("High")
        alice.button("Save").click()
        row = alice.item("Water all plants")
        expect(row).to_contain_text("High priority")
        expect(row).to_contain_text("6 May 2031")
        alice.reload()
        expect(row).to_contain_text("6 May 2031")
        row.locator(".item-text").click()
        expect(alice.dialog.get_by_label("Due date")).to_have_value("2031-05-06T10:30")
        alice.dialog.get_by_label("Due date").fill("")
        alice.dialog.get_by_label("Priority").select_option("None")
        alice.button("Save").click()
        expect(row).not_to_contain_text("2031")
        expect(row).not_to_contain_text("priority")


def w_delete_item(browser, place):
    """R-18: a swipe towards the start uncovers "Delete", which is permanent."""
    with world(browser, place, size=PHONE, has_touch=True) as w:
        alice = w.user("Alice").sign_up()
        add(alice, "Water the plants")
        alice.swipe(alice.item("Water the plants"), -100)
        alice.button("Delete", alice.item("Water the plants")).click()
        expect(alice.item("Water the plants")).to_have_count(0)
        alice.reload()
        expect(alice.page.get_by_text("No Action Items")).to_be_visible()
