import { ChatRow } from "./chat-row.js";
import { element, setChildren } from "../parts/dom.js";
import { KeyedList } from "../parts/keyed-list.js";
import { RovingFocus } from "../parts/roving-focus.js";
import { spinner } from "../parts/spinner.js";

/**
 * @typedef {import("./chat-row.js").ChatActions} ChatActions
 * @typedef {import("./chat-row.js").ChatRowView} ChatRowView
 */

/** A list of active or archived chats, the chat with the latest message first. */
export class ChatList {
    #spinner = spinner();

    /**
     * @param {{label: string, isArchive?: boolean, empty: HTMLElement}} options
     * @param {ChatActions} actions
     */
    constructor({ label, isArchive = false, empty }, actions) {
        this.empty = empty;
        this.list = element("ul", { class: "chat-list", "aria-label": label });
        this.focus = new RovingFocus(this.list, ".chat-link");
        this.rows = new KeyedList(
            this.list,
            (/** @type {ChatRowView} */ view) => view.chat.id,
            () => new ChatRow(actions, isArchive),
        );
        this.element = element("div", { class: "chat-list-place" });
    }

    /** @param {{rows: ChatRowView[], isLoading: boolean}} view */
    render({ rows, isLoading }) {
        this.focus.around(() => this.rows.render(rows));
        const otherwise = isLoading ? this.#spinner : this.empty;
        setChildren(this.element, rows.length > 0 ? this.list : otherwise);
    }
}
