import { subjectOf } from "../sync/entries.js";

/** @import { Entries } from "../sync/entries.js" */
/** @import { OperationStore } from "./operation-store.js" */
/** @import { Operation, Tabs } from "../types.js" */

/** @typedef {import("../sync/entries.js").Entry} Entry */
/** @typedef {import("../types.js").Failure} Failure */

/**
 * The taking back of operations that were refused. Each tab takes them out of its view; the one in
 * which the operation was made, or which has found it, tells its listeners.
 */
export class Rollback {
    #parts;

    /**
     * @param {{
     *   entries: Entries,
     *   stored: OperationStore,
     *   tabs: Tabs,
     *   onRefused: (operation: Operation, failure: Failure) => void,
     * }} parts
     */
    constructor(parts) {
        this.#parts = parts;
    }

    /**
     * Takes back an operation, and those that need what it was to make.
     *
     * @param {Entry} entry
     * @param {Failure} refusal
     */
    refuse(entry, refusal) {
        const { action } = entry.operation;
        this.#tell(entry, refusal, false);
        if (action.kind !== "send" && action.kind !== "create") return;
        // What was to happen to a message that does not exist is refused with it, without a word.
        for (const other of this.#parts.entries.all) {
            const isOf = action.kind === "create"
                ? other.operation.lane === action.conversation
                : subjectOf(other.operation) === subjectOf(entry.operation);
            if (isOf) this.#tell(other, refusal, true);
        }
    }

    /**
     * Hears that another tab was told of a refusal.
     *
     * @param {{id: string, failure: Failure, isQuiet: boolean}} message
     */
    onPost({ id, failure, isQuiet }) {
        const entry = this.#parts.entries.get(id);
        if (entry) this.#takeBack(entry, failure, isQuiet);
        else this.#parts.entries.end(id);
    }

    /**
     * @param {Entry} entry
     * @param {Failure} refusal
     * @param {boolean} isQuiet
     */
    #tell(entry, refusal, isQuiet) {
        const { id } = entry.operation;
        this.#parts.tabs.post({ kind: "refused", id, failure: refusal, isQuiet });
        this.#takeBack(entry, refusal, isQuiet);
    }

    /**
     * @param {Entry} entry
     * @param {Failure} refusal
     * @param {boolean} isQuiet
     */
    #takeBack(entry, refusal, isQuiet) {
        const { entries, onRefused, stored } = this.#parts;
        entries.remove(entry);
        stored.remove([entry.operation]).catch(() => {
            // It is sent and refused once more after the next opening.
        });
        entry.settled.reject(refusal);
        if (entry.isOwn && !isQuiet) onRefused(entry.operation, refusal);
    }
}
