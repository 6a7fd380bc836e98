const draftsMax = 100;

/** Texts that are typed and not sent, by conversation; of too many the oldest goes. */
export class Drafts {
    /** @type {Map<string, string>} */
    #texts = new Map();

    /** @param {string} conversation */
    of(conversation) {
        return this.#texts.get(conversation) ?? "";
    }

    /**
     * @param {string} conversation
     * @param {string} text
     */
    keep(conversation, text) {
        this.#texts.delete(conversation);
        if (text !== "") this.#texts.set(conversation, text);
        const [oldest] = this.#texts.keys();
        if (this.#texts.size > draftsMax) this.#texts.delete(oldest);
    }
}
