/** @import { Entries } from "./entries.js" */
/** @import { OperationStore } from "./operation-store.js" */
/** @import { Clock } from "./types.js" */

/** @typedef {import("./types.js").Operation} Operation */

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
        const refused = [];
        for (const operation of await stored.read()) {
            // The tab that was told of the refusal may be gone.
            if (!operation.acknowledged && entries.isOver(operation.id)) refused.push(operation);
            else if (!entries.get(operation.id)) this.#parts.onFound(operation, false);
        }
        if (refused.length > 0) await stored.remove(refused);
    }

    /** Takes in, again and again, what tabs leave that go from here on. */
    watch() {
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
