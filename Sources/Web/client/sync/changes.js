/** @typedef {import("../types.js").Change} Change */

/** The listeners, and their notifications; equal ones are sent once per event loop iteration. */
export class Changes {
    /** @type {Set<(change: Change) => void>} */
    #listeners = new Set();
    /** @type {Map<string, Change>} */
    #waiting = new Map();
    #filter;

    /** @param {(change: Change) => boolean} isVisible whether to notify listeners of a change */
    constructor(isVisible) {
        this.#filter = isVisible;
    }

    /** @param {(change: Change) => void} listener @returns {() => void} ends the subscription */
    subscribe(listener) {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    }

    /** @param {Change} change */
    add(change) {
        if (this.#waiting.size === 0) queueMicrotask(() => this.#tell());
        this.#waiting.set(JSON.stringify(change), change);
    }

    /** @param {string} conversation a conversation whose row in the chat list changes too */
    addConversation(conversation) {
        this.add({ kind: "conversation", conversation });
        this.add({ kind: "chats" });
    }

    #tell() {
        const changes = [...this.#waiting.values()];
        this.#waiting.clear();
        for (const change of changes) {
            if (!this.#filter(change)) continue;
            for (const listener of [...this.#listeners]) call(listener, change);
        }
    }
}

/** @param {(change: Change) => void} listener @param {Change} change */
function call(listener, change) {
    try {
        listener(change);
    } catch (error) {
        // An exception in one listener must not stop the client or the other listeners.
        console.error("A listener of the client failed:", error);
    }
}
