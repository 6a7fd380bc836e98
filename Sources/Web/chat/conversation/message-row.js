import { Avatar } from "../parts/avatar.js";
import { iconButton } from "../parts/button.js";
import { element, setAttribute, setChildren, setShown, setText } from "../parts/dom.js";
import { formatDay, formatTime, formatWhole } from "../parts/formats.js";
import { icon } from "../parts/icons.js";
import { onLongPress } from "../parts/long-press.js";
import { contentKind, makeContent } from "./message-content.js";
import { Swipe } from "../parts/swipe.js";
import { isSystemLine } from "./system-lines.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/types.js").Message} Message
 * @typedef {import("../../client/types.js").Item} Item
 * @typedef {import("./message-content.js").Content} Content
 * @typedef {import("./message-content.js").ContentActions} ContentActions
 */

/**
 * The data that a message row shows.
 *
 * `receipt` is the "Delivered" or "Read" line under the newest message of the signed-in user.
 * `item` is the action item of the signed-in user that belongs to the message.
 *
 * @typedef {import("./timeline.js").TimelineRow & {
 *   sender: {name: string, photo?: string},
 *   item?: Item,
 *   receipt?: string,
 *   position: number,
 *   count: number,
 * }} MessageRowView
 */

/**
 * @typedef {ContentActions & {
 *   openOptions: (message: Message) => void,
 *   openHistory: (message: Message) => void,
 *   openDetails: (message: Message) => void,
 *   deleteForMe: (message: Message) => void,
 * }} MessageActions
 */

/** The icons for the delivery states of the signed-in user's own messages. */
const stateIcons = {
    waiting: "clock",
    sent: "sent",
    delivered: "delivered",
    read: "delivered",
};

/**
 * A row of a conversation: a message bubble, below a day heading if the message is the first of its
 * day, and below the "New" line if it is the first unread message. A row that is scrolled out of
 * view is reused for another message.
 */
export class MessageRow {
    /** @type {MessageRowView | undefined} */
    view;
    /** @type {Content | undefined} */
    #content;
    #kind = "";
    #state = "";

