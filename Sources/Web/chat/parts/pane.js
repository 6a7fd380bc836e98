import { attempt } from "../dialogs/alert.js";
import { ConversationPage } from "../conversation/conversation-page.js";
import { element, setChildren } from "./dom.js";
import { emptyState } from "./empty-state.js";
import { PinnedView } from "../conversation/pinned-view.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../conversation/conversation-page.js").ConversationContext} ConversationContext
 * @typedef {import("../route.js").Route} Route
 */

/** The pane beside the sidebar: a conversation, its pinned messages, or a placeholder. */
export class Pane {
    conversation;
    #pinned;
    /** The id of the chat whose pinned messages are being loaded. @type {string | undefined} */
    #pinsLoading;
    #nothing = emptyState("grapes", texts.app, texts.conversation.choose);
    element = element("div", { class: "pane" });

    /**
     * @param {ConversationContext} context
     * @param {() => void} onLoaded called after pinned messages were loaded or failed to load
     */
    constructor(context, onLoaded) {
        this.context = context;
        this.client = context.client;
        this.onLoaded = onLoaded;
        this.conversation = new ConversationPage(this.context);
        this.#pinned = new PinnedView({
            back: () => history.back(),
            unpin: ({ conversation, id }) => attempt(this.client.unpin(conversation, id)),
        }, this.onLoaded);
    }

    /** Opens the conversation or the pinned messages that a route names. @param {Route} route */
    open(route) {
        if (route.view === "chat") this.conversation.open(route.chat, route.message);
        else if (route.view !== "archived") this.conversation.close();
        if (route.view === "pins") this.#loadPins(route.chat);
        else this.#pinned.retry.forget();
    }

    /** @param {Route} route */
    render(route) {
        if (route.view === "pins") this.#renderPins(route.chat);
        else if (this.conversation.id) {
            // The element is attached before it is rendered, since scrolling needs its height.
            setChildren(this.element, this.conversation.element);
            this.conversation.render();
        } else setChildren(this.element, this.#nothing);
    }

    /** Closes the conversation and stops loading pins when the user signs out. */
    dispose() {
        this.conversation.dispose();
        this.#pinned.retry.forget();
    }

    /** Moves the focus to the pane's title. */
    focus() {
        const title = this.element.querySelector(".pane-title");
        if (title instanceof HTMLElement) title.focus({ preventScroll: true });
    }

    /** @param {string} chat */
    #renderPins(chat) {
        const { pins } = this.client.conversation(chat);
        const { people } = this.context;
        this.#pinned.render({
            pins: pins.map((message) => ({ message, sender: people.sender(message) })),
            isLoading: this.#pinsLoading === chat,
        });
        setChildren(this.element, this.#pinned.element);
    }

    /** @param {string} chat */
    #loadPins(chat) {
        this.#pinned.retry.ask(async () => {
            this.#pinsLoading = chat;
            try {
                await this.client.loadPins(chat);
            } finally {
                this.#pinsLoading = undefined;
                this.onLoaded();
            }
        });
    }
}
