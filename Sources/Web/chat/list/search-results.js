import { ChatRow } from "./chat-row.js";
import { element, setChildren, setShown, setText } from "../parts/dom.js";
import { emptyState } from "../parts/empty-state.js";
import { formatListTime, formatNumber } from "../parts/formats.js";
import { KeyedList } from "../parts/keyed-list.js";
import { spokenText } from "../conversation/message-row.js";
import { chatAddress } from "../route.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/types.js").Message} Message
 * @typedef {import("./chat-row.js").ChatActions} ChatActions
 * @typedef {import("./chat-row.js").ChatRowView} ChatRowView
 */
/** @typedef {{message: Message, sender: string, title: string}} MessageResult */

const words = texts.search;
/**
 * The maximum number of characters before the first match that an excerpt shows in full. If there
 * are more, the excerpt may begin at a later word.
 */
const leadMax = 12;

/** The list of search results: chats and messages. */
export class SearchResults {
    #chatList = element("ul", { class: "chat-list", "aria-label": words.chats });
    #messageList = element("ul", { class: "result-list", "aria-label": words.messages });
    #chatHeading = element("h3", { class: "result-heading" }, words.chats);
    #messageHeading = element("h3", { class: "result-heading" }, words.messages);
    #empty = emptyState("search", words.emptyTitle, "");
    #count = element("p", { class: "for-readers", role: "status" });
    element = element("div", { class: "chat-list-place" });
    #messages = new KeyedList(
        this.#messageList,
        (/** @type {MessageResult & {words: string}} */ result) => result.message.id,
        () => new ResultRow(),
    );

    /** @param {ChatActions} actions */
    constructor(actions) {
        this.chats = new KeyedList(
            this.#chatList,
            (/** @type {ChatRowView} */ view) => view.chat.id,
            () => new ChatRow(actions, false),
        );
    }

    /** @param {{words: string, chats: ChatRowView[], messages: MessageResult[]}} view */
    render(view) {
        this.chats.render(view.chats);
        this.#messages.render(view.messages.map((result) => ({ ...result, words: view.words })));
        for (const part of [this.#chatHeading, this.#chatList]) {
            setShown(part, view.chats.length > 0);
        }
        for (const part of [this.#messageHeading, this.#messageList]) {
            setShown(part, view.messages.length > 0);
        }
        const text = this.#empty.querySelector(".empty-text");
        if (text) setText(text, words.emptyText(view.words));
        const count = view.chats.length + view.messages.length;
        setText(this.#count, words.results(count, formatNumber(count)));
        if (count === 0) return setChildren(this.element, this.#count, this.#empty);
        setChildren(
            this.element,
            this.#count,
            this.#chatHeading,
            this.#chatList,
            this.#messageHeading,
            this.#messageList,
        );
    }
}

/** A row for a message in the search results. */
class ResultRow {
    #title = element("span", { class: "chat-title", dir: "auto" });
    #time = element("time", { class: "chat-time" });
    #text = element("span", { class: "chat-preview", dir: "auto" });
    #link = element(
        "a",
        { class: "chat-link" },
        element(
            "span",
            { class: "chat-lines" },
            element("span", { class: "chat-line" }, this.#title, this.#time),
            this.#text,
        ),
    );
    element = element("li", { class: "chat-row" }, this.#link);

    /** @param {MessageResult & {words: string}} result */
    render({ message, sender, title, words }) {
        this.#link.href = chatAddress(message.conversation, message.id);
        setText(this.#title, title);
        setText(this.#time, formatListTime(message.at));
        setText(this.#text, `${sender}: ${excerpt(spokenText(message), words)}`);
    }
}

/**
 * Returns an excerpt of a text that starts shortly before the first match.
 *
 * @param {string} text
 * @param {string} words
 */
function excerpt(text, words) {
    const searched = text.toLowerCase();
    const places = words.toLowerCase().split(/\s+/).map((word) => searched.indexOf(word));
    const first = Math.min(...places.filter((place) => place >= 0));
    if (first <= leadMax || first === Infinity) return text;
    const start = text.lastIndexOf(" ", first - leadMax / 2) + 1;
    return start > 0 ? `…${text.slice(start)}` : text;
}
