import { iconButton, textButton } from "../parts/button.js";
import { element, setChildren, setText } from "../parts/dom.js";
import { emptyState } from "../parts/empty-state.js";
import { formatListTime } from "../parts/formats.js";
import { KeyedList } from "../parts/keyed-list.js";
import { LoadRetry } from "./load-retry.js";
import { spokenText } from "./message-row.js";
import { RovingFocus } from "../parts/roving-focus.js";
import { chatAddress } from "../route.js";
import { spinner } from "../parts/spinner.js";
import { Swipe } from "../parts/swipe.js";
import { texts } from "../texts.js";

/** @typedef {import("../../client/types.js").Message} Message */
/** @typedef {{message: Message, sender: string}} PinView */

const words = texts.pinnedView;

/** The view of a conversation's pinned messages, the newest pin first. */
export class PinnedView {
    #list = element("ul", { class: "pin-list", "aria-label": words.title });
    #focus = new RovingFocus(this.#list, ".pin-link");
    #spinner = spinner();
    #empty = emptyState("pinOff", words.emptyTitle, words.emptyText);
    #content = element("div", { class: "pane-content" });
    retry;

    /**
     * @param {{back: () => void, unpin: (message: Message) => void}} actions
     * @param {() => void} onLoaded called when loading pins starts or stops failing
     */
    constructor(actions, onLoaded) {
        this.retry = new LoadRetry(onLoaded);
        this.rows = new KeyedList(
            this.#list,
            (/** @type {PinView} */ pin) => pin.message.id,
            () => new PinRow(actions.unpin),
        );
        this.element = element(
            "section",
            { class: "conversation pinned-view", "aria-label": words.title },
            element(
                "header",
                { class: "pane-header" },
                iconButton("back", texts.back, actions.back),
                element("h2", { class: "pane-title", tabindex: -1 }, words.title),
            ),
            this.retry.element,
            this.#content,
        );
    }

    /** @param {{pins: PinView[], isLoading: boolean}} view */
    render({ pins, isLoading }) {
        this.#focus.around(() => this.rows.render(pins));
        const isEmpty = pins.length === 0 && !this.retry.isFailing;
        const otherwise = isLoading ? this.#spinner : this.#empty;
        setChildren(this.#content, isEmpty ? otherwise : this.#list);
    }
}

/** A row for a pinned message. */
class PinRow {
    /** @type {Message | undefined} */
    #message;
    #sender = element("span", { class: "pin-sender", dir: "auto" });
    #time = element("time", { class: "chat-time" });
    #text = element("span", { class: "pin-text", dir: "auto" });
    #link = element(
        "a",
        { class: "pin-link" },
        element("span", { class: "chat-line" }, this.#sender, this.#time),
        this.#text,
    );

    /** @param {(message: Message) => void} unpin */
    constructor(unpin) {
        const act = () => this.#message && unpin(this.#message);
        const button = textButton(words.unpin, act, "quiet");
        const row = element("div", { class: "pin-row" }, this.#link, button);
        const trailing = [{
            title: words.unpin,
            icon: "pinOff",
            style: /** @type {const} */ ("red"),
            action: act,
        }];
        this.element = new Swipe(row, { trailing }, "li").element;
    }

    /** @param {PinView} view */
    render({ message, sender }) {
        this.#message = message;
        this.element.dataset.id = message.id;
        this.#link.href = chatAddress(message.conversation, message.id);
        setText(this.#sender, sender);
        setText(this.#time, formatListTime(message.at));
        setText(this.#text, spokenText(message));
    }
}
