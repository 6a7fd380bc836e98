import { iconButton } from "../parts/button.js";
import { element, setAttribute, setChildren, setShown, setText, uniqueID } from "../parts/dom.js";
import { formatNumber } from "../parts/formats.js";
import { emptyState } from "../parts/empty-state.js";
import { icon } from "../parts/icons.js";
import { ItemRow } from "./item-row.js";
import { KeyedList } from "../parts/keyed-list.js";
import { RovingFocus } from "../parts/roving-focus.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/types.js").Item} Item
 * @typedef {import("./item-row.js").ItemActions} ItemActions
 */

const words = texts.items;

/** The collapsible panel with the user's action items, below the chat list. */
export class ActionItems {
    #isOpen = true;
    #id = uniqueID();
    #count = element("span", { class: "panel-count" });
    #fold = element(
        "button",
        {
            type: "button",
            class: "panel-fold",
            "aria-controls": this.#id,
            onclick: () => this.#setOpen(!this.#isOpen),
        },
        icon("chevron"),
        element("span", {}, words.title),
        this.#count,
    );
    #list = element("ul", { class: "item-list", "aria-label": words.title });
    #empty = emptyState("item", words.emptyTitle, words.emptyText);
    #content = element("div", { id: this.#id, class: "panel-content" }, this.#list);
    #focus = new RovingFocus(this.#list, ".item-text");

    /** @param {ItemActions & {add: () => void}} actions */
    constructor(actions) {
        this.rows = new KeyedList(
            this.#list,
            (/** @type {Item} */ item) => item.id,
            () => new ItemRow(actions),
        );
        this.element = element(
            "section",
            { class: "panel", "aria-label": words.title },
            element(
                "header",
                { class: "panel-header" },
                element("h2", {}, this.#fold),
                iconButton("plus", words.add, actions.add),
            ),
            this.#content,
        );
        this.#setOpen(true);
    }

    /** @param {{items: Item[]}} view */
    render({ items }) {
        this.#focus.around(() => this.rows.render(items));
        const open = items.filter((item) => !item.isDone).length;
        setText(this.#count, open > 0 ? words.open(formatNumber(open)) : "");
        setChildren(this.#content, items.length > 0 ? this.#list : this.#empty);
    }

    /** @param {boolean} isOpen */
    #setOpen(isOpen) {
        this.#isOpen = isOpen;
        setAttribute(this.#fold, "aria-expanded", String(isOpen));
        setShown(this.#content, isOpen);
    }
}
