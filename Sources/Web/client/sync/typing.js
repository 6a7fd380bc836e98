/** Milliseconds after a typing event when its indicator ends; a node ends it after 6 s. */
const SHOWN_MILLISECONDS = 7_000;
/** Milliseconds after which a typing notification is repeated while the user keeps typing. */
const REPEAT_MILLISECONDS = 3_000;

/** The typing indicators of all conversations. They exist only while the client is connected. */
export class Typing {
    #engine;
    /**
     * The functions that cancel the expiry timers of typing indicators, by conversation and user.
     * @type {Map<string, Map<string, () => void>>}
     */
    #typists = new Map();
    /**
     * The time when the client last reported to a node that the user is typing, by conversation.
     * @type {Map<string, number>}
     */
    #told = new Map();

    /** @param {import("../sync/engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    /**
     * Notifies the other participants of a conversation whether the user is typing.
     *
     * @param {string} conversation @param {boolean} isTyping
     */
    set(conversation, isTyping) {
        if (!this.#engine.connection.isOnline) return;
        const now = this.#engine.clock.elapsed();
        const told = this.#told.get(conversation);
        const isKnown = isTyping
            ? now < (told ?? -Infinity) + REPEAT_MILLISECONDS
            : told === undefined;
        if (isKnown) return;
        if (isTyping) this.#told.set(conversation, now);
        else this.#told.delete(conversation);
        const path = `/v1/conversations/${encodeURIComponent(conversation)}/typing`;
        this.#engine.connection.post("PUT", path, { on: isTyping });
    }

    /**
     * Forgets that the user is typing after a message was sent: nodes then end the indicator.
     *
     * @param {string} conversation
     */
    onSent(conversation) {
        this.#told.delete(conversation);
    }

    /** @param {string} conversation @param {string} user @param {boolean} isTyping */
    onTyping(conversation, user, isTyping) {
        const typists = this.#typists.get(conversation) ?? new Map();
        this.#typists.set(conversation, typists);
        if (!isTyping && !typists.has(user)) return;
        typists.get(user)?.();
        typists.delete(user);
        if (isTyping) {
            const end = () => this.onTyping(conversation, user, false);
            typists.set(user, this.#engine.clock.setTimer(SHOWN_MILLISECONDS, end));
        }
        this.#engine.changes.add({ kind: "typing", conversation });
    }

    /** Removes the typing indicators of all users after the connection to the node is lost. */
    clear() {
        this.#told.clear();
        for (const [conversation, typists] of [...this.#typists]) {
            for (const end of typists.values()) end();
            this.#typists.delete(conversation);
            if (typists.size > 0) this.#engine.changes.add({ kind: "typing", conversation });
        }
    }

    /** @param {string} conversation */
    users(conversation) {
        return [...this.#typists.get(conversation)?.keys() ?? []].sort();
    }
}
