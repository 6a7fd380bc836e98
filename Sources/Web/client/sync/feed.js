import { echoOf } from "../outbox/echo.js";
import { ITEMS } from "../outbox/item-actions.js";

/** @import { Changes } from "./changes.js" */
/** @import { Connection } from "../network/connection.js" */
/** @import { Loader } from "./loader.js" */
/** @import { Marks } from "./marks.js" */
/** @import { Notices } from "./notices.js" */
/** @import { Outbox } from "../outbox/outbox.js" */
/** @import { Persistence } from "../store/persistence.js" */
/** @import { Screen } from "./screen.js" */
/** @import { Session } from "../network/session.js" */
/** @import { Typing } from "./typing.js" */

/** @typedef {import("../types.js").Operation} Operation */

/**
 * The dispatcher of events and responses from the cluster. It applies events to the confirmed state
 * (the data that nodes have reported). After an event, a response or a change of the connection, it
 * notifies the outbox, the loader, the local store and the views.
 */
export class Feed {
    #parts;

    /**
     * @param {{
     *   changes: Changes,
     *   connection: Connection,
     *   loader: Loader,
     *   marks: Marks,
     *   notices: Notices,
     *   outbox: Outbox,
     *   persistence: Persistence,
     *   screen: Screen,
     *   session: Session,
     *   typing: Typing,
     * }} parts
     */
    constructor(parts) {
        this.#parts = parts;
    }

    get #confirmed() {
        return this.#parts.persistence.confirmed;
    }

    get #user() {
        return this.#parts.session.user ?? "";
    }

    /** @param {any} event */
    onEvent(event) {
        const { changes, loader, notices, outbox, persistence, typing } = this.#parts;
        const { by, conversation, kind } = event;
        if (kind === "typing") {
            if (by !== this.#user) typing.onTyping(conversation, by, event.on);
            return;
        }
        const { isNew } = this.#confirmed.apply(event);
        outbox.onEvent(event);
        if (kind === "action") changes.add({ kind: "items" });
        else if (kind === "profile") changes.add({ kind: "profiles" });
        else this.#onConversation(conversation);
        if (kind === "message" && event.from !== this.#user) {
            typing.onTyping(conversation, event.from, false);
            this.#markDelivered(conversation, event.id, isNew);
        }
        notices.onEvent(event, isNew, this.#user);
        loader.schedule();
        persistence.schedule();
    }

    /**
     * @param {string} token
     * @param {boolean} isResumed
     */
    onWatching(token, isResumed) {
        const { loader, persistence, screen } = this.#parts;
        if (!isResumed) {
            // The event stream was not resumed, so events were missed and all data is loaded again;
            // the page shows the old data until the responses arrive.
            if (this.#confirmed.isLoaded) persistence.reset(this.#user);
            this.#confirmed.token = token;
        }
        queueMicrotask(() => {
            if (!this.#confirmed.isLoaded) loader.loadLists();
            loader.schedule();
            for (const id of screen.open) {
                if (!this.#confirmed.conversation(id).isLoaded) loader.loadConversation(id);
            }
        });
    }

    onStatus() {
        const { changes, connection, marks, outbox, screen, typing } = this.#parts;
        if (connection.isOnline) {
            outbox.onOnline();
            marks.schedule();
            screen.tellViewing();
        } else {
            typing.clear();
        }
        changes.add({ kind: "connection" });
    }

    /**
     * @param {string} [conversation] the conversation that was loaded; if omitted, all
     * conversations
     */
    onLoaded(conversation) {
        const { changes, outbox, persistence } = this.#parts;
        outbox.release();
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

    /** @param {Operation} operation an operation that was added, acknowledged or removed */
    onOperation({ action, lane }) {
        const { changes } = this.#parts;
        if (lane === ITEMS) changes.add({ kind: "items" });
        else if (action.kind === "setProfile") changes.add({ kind: "profiles" });
        else this.#onConversation(lane);
    }

    /**
     * Reloads the object that an acknowledged operation changed, since no event has reported the
     * change in time.
     *
     * @param {Operation} operation
     */
    onOverdue({ acknowledged, action, at }) {
        const confirmed = this.#confirmed;
        const echo = echoOf(action, acknowledged?.at ?? at, confirmed.user);
        if (echo) confirmed.apply(echo);
        if ("conversation" in action) {
            confirmed.staleRows.add(action.conversation);
            confirmed.staleHistories.add(action.conversation);
            this.#parts.loader.schedule();
        } else {
            this.#parts.loader.loadLists();
        }
    }

    /** @param {string} conversation */
    #onConversation(conversation) {
        const { changes, screen } = this.#parts;
        changes.addConversation(conversation);
        if (screen.shows(conversation)) screen.markRead(conversation);
    }

    /**
     * @param {string} conversation
     * @param {string} message
     * @param {boolean} isNew
     */
    #markDelivered(conversation, message, isNew) {
        const { marks, outbox, screen } = this.#parts;
        // A message on screen is marked as read, which implies its delivery. Of several tabs, only
        // the tab that sends operations reports deliveries.
        if (isNew && !screen.shows(conversation) && outbox.isSender) {
            marks.setDelivered(conversation, message);
        }
    }
}
