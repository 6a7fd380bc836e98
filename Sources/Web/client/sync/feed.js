import { ITEMS } from "../outbox/lanes.js";

/** @import { Watching } from "../network/connection.js" */
/** @import { Operation } from "../types.js" */
/** @import { StateUpdate } from "../state/confirmed.js" */

/** The number of messages from which on those of a chat that is not open are trimmed. */
const MESSAGES_MAX = 1_000;
/** The edit window in milliseconds until a node has told its own. */
const EDIT_MILLISECONDS = 15 * 60_000;

/**
 * The dispatcher of events and responses from the cluster. An event is applied to the confirmed
 * state; the outbox, the loader, the local store and the views are then notified.
 */
export class Feed {
    #engine;
    /** Whether the events are present ones, not those that the client has missed. */
    isCaughtUp = false;
    editWindow = EDIT_MILLISECONDS;

    /** @param {import("./engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    get #confirmed() {
        return this.#engine.persistence.confirmed;
    }

    get #user() {
        return this.#engine.session.user ?? "";
    }

    /** @param {any} event */
    onEvent(event) {
        const { changes, loader, notices, persistence, screen, typing } = this.#engine;
        const { by, conversation, kind } = event;
        if (kind === "level") {
            this.isCaughtUp = true;
            this.#confirmed.onLevel();
        }
        if (kind === "level" || kind === "heartbeat") return;
        if (kind === "typing") {
            if (by !== this.#user) typing.onTyping(conversation, by, event.on);
            return;
        }
        const { isNew } = this.#confirmed.apply(event);
        if (kind === "action") changes.add({ kind: "items" });
        else if (kind === "profile") changes.add({ kind: "profiles" });
        else {
            if (!screen.isOpen(conversation)) {
                this.#confirmed.conversation(conversation).trim(MESSAGES_MAX);
            }
            this.#onConversation(conversation);
        }
        if (kind === "message" && event.from !== this.#user) {
            typing.onTyping(conversation, event.from, false);
            this.#markDelivered(conversation, event, isNew);
        }
        notices.onEvent(event, isNew && this.isCaughtUp, this.#user);
        loader.schedule();
        persistence.schedule();
    }

    /** @param {Watching} watching @param {boolean} isResumed */
    onWatching({ editWindow, node, token }, isResumed) {
        const { loader, persistence, screen } = this.#engine;
        this.editWindow = editWindow;
        this.isCaughtUp = false;
        if (!isResumed) {
            // Events were missed, so all data is loaded again; the page shows old data until then.
            if (this.#confirmed.token !== undefined) persistence.reset(this.#user);
            this.#confirmed.token = token;
        }
        this.#confirmed.onStream(node);
        queueMicrotask(() => {
            loader.schedule();
            if (!this.#confirmed.isLoaded) loader.loadLists();
            for (const id of screen.open) {
                if (!this.#confirmed.conversation(id).isLoaded) loader.loadConversation(id);
            }
        });
    }

    onStatus() {
        const { changes, connection, marks, outbox, screen, typing } = this.#engine;
        if (connection.isOnline) {
            outbox.onOnline();
            marks.schedule();
            screen.tellViewing();
        } else {
            typing.clear();
        }
        changes.add({ kind: "connection" });
    }

    /** @param {string} [conversation] the loaded conversation; if omitted, all conversations */
    onLoaded(conversation) {
        const { changes, persistence } = this.#engine;
        if (conversation) {
            this.#onConversation(conversation);
        } else {
            for (const id of this.#confirmed.conversations.keys()) this.#onConversation(id);
            for (const kind of /** @type {const} */ (["chats", "items", "profiles"])) {
                changes.add({ kind });
            }
        }
        persistence.schedule();
    }

    /** @param {Operation} operation an operation that was added or has ended */
    onOperation({ action, lane }) {
        const { changes } = this.#engine;
        if (lane === ITEMS) changes.add({ kind: "items" });
        else if (action.kind === "setProfile") changes.add({ kind: "profiles" });
        else this.#onConversation(lane);
    }

    /**
     * Merges an action of the user that a node has accepted.
     *
     * @param {StateUpdate} consequence @param {string} [token] the token of the node's answer
     */
    onAccepted(consequence, token) {
        this.#confirmed.accept(consequence, token);
        this.#engine.loader.schedule();
    }

    /** @param {string} conversation */
    #onConversation(conversation) {
        const { changes, screen } = this.#engine;
        changes.addConversation(conversation);
        if (screen.shows(conversation)) screen.markRead(conversation);
    }

    /** @param {string} conversation @param {any} message @param {boolean} isNew */
    #markDelivered(conversation, message, isNew) {
        const { marks, outbox, screen } = this.#engine;
        // Reading implies delivery. Of several tabs, the one that sends operations reports it.
        if (isNew && !screen.shows(conversation) && outbox.isSender) {
            marks.setDelivered(conversation, message.id);
        }
    }
}