    #day = element("div", { class: "day", hidden: true }, element("span"));
    #newLine = element(
        "div",
        { class: "new-line", hidden: true },
        element("span", {}, texts.conversation.newLine),
    );
    #avatar = new Avatar("small");
    #name = element("span", { class: "sender", dir: "auto" });
    #pin = element(
        "span",
        { class: "meta-icon", role: "img", "aria-label": texts.message.pinned, hidden: true },
        icon("pin"),
    );
    #item = element(
        "span",
        { class: "meta-icon", role: "img", "aria-label": texts.message.hasItem, hidden: true },
        icon("item"),
    );
    #time = element("time", { class: "time" });
    #edited = element("button", {
        type: "button",
        class: "edited",
        title: texts.message.editedHint,
        hidden: true,
        onclick: () => this.view && this.actions.openHistory(this.view.message),
    }, texts.message.edited);
    #mark = element("button", {
        type: "button",
        class: "mark",
        hidden: true,
        onclick: () => this.view && this.actions.openDetails(this.view.message),
    });
    #meta = element(
        "span",
        { class: "meta" },
        this.#pin,
        this.#item,
        this.#time,
        this.#edited,
        this.#mark,
    );
    #receipt = element("span", { class: "receipt", hidden: true });
    #bubble = element("div", { class: "bubble" }, this.#meta);
    #more = iconButton("more", texts.message.open, () => this.#openOptions(), "row-more");
    #message = element(
        "div",
        { class: "message" },
        this.#avatar.element,
        element(
            "div",
            { class: "message-body" },
            this.#name,
            element("div", { class: "bubble-line" }, this.#bubble, this.#more),
            this.#receipt,
        ),
    );

    /** @param {MessageActions} actions */
    constructor(actions) {
        this.actions = actions;
        const swipe = new Swipe(this.#message, {
            trailing: [{
                title: texts.options.deleteForMe,
                icon: "trash",
                style: "red",
                action: () => this.view && actions.deleteForMe(this.view.message),
            }],
        });
        this.swipe = swipe;
        this.element = element(
            "div",
            { class: "message-row", role: "article", tabindex: -1 },
            this.#day,
            this.#newLine,
            swipe.element,
        );
        onLongPress(this.#message, () => this.#openOptions());
        this.element.addEventListener("keydown", (event) => this.#onKey(event));
    }

    /** @param {MessageRowView} view */
    render(view) {
        const { message } = view;
        if (this.view && this.view.key !== view.key) this.swipe.close();
        this.view = view;
        this.element.dataset.id = message.id;
        this.#renderFrame(view);
        this.#renderContent(view);
        this.#renderMeta(message);
        setShown(this.#item, view.item !== undefined && message.type !== "action");
        setAttribute(this.element, "aria-posinset", view.position);
        setAttribute(this.element, "aria-setsize", view.count);
        setAttribute(this.element, "aria-label", this.#label(view));
    }

    /**
     * Sets whether the Tab key reaches the row and its controls; it reaches only one row of the
     * list.
     *
     * @param {boolean} isActive
     */
    setActive(isActive) {
        const index = isActive ? 0 : -1;
        this.element.tabIndex = index;
        for (const control of this.#message.querySelectorAll("button, input, a")) {
            if (control instanceof HTMLElement) control.tabIndex = index;
        }
    }

    /** @param {MessageRowView} view */
    #renderFrame({ message, day, isFirstNew, startsGroup, endsGroup, sender, receipt }) {
        setShown(this.#day, day !== undefined);
        if (day && this.#day.firstElementChild) {
            setText(this.#day.firstElementChild, formatDay(day));
        }
        setShown(this.#newLine, isFirstNew);
        const classes = this.#message.classList;
        this.swipe.isLocked = isSystemLine(message);
        classes.toggle("mine", message.isMine);
        classes.toggle("system", message.type === "system");
        classes.toggle("starts-group", startsGroup);
        classes.toggle("ends-group", endsGroup);
        classes.toggle("waiting", message.state === "waiting");
        setShown(this.#name, !message.isMine && startsGroup);
        setText(this.#name, sender.name);
        this.#avatar.render({ key: message.from, name: sender.name, photo: sender.photo });
        setText(this.#receipt, receipt ?? "");
        setShown(this.#receipt, receipt !== undefined);
    }

    /** @param {MessageRowView} view */
    #renderContent({ message, sender, item }) {
        const kind = contentKind(message);
        if (!this.#content || kind !== this.#kind) {
            this.#kind = kind;
            this.#content = makeContent(kind, this.actions);
            setChildren(this.#bubble, this.#content.element, this.#meta);
            this.#bubble.dataset.kind = kind;
        }
        this.#content.render({ message, sender: sender.name, item });
        // A text is aligned by its own direction, independently of the page's direction.
        const side = this.#content.element.matches(":dir(rtl)") ? "right" : "left";
        this.#bubble.style.textAlign = message.type === "system" ? "" : side;
    }

    /** @param {Message} message */
    #renderMeta(message) {
        setText(this.#time, formatTime(message.at));
        setAttribute(this.#time, "datetime", message.at);
        setAttribute(this.#time, "title", formatWhole(message.at));
        setShown(this.#edited, message.edited !== undefined && !message.deletedForEveryone);
        setShown(this.#pin, message.pinnedAt !== undefined && !message.deletedForEveryone);
        const hasMark = message.isMine && message.type !== "system";
        setShown(this.#mark, hasMark);
        if (!hasMark || this.#state === message.state) return;
        this.#state = message.state;
        this.#mark.dataset.state = message.state;
        setChildren(this.#mark, icon(stateIcons[message.state]));
        setAttribute(this.#mark, "aria-label", texts.message.states[message.state]);
        setAttribute(this.#mark, "title", texts.message.states[message.state]);
    }

    /** @param {MessageRowView} view */
    #label({ message, sender }) {
        const name = message.isMine ? texts.message.you : sender.name;
        return `${name}, ${formatTime(message.at)}: ${spokenText(message)}`;
    }

    #openOptions() {
        if (this.view && this.view.message.type !== "system") {
            this.actions.openOptions(this.view.message);
        }
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        if (event.target !== this.element) return;
        const isMenu = event.key === "ContextMenu" || event.key === "F10" && event.shiftKey;
        if (event.key !== "Enter" && !isMenu) return;
        event.preventDefault();
        this.#openOptions();
    }
}

/**
 * Returns a message as plain text, for screen readers and previews.
 *
 * @param {Message} message
 */
export function spokenText(message) {
    if (message.deletedForEveryone) return texts.message.deleted;
    const { photo, voice } = texts.message;
    if (message.type === "image") return message.text ? `${photo}: ${message.text}` : photo;
    if (message.type === "voice") return message.text ? `${voice}, ${message.text}` : voice;
    if (message.type === "action") return `${texts.message.actionItem}: ${message.text}`;
    return message.text;
}
