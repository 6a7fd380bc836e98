import { iconButton } from "../parts/button.js";
import { element, setAttribute, setChildren, setShown, setText } from "../parts/dom.js";
import { formatDue } from "../parts/formats.js";
import { icon } from "../parts/icons.js";
import { onLongPress } from "../parts/long-press.js";
import { Swipe } from "../parts/swipe.js";
import { texts } from "../texts.js";

/** @typedef {import("../../client/types.js").Item} Item */

/**
 * @typedef {{
 *   toggle: (item: Item) => void,
 *   edit: (item: Item) => void,
 *   delete: (item: Item) => void,
 *   openOptions: (item: Item) => void,
 * }} ItemActions
 */

const words = texts.items;

/** A row of the action item list: checkbox, title, due time and priority. */
export class ItemRow {
    /** @type {Item | undefined} */
    #item;
    #circle = element("button", {
        type: "button",
        class: "item-circle",
        role: "checkbox",
        onclick: () => this.#act(this.actions.toggle),
    });
    #title = element("span", { class: "item-title", dir: "auto" });
    #due = element("span", { class: "item-due" });
    #priority = element("span", { class: "item-priority" });
    #chat = element(
        "span",
        { class: "item-chat", hidden: true, "aria-hidden": "true" },
        icon("bubble"),
    );
    #details = element(
        "span",
        { class: "item-details" },
        this.#chat,
        this.#priority,
        this.#due,
    );
    #text = element(
        "button",
        {
            type: "button",
            class: "item-text",
            onclick: () => this.#act(this.actions.edit),
        },
        this.#title,
        this.#details,
    );
    #more = iconButton("more", "", () => this.#act(this.actions.openOptions), "row-more");
    #row = element("div", { class: "item-row" }, this.#circle, this.#text, this.#more);

    /** @param {ItemActions} actions */
    constructor(actions) {
        this.actions = actions;
        const swipe = new Swipe(this.#row, {
            trailing: [{
                title: words.delete,
                icon: "trash",
                style: "red",
                action: () => this.#act(actions.delete),
            }],
        }, "li");
        this.element = swipe.element;
        onLongPress(this.#row, () => this.#act(actions.openOptions));
    }

    /** @param {Item} item */
    render(item) {
        this.#item = item;
        this.element.dataset.id = item.id;
        this.#row.classList.toggle("is-done", item.isDone);
        setText(this.#title, item.title);
        this.#renderCircle(item);
        this.#renderDetails(item);
        setAttribute(this.#more, "aria-label", words.optionsFor(item.title));
    }

    /** @param {Item} item */
    #renderCircle({ title, isDone }) {
        setAttribute(this.#circle, "aria-checked", String(isDone));
        setAttribute(this.#circle, "aria-label", words.complete(title));
        if (this.#circle.dataset.done === String(isDone)) return;
        this.#circle.dataset.done = String(isDone);
        setChildren(this.#circle, icon(isDone ? "checkFilled" : "circle"));
    }

    /** @param {Item} item */
    #renderDetails({ due, priority, isDone, chat }) {
        const isOverdue = due !== undefined && !isDone && Date.parse(due) < Date.now();
        const dueText = isOverdue ? words.overdue : words.dueAt;
        setText(this.#due, due ? dueText(formatDue(due)) : "");
        this.#due.classList.toggle("is-overdue", isOverdue);
        setText(this.#priority, priority ? words.priorityOf(words.priorities[priority]) : "");
        setAttribute(this.#priority, "data-priority", priority);
        setShown(this.#priority, priority !== undefined);
        setShown(this.#due, due !== undefined);
        setShown(this.#chat, chat !== undefined);
        setShown(this.#details, Boolean(due || priority || chat));
    }

    /** @param {(item: Item) => void} action */
    #act(action) {
        if (this.#item) action(this.#item);
    }
}
