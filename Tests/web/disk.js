/** @typedef {import("../../Sources/Web/client/types.js").Store} Store */
/** @typedef {import("../../Sources/Web/client/types.js").SyncStore} SyncStore */
/** @typedef {import("../../Sources/Web/client/types.js").Write} Write */

/** The most milliseconds of a transaction. */
const TRANSACTION_MILLISECONDS_MAX = 40;
/** Milliseconds of which a machine that fails may forget what was removed from the small store. */
const FORGOTTEN_MILLISECONDS = 3_000;

/**
 * What the tabs of one browser store: as in a browser, a transaction takes its time, those of all
 * tabs keep their order, and a tab that is closed takes back what it had begun, or leaves it to be
 * done without hearing of it.
 */
export class ModelDisk {
    /** @type {Map<string, unknown>} */
    entries = new Map();
    /** @type {Map<string, string>} */
    texts = new Map();
    /** Operations that were over, and were stored anew. @type {string[]} */
    returned = [];
    #over = new Set();
    /** What was removed from the small store. @type {{at: number, key: string, text: string}[]} */
    #removed = [];
    /** @type {(() => void)[]} */
    #queue = [];

    /**
     * @param {import("./clock.js").VirtualClock} clock
     * @param {() => number} random
     */
    constructor(clock, random) {
        this.clock = clock;
        this.random = random;
    }

    open() {
        return new TabDisk(this);
    }

    /** Has the small store be as it was a moment ago, but for what was added. */
    fail() {
        const since = this.clock.now() - FORGOTTEN_MILLISECONDS;
        for (const { at, key, text } of this.#removed) if (at >= since) this.texts.set(key, text);
        this.#removed = [];
    }

    /** @param {string} key */
    remove(key) {
        const text = this.texts.get(key);
        if (text !== undefined) this.#removed.push({ at: this.clock.now(), key, text });
        this.texts.delete(key);
    }

    /**
     * Adds a transaction behind those that have begun.
     *
     * @param {number} milliseconds
     * @param {() => void} run
     */
    begin(milliseconds, run) {
        const begin = () => this.clock.setTimer(milliseconds, () => this.#end(run));
        this.#queue.push(begin);
        if (this.#queue.length === 1) begin();
    }

    /** @param {() => void} run */
    #end(run) {
        run();
        this.#queue.shift();
        this.#queue[0]?.();
    }

    /** @param {Write[]} writes */
    write(writes) {
        for (const { key, value } of structuredClone(writes)) {
            const isOperation = key.startsWith("operation/");
            if (value === undefined) {
                if (this.entries.delete(key) && isOperation) this.#over.add(key);
                continue;
            }
            // The next sender stores again what was acknowledged, which it does not send.
            const isSent = isOperation && /** @type {any} */ (value).acknowledged;
            if (this.#over.has(key) && !isSent) this.returned.push(key);
            this.entries.set(key, value);
        }
    }
}

/**
 * The two stores as one tab has them.
 *
 * @implements {Store}
 */
class TabDisk {
    #disk;
    #isGone = false;
    /** Whether a transaction was taken back; those behind it are, too. */
    #isBroken = false;
    /** @type {SyncStore} */
    syncStore;

    /** @param {ModelDisk} disk */
    constructor(disk) {
        this.#disk = disk;
        const whileThere = (/** @type {() => void} */ action) => this.#isGone || action();
        this.syncStore = {
            keys: () => disk.texts.keys(),
            get: (key) => disk.texts.get(key),
            set: (key, text) => whileThere(() => disk.texts.set(key, text)),
            delete: (key) => whileThere(() => disk.remove(key)),
        };
    }

    /**
     * @param {string} prefix
     * @returns {Promise<[string, unknown][]>}
     */
    read(prefix) {
        return new Promise((resolve) =>
            this.#disk.begin(0, () => {
                const found = [...this.#disk.entries].filter(([key]) => key.startsWith(prefix));
                // A page that is gone does not go on.
                if (!this.#isGone) {
                    resolve(structuredClone(found.sort(([a], [b]) => a < b ? -1 : 1)));
                }
            })
        );
    }

    /**
     * @param {Write[]} writes
     * @returns {Promise<void>}
     */
    write(writes) {
        const { random } = this.#disk;
        const milliseconds = random() * TRANSACTION_MILLISECONDS_MAX;
        if (this.#isGone) return new Promise(() => {});
        return new Promise((resolve) =>
            this.#disk.begin(milliseconds, () => {
                // It may have been about to be done when the page was closed.
                this.#isBroken ||= this.#isGone && random() < 0.5;
                if (this.#isBroken) return;
                this.#disk.write(writes);
                if (!this.#isGone) resolve();
            })
        );
    }

    /** The page is closed: nothing that it does from here on has an effect. */
    close() {
        this.#isGone = true;
    }
}
