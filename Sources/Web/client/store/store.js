/** @typedef {import("../types.js").Store} Store */

/** An in-memory store, for tests and pages without persistent storage. @implements {Store} */
export class MemoryStore {
    #entries;

    /** @param {Map<string, unknown>} [entries] the entries, shared by the tabs of one origin */
    constructor(entries = new Map()) {
        this.#entries = entries;
    }

    /** @param {string} prefix @returns {Promise<[string, unknown][]>} */
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
