/** @typedef {import("../types.js").Failure} Failure */
/** @typedef {import("../types.js").Operation} Operation */

/**
 * The end of an operation: accepted, with its time at nodes, or rejected. An `isQuiet` rejection is
 * not told, since the rejection of another operation implies it.
 *
 * @typedef {{at: string, token?: string} | {failure: Failure, isQuiet: boolean}} Outcome
 */

/**
 * A pending operation and its progress. Only an operation that `isStored` is sent. An `isOwn`
 * operation was made in this tab or in a closed one, so this tab notifies the user of a rejection.
 *
 * @typedef {{operation: Operation, isStored: boolean, isUnderWay: boolean, isOwn: boolean,
 *   misses: number, settled: PromiseWithResolvers<void>}} Entry
 */

/** The most ids of ended operations that are kept, to ignore late messages of other tabs. */
const OVER_MAX = 1_000;

/** The user's pending operations, ordered by id, and the outcomes of finished operations. */
export class Entries {
    /** @type {Map<string, Entry>} */
    #entries = new Map();
    /** How the last operations ended, by id. @type {Map<string, Outcome>} */
    #over = new Map();
    #lastID = "";
    #parts;
    /** A counter that increases whenever a pending operation is added, changed or removed. */
    version = 0;

    /**
     * @param {{clock: import("../types.js").Clock, makeID: () => string,
     *   onChange: (operation: Operation) => void}} parts
     */
    constructor(parts) {
        this.#parts = parts;
    }

    get size() {
        return this.#entries.size;
    }

    /** A copy of the list of pending operations, so that a loop over it may remove operations. */
    get all() {
        return [...this.#entries.values()];
    }

    /** @param {string} id */
    get(id) {
        return this.#entries.get(id);
    }

    /** Returns how an operation has ended, if it has and is remembered. @param {string} id */
    outcome(id) {
        return this.#over.get(id);
    }

    /**
     * @param {Operation} operation @param {{isStored?: boolean, isOwn: boolean}} options
     * @returns {Entry}
     */
    insert(operation, { isStored = true, isOwn }) {
        /** @type {PromiseWithResolvers<void>} */
        const settled = Promise.withResolvers();
        // Prevents an error report if the page ignores the promise; listeners are notified instead.
        settled.promise.catch(() => {});
        const entry = { operation, isStored, isUnderWay: false, isOwn, misses: 0, settled };
        const isLast = operation.id > this.#lastID;
        this.#entries.set(operation.id, entry);
        if (isLast) this.#lastID = operation.id;
        else this.#entries = new Map([...this.#entries].sort(([a], [b]) => a < b ? -1 : 1));
        this.#changed(operation);
        return entry;
    }

    /** @param {Entry} entry @param {Outcome} outcome */
    remove({ operation }, outcome) {
        if (!this.#entries.delete(operation.id)) return;
        this.end(operation.id, outcome);
        this.#changed(operation);
    }

    /** @param {string} id the id of a finished operation @param {Outcome} outcome */
    end(id, outcome) {
        this.#over.set(id, outcome);
        if (this.#over.size > OVER_MAX) this.#over.delete(this.#over.keys().next().value ?? "");
    }

    clear() {
        this.#entries.clear();
        this.version += 1;
    }

    /** Returns an id greater than all earlier operations' ids, even if the clock was set back. */
    nextID() {
        const now = Math.max(this.#parts.clock.now(), Number(this.#lastID.slice(0, 15)) + 1);
        return `${String(Math.floor(now)).padStart(15, "0")}-${this.#parts.makeID().slice(0, 8)}`;
    }

    /** @param {Operation} operation */
    #changed(operation) {
        this.version += 1;
        this.#parts.onChange(operation);
    }
}
