/** @typedef {import("../types.js").Action} Action */
/** @typedef {import("../types.js").Operation} Operation */

/**
 * An operation and what is known of it. "added" has not reached the disk; "stored" may be sent;
 * "sent" may have been carried out; "acknowledged" was, and stays until the confirmed state shows
 * it. An `isOwn` operation was made in this tab, or in one that is gone: this tab tells of its
 * refusal.
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

/** The most operations that are remembered after they are over. */
const OVER_MAX = 1_000;

/** The pending operations in their order, and the ids of those that are over. */
export class Entries {
    /** @type {Map<string, Entry>} */
    #entries = new Map();
    /** Another tab may tell of them late. @type {Set<string>} */
    #over = new Set();
    #lastID = "";
    #parts;
    /** Raised with every change. */
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

    /** A copy: entries may be removed meanwhile. */
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
        // The page may not wait for it: a refusal is told to the listeners, too.
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
     * @param {Operation} operation as it was acknowledged
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

    /** @param {string} id of an operation that is over */
    end(id) {
        this.#over.add(id);
        if (this.#over.size > OVER_MAX) this.#over.delete(this.#over.values().next().value ?? "");
    }

    clear() {
        this.#entries.clear();
        this.version += 1;
    }

    /** Returns an id behind all others, even if the device's clock was set back. */
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
 * What an operation changes: a message, an action item, a conversation or the profile.
 *
 * @param {Operation} operation
 */
export function subjectOf({ lane, action }) {
    if ("item" in action) return `${lane} ${action.item}`;
    return "message" in action ? `${lane} ${action.message}` : lane;
}
