const draftsMax = 100;
const storageKey = "grapevine.drafts";

/**
 * The texts of a user that are typed and not sent, by conversation; of too many the oldest goes.
 *
 * They survive a reload, and end with a sign-out. Each is read and written where it is stored,
 * since other tabs of the user have drafts, too.
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

/** Forgets all drafts, when the user signs out. */
export function forgetDrafts() {
    localStorage.removeItem(storageKey);
}
