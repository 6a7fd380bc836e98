import { Avatar } from "../parts/avatar.js";
import { iconButton } from "../parts/button.js";
import { element, setAttribute, setShown, setText } from "../parts/dom.js";
import { formatBadge, formatListTime, formatNumber } from "../parts/formats.js";
import { onLongPress } from "../parts/long-press.js";
import { chatAddress } from "../route.js";
import { Swipe } from "../parts/swipe.js";
import { texts } from "../texts.js";

/** @typedef {import("../../client/types.js").Chat} Chat */

/**
 * The data that a row of the chat list shows. `preview` is the text of the last message; `isTyping`
 * means that another participant is typing.
 *
 * @typedef {{
 *   chat: Chat,
 *   title: string,
 *   preview: string,
 *   face: {key: string, photo?: string},
 *   isTyping: boolean,
 *   isSelected: boolean,
 * }} ChatRowView
 */

/**
 * @typedef {{
 *   archive: (chat: Chat) => void,
 *   unarchive: (chat: Chat) => void,
 *   hide: (chat: Chat) => void,
 *   openOptions: (chat: Chat) => void,
 * }} ChatActions
 */

const words = texts.chats;

/** A row of the chat list. */
export class ChatRow {
    /** @type {Chat | undefined} */
    #chat;
    #avatar = new Avatar("medium");
    #title = element("span", { class: "chat-title", dir: "auto" });
    #time = element("time", { class: "chat-time" });
    #preview = element("span", { class: "chat-preview", dir: "auto" });
    #badge = element("span", { class: "badge", hidden: true });
    #link = element(
        "a",
        { class: "chat-link" },
        this.#avatar.element,
        element(
            "span",
            { class: "chat-lines" },
            element("span", { class: "chat-line" }, this.#title, this.#time),
            element("span", { class: "chat-line" }, this.#preview, this.#badge),
        ),
    );
    #more = iconButton("more", "", () => this.#act(this.actions.openOptions), "row-more");
    #row = element("div", { class: "chat-row" }, this.#link, this.#more);

    /**
     * @param {ChatActions} actions
     * @param {boolean} isArchive whether the list shows archived chats
     */
    constructor(actions, isArchive) {
        this.actions = actions;
        const swipe = new Swipe(this.#row, isArchive ? this.#archived() : this.#active(), "li");
        this.element = swipe.element;
        onLongPress(this.#row, () => this.#act(actions.openOptions));
    }

    /** @param {ChatRowView} view */
    render({ chat, title, preview, face, isTyping, isSelected }) {
        this.#chat = chat;
        this.element.dataset.id = chat.id;
        this.#avatar.render({ ...face, name: title });
        setText(this.#title, title);
        const at = chat.lastAt ?? chat.createdAt;
        setText(this.#time, formatListTime(at));
        setAttribute(this.#time, "datetime", at);
        setText(this.#preview, isTyping ? words.typing : preview);
        this.#preview.classList.toggle("is-typing", isTyping);
        this.#renderUnread(chat.unread);
        setAttribute(this.#link, "href", chatAddress(chat.id));
        setAttribute(this.#link, "aria-current", isSelected ? "page" : undefined);
        this.#row.classList.toggle("is-selected", isSelected);
        setAttribute(this.#more, "aria-label", words.optionsFor(title));
    }

    /** @param {number} unread */
    #renderUnread(unread) {
        this.#row.classList.toggle("is-unread", unread > 0);
        setShown(this.#badge, unread > 0);
        if (unread === 0) return;
        const spoken = element(
            "span",
            { class: "for-readers" },
            words.unread(unread, formatNumber(unread)),
        );
        const shown = element("span", { "aria-hidden": "true" }, formatBadge(unread));
        if (this.#badge.dataset.count === String(unread)) return;
        this.#badge.dataset.count = String(unread);
        this.#badge.replaceChildren(shown, spoken);
    }

    /** @returns {{trailing: import("../parts/swipe.js").SwipeAction[]}} */
    #active() {
        return {
            trailing: [
                this.#action(words.archive, "archive", "grey", this.actions.archive),
                this.#action(words.delete, "trash", "red", this.actions.hide),
            ],
        };
    }

    #archived() {
        return {
            leading: [this.#action(words.unarchive, "unarchive", "blue", this.actions.unarchive)],
            trailing: [this.#action(words.delete, "trash", "red", this.actions.hide)],
        };
    }

    /**
     * @param {string} title
     * @param {string} icon
     * @param {"blue" | "red" | "grey"} style
     * @param {(chat: Chat) => void} action
     */
    #action(title, icon, style, action) {
        return { title, icon, style, action: () => this.#act(action) };
    }

    /** @param {(chat: Chat) => void} action */
    #act(action) {
        if (this.#chat) action(this.#chat);
    }
}
