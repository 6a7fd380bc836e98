import { iconButton } from "../parts/button.js";
import { Composer } from "./composer.js";
import { element, setAttribute, setShown, setText } from "../parts/dom.js";
import { EditBar } from "./edit-bar.js";
import { emptyState } from "../parts/empty-state.js";
import { formatBadge, formatNames, formatTime } from "../parts/formats.js";
import { LoadRetry } from "./load-retry.js";
import { MessageList } from "./message-list.js";
import { spinner } from "../parts/spinner.js";
import { texts } from "../texts.js";
import { makeTimeline } from "./timeline.js";
import { withSystemLines } from "./system-lines.js";
import { TypingIndicator } from "./typing-indicator.js";

/**
 * @typedef {import("../../client/types.js").Message} Message
 * @typedef {import("../../client/types.js").Item} Item
 * @typedef {import("../../client/types.js").Mark} Mark
 * @typedef {import("../../client/types.js").MemberChange} MemberChange
 * @typedef {import("./message-row.js").MessageActions} MessageActions
 * @typedef {import("./message-row.js").MessageRowView} MessageRowView
 */

/**
 * The data that is shown for a conversation. `items` has each of the user's action items under the
 * item's own id, and under the id of its message if it belongs to one; `firstNew` is the id of the
 * first unread message.
 *
 * @typedef {{
 *   id: string,
 *   title: string,
 *   me: string | undefined,
 *   others: string[],
 *   messages: Message[],
 *   firstNew?: string,
 *   marks: Mark[],
 *   changes: MemberChange[],
 *   items: Map<string, Item>,
 *   person: (user: string) => {name: string, photo?: string},
 *   typing: string[],
 *   isLoaded: boolean,
 *   hasEarlier: boolean,
 *   edit?: {message: string, text: string, isSaving: boolean},
 * }} ConversationView
 */

/**
 * @typedef {MessageActions & {
 *   back: () => void,
 *   openPins: () => void,
 *   openChatOptions: () => void,
 *   loadEarlier: () => Promise<void>,
 *   send: (text: string) => void,
 *   sendFile: (file: File) => void,
 *   sendVoice: (file: Blob, duration: string) => void,
 *   setTyping: (isTyping: boolean) => void,
 *   saveEdit: (text: string) => void,
 *   cancelEdit: () => void,
 * }} ConversationActions
 */

const words = texts.conversation;

/** The view component of a conversation: header, messages, edit bar and composer. */
export class Conversation {
    #shown = "";
    #count = 0;
    /** The number of messages that have arrived below the visible part of the list. */
    #arrived = 0;
    #lastKey = "";

