import { element, setAttribute, setChildren, setShown, setText } from "../parts/dom.js";
import { icon } from "../parts/icons.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("./message-content.js").ContentActions} ContentActions
 * @typedef {import("./message-content.js").ContentView} ContentView
 * @typedef {import("../../client/types.js").Item} Item
 */

/**
 * The content of a message about an action item.
 *
 * If the item belongs to the signed-in user, a checkbox marks the item as done or not done. Action
 * items of other users are not visible to the signed-in user.
 */
export class ItemContent {
    /** @type {Item | undefined} */
    #item;
    #circle = element("button", {
        type: "button",
        class: "item-circle",
        role: "checkbox",
        onclick: () => this.#item && this.actions.toggleItem(this.#item.id, !this.#item.isDone),
    });
    #sign = element("span", { class: "item-sign" }, icon("item"));
    #title = element("span", { class: "item-title", dir: "auto" });
    element = element(
        "div",
        { class: "item-content" },
        this.#circle,
        this.#sign,
        element(
            "p",
            {},
            element("span", { class: "item-kind" }, texts.message.actionItem),
            this.#title,
        ),
    );

    /** @param {ContentActions} actions */
    constructor(actions) {
        this.actions = actions;
    }

    /** @param {ContentView} view */
    render({ message, item }) {
        this.#item = item;
        const isDone = item?.isDone ?? false;
        setText(this.#title, message.text);
        setShown(this.#circle, item !== undefined);
        setShown(this.#sign, item === undefined);
        setAttribute(this.#circle, "aria-checked", String(isDone));
        setAttribute(this.#circle, "aria-label", texts.items.complete(message.text));
        if (this.#circle.dataset.done === String(isDone)) return;
        this.#circle.dataset.done = String(isDone);
        setChildren(this.#circle, icon(isDone ? "checkFilled" : "circle"));
    }
}
