/** @typedef {import("../types.js").Action} Action */
/** @typedef {import("../types.js").Operation} Operation */

/**
 * A pending operation of the user and its progress. An "added" operation is not stored yet; a
 * "stored" one may be sent; a "sent" one may have been applied by the cluster; an "acknowledged"
 * one was applied, and stays until the data reported by nodes includes its effect. An `isOwn`
 * operation was made in this browser tab or in a closed one, so this tab notifies the user if the
 * cluster rejects it.
 *
 * @typedef {{
 *   operation: Operation,
 *   phase: "added" | "stored" | "sent" | "acknowledged",
 *   isUnderWay: boolean,
 *   isEchoed: boolean,
 *   isOwn: boolean,
 *   isOverdue: boolean,
 *   acknowledgedAt: number,
 *   settled: PromiseWithResolvers<void>,
 * }} Entry
 */

/**
 * The most ids of finished operations that are remembered, to ignore messages that other tabs send
 * about these operations later.
 */
const OVER_MAX = 1_000;

/** The user's pending operations, ordered by id, and the ids of finished operations. */
export class Entries {
    /** @type {Map<string, Entry>} */
    #entries = new Map();
    /** Ids of finished operations, to ignore later messages about them. @type {Set<string>} */
    #over = new Set();
    #lastID = "";
    #parts;
    /** A counter that increases whenever a pending operation is added, changed or removed. */
    version = 0;

    /**
     * @param {{
     *   clock: import("../types.js").Clock,
     *   makeID: () => string,
     *   onChange: (operation: Operation) => void,
     * }} parts
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

    /** @param {string} id */
    isOver(id) {
        return this.#over.has(id);
    }

    /**
     * @param {Operation} operation
     * @param {{phase?: Entry["phase"], isOwn: boolean}} options
     * @returns {Entry}
     */
    insert(operation, { phase = operation.acknowledged ? "acknowledged" : "stored", isOwn }) {
        /** @type {PromiseWithResolvers<void>} */
        const settled = Promise.withResolvers();
        // Prevents an error report if the page ignores the promise; listeners are notified instead.
        settled.promise.catch(() => {});
        /** @type {Entry} */
        const entry = {
            ...{ operation, phase, isOwn, settled },
            isUnderWay: false,
            isEchoed: false,
            isOverdue: false,
            acknowledgedAt: this.#parts.clock.now(),
        };
        const isLast = operation.id > this.#lastID;
        this.#entries.set(operation.id, entry);
        if (isLast) this.#lastID = operation.id;
        else this.#entries = new Map([...this.#entries].sort(([a], [b]) => a < b ? -1 : 1));
        this.#changed(operation);
        return entry;
    }

    /**
     * @param {Entry} entry
     * @param {Operation} operation the operation with its acknowledgement
     */
    acknowledge(entry, operation) {
        entry.operation = operation;
        entry.phase = "acknowledged";
        entry.settled.resolve();
        this.#changed(operation);
    }

    /** @param {Entry} entry */
    remove({ operation }) {
        if (!this.#entries.delete(operation.id)) return;
        this.end(operation.id);
        this.#changed(operation);
    }

    /** @param {string} id the id of a finished operation */
    end(id) {
        this.#over.add(id);
        if (this.#over.size > OVER_MAX) this.#over.delete(this.#over.values().next().value ?? "");
    }

    clear() {
        this.#entries.clear();
        this.version += 1;
    }

    /**
     * Returns an id greater than those of all earlier operations, even if the clock was set back.
     */
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

/**
 * Returns a key for the object that an operation changes: a message, an action item, a conversation
 * or the profile.
 *
 * @param {Operation} operation
 */
export function subjectOf({ lane, action }) {
    if ("item" in action) return `${lane} ${action.item}`;
    return "message" in action ? `${lane} ${action.message}` : lane;
}
