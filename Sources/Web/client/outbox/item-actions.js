/** The name of the queue (outbox lane) for changes of action items, which have no conversation. */
export const ITEMS = "items";

/** The user's actions on action items: add, edit, complete and delete. */
export class ItemActions {
    #outbox;
    #makeID;

    /**
     * @param {import("./outbox.js").Outbox} outbox
     * @param {() => string} makeID
     */
    constructor(outbox, makeID) {
        this.#outbox = outbox;
        this.#makeID = makeID;
    }

    /**
     * @param {{title: string, due?: string, priority?: string, chat?: string, message?: string}}
     *   fields
     * @returns {string} the id of the item
     */
    add(fields) {
        const item = this.#makeID();
        this.#outbox.add(ITEMS, { kind: "addItem", item, ...fields });
        return item;
    }

    /**
     * @param {string} item
     * @param {import("../types.js").ItemChanges} changes the changed fields; null clears a field
     */
    edit(item, changes) {
        return this.#outbox.perform(ITEMS, { kind: "editItem", item, changes });
    }

    /**
     * @param {string} item
     * @param {boolean} isDone
     */
    setDone(item, isDone) {
        return this.#outbox.perform(ITEMS, { kind: "completeItem", item, isDone });
    }

    /** @param {string} item */
    delete(item) {
        return this.#outbox.perform(ITEMS, { kind: "deleteItem", item });
    }
}
