/** Milliseconds without an event after which a typing indicator expires; at nodes it is 6 s. */
const SHOWN_MILLISECONDS = 7_000;
/** Milliseconds after which a typing notification is repeated while the user keeps typing. */
const REPEAT_MILLISECONDS = 3_000;

/** The typing indicators of all conversations. They exist only while the client is connected. */
export class Typing {
    #parts;
    /**
     * Cancels the expiry timers of indicators, by conversation and user.
     * @type {Map<string, Map<string, () => void>>}
     */
    #typists = new Map();
    /** When the last typing notification was sent, by conversation. @type {Map<string, number>} */
    #told = new Map();

    /**
     * @param {{
     *   clock: import("../types.js").Clock,
     *   post: (method: string, path: string, body: unknown) => void,
     *   isOnline: () => boolean,
     *   onChange: (conversation: string) => void,
     * }} parts
     */
    constructor(parts) {
        this.#parts = parts;
    }

    /**
     * Tells the other participants whether the user is typing.
     *
     * @param {string} conversation
     * @param {boolean} isTyping
     */
    set(conversation, isTyping) {
        if (!this.#parts.isOnline()) return;
        const now = this.#parts.clock.now();
        const told = this.#told.get(conversation);
        const isKnown = isTyping
            ? now < (told ?? -Infinity) + REPEAT_MILLISECONDS
            : told === undefined;
        if (isKnown) return;
        if (isTyping) this.#told.set(conversation, now);
        else this.#told.delete(conversation);
        const path = `/v1/conversations/${encodeURIComponent(conversation)}/typing`;
        this.#parts.post("PUT", path, { on: isTyping });
    }

    /**
     * Clears the user's typing state after a message was sent, since nodes then end it themselves.
     *
     * @param {string} conversation
     */
    onSent(conversation) {
        this.#told.delete(conversation);
    }

    /**
     * @param {string} conversation
     * @param {string} user
     * @param {boolean} isTyping
     */
    onTyping(conversation, user, isTyping) {
        const typists = this.#typists.get(conversation) ?? new Map();
        this.#typists.set(conversation, typists);
        if (!isTyping && !typists.has(user)) return;
        typists.get(user)?.();
        typists.delete(user);
        if (isTyping) {
            const end = () => this.onTyping(conversation, user, false);
            typists.set(user, this.#parts.clock.setTimer(SHOWN_MILLISECONDS, end));
        }
        this.#parts.onChange(conversation);
    }

    /** Clears all typing state after the connection is lost. */
    clear() {
        this.#told.clear();
        for (const [conversation, typists] of [...this.#typists]) {
            for (const end of typists.values()) end();
            this.#typists.delete(conversation);
            if (typists.size > 0) this.#parts.onChange(conversation);
        }
    }

    /** @param {string} conversation */
    users(conversation) {
        return [...this.#typists.get(conversation)?.keys() ?? []].sort();
    }
}
