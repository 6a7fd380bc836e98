import { removals } from "./operation-store.js";

/** @import { Entries } from "../sync/entries.js" */
/** @import { OperationStore } from "./operation-store.js" */
/** @import { Clock } from "../types.js" */

/** @typedef {import("../types.js").Operation} Operation */

/** Milliseconds between two looks at what tabs that are gone have left. */
const LOOK_MILLISECONDS = 5_000;

/** The operations that earlier openings of the page, and tabs that are gone, have left. */
export class Leftovers {
    #parts;
    #stopWatching = () => {};

    /**
     * @param {{
     *   entries: Entries,
     *   stored: OperationStore,
     *   clock: Clock,
     *   user: () => string | undefined,
     *   onOver: (writes: import("../types.js").Write[]) => void,
     *   onFound: (operation: Operation, isNews: boolean) => void,
     * }} parts `isNews` says that the other tabs may not know the operation
     */
    constructor(parts) {
        this.#parts = parts;
    }

    /** Reads all that is left. */
    async restore() {
        await this.#takeIn();
        const { entries, stored } = this.#parts;
        for (const operation of await stored.read()) {
            const isKnown = entries.get(operation.id) || entries.isOver(operation.id);
            if (!isKnown) this.#parts.onFound(operation, false);
        }
    }

    /**
     * Removes what is over in this tab. The one that sent before may have gone before it could, or
     * before it was told of a refusal; and a tab that does not send stores what was acknowledged,
     * which may be over by then.
     */
    async #removeOver() {
        const { entries, onOver, stored } = this.#parts;
        const left = await stored.read();
        const over = left.filter(({ id }) => entries.isOver(id) && !entries.get(id));
        if (over.length > 0) onOver(over.flatMap(removals));
    }

    /** Takes in and removes, again and again, what other tabs leave. */
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
                const isKnown = entries.get(operation.id) || entries.isOver(operation.id);
                if (!isKnown) this.#parts.onFound(operation, true);
            }
        } catch (error) {
            console.warn("What another tab has left is not taken in yet:", error);
        }
    }
}
