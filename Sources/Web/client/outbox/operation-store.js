import { WriteAheadLog } from "./write-ahead-log.js";

/** @typedef {import("../types.js").Operation} Operation */
/** @typedef {import("../types.js").Write} Write */

const PREFIX = "operation/";

/** The stored operations, which all tabs share. */
export class OperationStore {
    #store;
    #log;
    #storing = 0;

    /** @param {ConstructorParameters<typeof WriteAheadLog>[0]} parts */
    constructor(parts) {
        this.#store = parts.store;
        this.#log = new WriteAheadLog(parts);
    }

    /** Whether files are on their way into the store, which would be lost with the page. */
    get isStoringFiles() {
        return this.#storing > 0;
    }

    /** @param {string} tab a name that no other tab has, ever */
    open(tab) {
        return this.#log.open(tab);
    }

    /**
     * Stores an operation of this tab.
     *
     * @param {string} user
     * @param {Operation} operation
     * @param {Write[]} files stored with it
     * @returns {Promise<void>} rejects if the store is full
     */
    add(user, operation, files) {
        if (files.length > 0) return this.#addWithFiles(operation, files);
        const marks = this.#log.add(user, operation);
        return this.#store.write([write(operation), ...marks])
            .finally(() => this.#log.remove(operation.id));
    }

    /**
     * The log has no files, and a message without its file is none.
     *
     * @param {Operation} operation
     * @param {Write[]} files
     */
    async #addWithFiles(operation, files) {
        this.#storing += 1;
        try {
            await this.#store.write([...files, write(operation)]);
        } finally {
            this.#storing -= 1;
        }
    }

    /** @returns {Promise<Operation[]>} */
    async read() {
        const entries = await this.#store.read(PREFIX);
        return entries.map(([, value]) => /** @type {Operation} */ (value));
    }

    /**
     * Stores what tabs that are gone could not store, and returns what they may not have told.
     *
     * @param {string} user
     * @returns {Promise<Operation[]>}
     */
    takeIn(user) {
        return this.#log.takeIn(user, write);
    }

    /** @param {Operation[]} operations that are stored, as they are now */
    put(operations) {
        return this.#store.write(operations.map(write));
    }

    /** @param {Operation[]} operations */
    async remove(operations) {
        await this.#store.write(operations.flatMap(removals));
    }

    /** Removes all: the user has signed out. */
    async clear() {
        this.#log.clear();
        await this.remove(await this.read());
    }

    close() {
        this.#log.close();
    }
}

/**
 * Returns what removes an operation and its files from the store.
 *
 * @param {Operation} operation
 * @returns {Write[]}
 */
export function removals({ action, id }) {
    const files = action.kind === "send" ? [action.blob, action.preview] : [];
    const keys = files.filter((file) => file !== undefined).map((file) => `file/${file}`);
    return [...keys, PREFIX + id].map((key) => ({ key, value: undefined }));
}

/** @param {Operation} operation */
function write(operation) {
    return { key: PREFIX + operation.id, value: operation };
}
