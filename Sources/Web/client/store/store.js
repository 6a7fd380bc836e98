/** @typedef {import("../types.js").Store} Store */

/**
 * A store in memory, for tests and for pages that may not store anything.
 *
 * @implements {Store}
 */
export class MemoryStore {
    #entries;

    /** @param {Map<string, unknown>} [entries] what tabs of one origin share */
    constructor(entries = new Map()) {
        this.#entries = entries;
    }

    /**
     * @param {string} prefix
     * @returns {Promise<[string, unknown][]>}
     */
    read(prefix) {
        const found = [...this.#entries].filter(([key]) => key.startsWith(prefix));
        return Promise.resolve(found.sort(([a], [b]) => a < b ? -1 : 1));
    }

    /** @param {import("../types.js").Write[]} writes */
    write(writes) {
        for (const { key, value } of writes) {
            if (value === undefined) this.#entries.delete(key);
            else this.#entries.set(key, value);
        }
        return Promise.resolve();
    }

    close() {}
}
