/** @import { Entries } from "./entries.js" */
/** @import { OperationStore } from "./operation-store.js" */
/** @import { Clock } from "../types.js" */

/** @typedef {import("./entries.js").Outcome} Outcome */
/** @typedef {import("../types.js").Operation} Operation */

/** Milliseconds between two checks for pending operations that closed browser tabs left behind. */
const LOOK_MILLISECONDS = 5_000;

/**
 * The recovery of pending operations that closed tabs, or earlier runs of the page, have not sent.
 */
export class Leftovers {
    #parts;
    #stopWatching = () => {};

    /**
     * @param {{
     *   entries: Entries,
     *   stored: OperationStore,
     *   clock: Clock,
     *   user: () => string | undefined,
     *   onOver: (operation: Operation, outcome: Outcome) => void,
     *   onFound: (operation: Operation, isNews: boolean) => void,
     *   onKnown: (operation: Operation) => void,
     * }} parts `isNews` means that other tabs may not know the operation
     */
    constructor(parts) {
        this.#parts = parts;
    }

    /** Reads the pending operations of closed tabs from the write-ahead log and the local store. */
    async restore() {
        await this.#takeIn();
        const { entries, stored } = this.#parts;
        for (const operation of await stored.read()) {
            if (entries.get(operation.id)) this.#parts.onKnown(operation);
            else if (!entries.outcome(operation.id)) this.#parts.onFound(operation, false);
        }
    }

    /**
     * Removes finished operations from the local store. An operation stays there if the tab that
     * sent it was closed before it removed the operation.
     */
    async #removeOver() {
        const { entries, onOver, stored } = this.#parts;
        for (const operation of await stored.read()) {
            const outcome = entries.outcome(operation.id);
            if (outcome) onOver(operation, outcome);
        }
    }

    /** Recovers operations of closed tabs and removes stored finished operations, every 5 s. */
    watch() {
        this.#removeOver();
        this.#stopWatching = this.#parts.clock.setTimer(LOOK_MILLISECONDS, () => {
            this.watch();
            this.#takeIn();
        });
    }

    stop() {
        this.#stopWatching();
    }

    async #takeIn() {
        const { entries, stored } = this.#parts;
        const user = this.#parts.user();
        if (user === undefined) return;
        try {
            for (const operation of await stored.takeIn(user)) {
                const isKnown = entries.get(operation.id) || entries.outcome(operation.id);
                if (!isKnown) this.#parts.onFound(operation, true);
            }
        } catch (error) {
            console.warn("What another tab has left is not taken in yet:", error);
        }
    }
}
