import { subjectOf } from "../sync/entries.js";

/** @import { Entries } from "../sync/entries.js" */
/** @import { OperationStore } from "./operation-store.js" */
/** @import { Operation, Tabs } from "../types.js" */

/** @typedef {import("../sync/entries.js").Entry} Entry */
/** @typedef {import("../types.js").Failure} Failure */

/**
 * The rollback of operations that the cluster has rejected. Each browser tab removes a rejected
 * operation from its view; the tab that made or recovered it also notifies its listeners.
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
     * Rolls back a rejected operation. If it would have created a message or a conversation, the
     * other pending operations on that object are rolled back, too.
     *
     * @param {Entry} entry
     * @param {Failure} refusal
     */
    refuse(entry, refusal) {
        const { action } = entry.operation;
        this.#tell(entry, refusal, false);
        if (action.kind !== "send" && action.kind !== "create") return;
        // Operations on a message or conversation that was never created are rolled back without
        // notifying listeners.
        for (const other of this.#parts.entries.all) {
            const isOf = action.kind === "create"
                ? other.operation.lane === action.conversation
                : subjectOf(other.operation) === subjectOf(entry.operation);
            if (isOf) this.#tell(other, refusal, true);
        }
    }

    /**
     * Rolls back an operation after another tab has reported that the cluster rejected it.
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
            // If this removal fails, the operation is sent and rejected again after the next start.
        });
        entry.settled.reject(refusal);
        if (entry.isOwn && !isQuiet) onRefused(entry.operation, refusal);
    }
}
