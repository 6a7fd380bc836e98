const draftsMax = 100;
const storageKey = "grapevine.drafts";

/**
 * The texts of a user that are typed and not sent, by conversation; of too many the oldest goes.
 *
 * They survive a reload, and end with the sign-in.
 */
export class Drafts {
    /** @type {Map<string, string>} */
    #texts;
    #user;

    /** @param {string} user */
    constructor(user) {
        this.#user = user;
        this.#texts = new Map(stored(user));
    }

    /** @param {string} conversation */
    of(conversation) {
        return this.#texts.get(conversation) ?? "";
    }

    /**
     * @param {string} conversation
     * @param {string} text
     */
    keep(conversation, text) {
        if (this.of(conversation) === text) return;
        this.#texts.delete(conversation);
        if (text !== "") this.#texts.set(conversation, text);
        const [oldest] = this.#texts.keys();
        if (this.#texts.size > draftsMax) this.#texts.delete(oldest);
        this.#store();
    }

    forget() {
        this.#texts.clear();
        localStorage.removeItem(storageKey);
    }

    #store() {
        try {
            const kept = { user: this.#user, texts: [...this.#texts] };
            localStorage.setItem(storageKey, JSON.stringify(kept));
        } catch (error) {
            console.error("grapevine: drafts were not stored:", error);
        }
    }
}

/**
 * @param {string} user
 * @returns {[string, string][]}
 */
function stored(user) {
    try {
        const kept = JSON.parse(localStorage.getItem(storageKey) ?? "{}");
        return kept.user === user ? kept.texts : [];
    } catch {
        return [];
    }
}