    #title = element("h2", { class: "pane-title", dir: "auto", tabindex: -1 });
    #people = element("p", { class: "pane-subtitle", dir: "auto" });
    #spinner = spinner();
    #empty = emptyState("bubble", words.empty, words.emptyText);
    #typing = new TypingIndicator();
    #endBadge = element("span", { class: "badge", hidden: true, "aria-hidden": "true" });
    #isLoaded = false;
    /**
     * The requests to load the conversation (`retry`) and earlier messages (`earlier`), which are
     * repeated until they succeed.
     */
    retry = new LoadRetry(() => this.#showSpinner());
    earlier = new LoadRetry(() => {});

    /** @param {ConversationActions} actions */
    constructor(actions) {
        this.list = new MessageList(words.messages, actions, {
            onEarlier: () => this.earlier.ask(actions.loadEarlier),
            onEndChange: () => this.#showEnd(),
        });
        this.composer = new Composer(actions);
        this.editBar = new EditBar({ save: actions.saveEdit, cancel: actions.cancelEdit });
        this.end = iconButton("down", words.toEnd, () => this.#scrollToEnd(), "to-end");
        this.end.append(this.#endBadge);
        this.element = element(
            "section",
            { class: "conversation" },
            element(
                "header",
                { class: "pane-header" },
                iconButton("back", texts.back, actions.back, "pane-back"),
                element("div", { class: "pane-titles" }, this.#title, this.#people),
                iconButton("pin", words.pinned, actions.openPins),
                iconButton("more", words.options, actions.openChatOptions),
            ),
            element(
                "div",
                { class: "messages-place" },
                this.list.element,
                this.#spinner,
                this.#empty,
                element(
                    "div",
                    { class: "load-retries" },
                    this.retry.element,
                    this.earlier.element,
                ),
                this.end,
            ),
            this.#typing.element,
            this.editBar.element,
            this.composer.element,
        );
    }

    /** @param {ConversationView} view */
    render(view) {
        if (view.id !== this.#shown) this.#begin(view.id);
        setText(this.#title, view.title);
        setAttribute(this.element, "aria-label", view.title);
        const names = view.others.map((user) => view.person(user).name);
        const all = formatNames([texts.message.you, ...names]);
        setText(this.#people, names.length > 0 ? all : words.alone);
        const rows = makeRows(view);
        this.#countArrived(rows);
        this.list.render({ rows, hasEarlier: view.hasEarlier });
        this.#isLoaded = view.isLoaded;
        this.#showSpinner();
        setShown(this.#empty, view.isLoaded && rows.length === 0);
        setAttribute(this.list.element, "aria-busy", String(!view.isLoaded));
        this.#typing.render(view.typing);
        this.editBar.render(view.edit);
        this.#showEnd();
    }

    #showSpinner() {
        const isWaiting = !this.#isLoaded && this.#count === 0;
        setShown(this.#spinner, isWaiting && !this.retry.isFailing);
    }

    /** @param {string} id */
    #begin(id) {
        this.#shown = id;
        this.#arrived = 0;
        this.#count = 0;
        this.#lastKey = "";
        this.list.reset();
    }

    /** @param {MessageRowView[]} rows */
    #countArrived(rows) {
        const last = rows.at(-1);
        const isNew = this.#count > 0 && rows.length > this.#count && last?.key !== this.#lastKey;
        if (isNew && !this.list.isAtEnd) this.#arrived += rows.length - this.#count;
        this.#count = rows.length;
        this.#lastKey = last?.key ?? "";
    }

    #scrollToEnd() {
        this.list.scrollToEnd();
        this.#showEnd();
    }

    #showEnd() {
        const { isAtEnd } = this.list;
        if (isAtEnd) this.#arrived = 0;
        setShown(this.end, !isAtEnd);
        setShown(this.#endBadge, this.#arrived > 0);
        const count = formatBadge(this.#arrived);
        setText(this.#endBadge, count);
        setAttribute(
            this.end,
            "aria-label",
            this.#arrived > 0 ? words.toEndNew(count) : words.toEnd,
        );
    }
}

/**
 * @param {ConversationView} view
 * @returns {MessageRowView[]}
 */
function makeRows(view) {
    const timeline = makeTimeline({ ...view, messages: withSystemLines(view) });
    const receipt = findReceipt(view);
    return timeline.map((row, index) => {
        const { message } = row;
        return {
            ...row,
            sender: view.person(message.from),
            item: view.items.get(message.id) ?? view.items.get(message.item ?? ""),
            receipt: receipt?.message === message.id ? receipt.text : undefined,
            position: index + 1,
            count: timeline.length,
        };
    });
}

/**
 * Returns the line under the user's newest message, "Delivered" or "Read" with the time; undefined
 * if not all other participants have received the message.
 *
 * @param {ConversationView} view
 * @returns {{message: string, text: string} | undefined}
 */
function findReceipt({ messages, marks, me }) {
    const newest = messages.findLast((message) => message.isMine && message.type !== "system");
    if (!newest || newest.state !== "read" && newest.state !== "delivered") return undefined;
    const isRead = newest.state === "read";
    const times = marks.filter((mark) => mark.user !== me)
        .map((mark) => isRead ? mark.readAt : mark.deliveredAt ?? mark.readAt)
        .filter((at) => at !== undefined).sort();
    const at = times.at(-1);
    const state = texts.message.states[newest.state];
    return { message: newest.id, text: at ? `${state} ${formatTime(at)}` : state };
}
