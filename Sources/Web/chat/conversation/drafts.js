const draftsMax = 100;
const storageKey = "grapevine.drafts";

/**
 * The user's unsent texts, by conversation. If there are more than 100, the oldest is removed.
 *
 * Drafts survive a reload, and are removed at sign-out. Every access reads `localStorage`, since
 * other tabs of the user also store drafts.
 */
export class Drafts {
    #user;

    /** @param {string} user */
    constructor(user) {
        this.#user = user;
    }

    /** @param {string} conversation */
    of(conversation) {
        return this.#read().get(conversation) ?? "";
    }

    /**
     * @param {string} conversation
     * @param {string} text
     */
    keep(conversation, text) {
        const texts = this.#read();
        if ((texts.get(conversation) ?? "") === text) return;
        texts.delete(conversation);
        if (text !== "") texts.set(conversation, text);
        const [oldest] = texts.keys();
        if (texts.size > draftsMax) texts.delete(oldest);
        try {
            localStorage.setItem(
                storageKey,
                JSON.stringify({ user: this.#user, texts: [...texts] }),
            );
        } catch (error) {
            console.error("grapevine: a draft was not stored:", error);
        }
    }

    /** @returns {Map<string, string>} */
    #read() {
        try {
            const kept = JSON.parse(localStorage.getItem(storageKey) ?? "{}");
            return new Map(kept.user === this.#user ? kept.texts : []);
        } catch {
            return new Map();
        }
    }
}

/** Removes all drafts when the user signs out. */
export function forgetDrafts() {
    localStorage.removeItem(storageKey);
}
