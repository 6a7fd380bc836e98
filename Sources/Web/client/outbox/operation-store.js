import { WriteAheadLog } from "./write-ahead-log.js";

/** @typedef {import("../types.js").Operation} Operation */
/** @typedef {import("../types.js").Write} Write */

const PREFIX = "operation/";

/** The user's pending operations as they are stored on this device, shared by all browser tabs. */
export class OperationStore {
    #store;
    #log;
    #storing = 0;

    /** @param {ConstructorParameters<typeof WriteAheadLog>[0]} parts */
    constructor(parts) {
        this.#store = parts.store;
        this.#log = new WriteAheadLog(parts);
    }

    get isStoringFiles() {
        return this.#storing > 0;
    }

    /** @param {string} tab the unique, never reused name of this tab */
    open(tab) {
        return this.#log.open(tab);
    }

    /**
     * Stores an operation that the user made in this tab, with its files, in one transaction.
     *
     * @param {string} user @param {Operation} operation @param {Write[]} files
     * @returns {Promise<void>} rejects if the local store is full
     */
    add(user, operation, files) {
        if (files.length > 0) return this.#addWithFiles(operation, files);
        const marks = this.#log.add(user, operation);
        return this.#store.write([write(operation), ...marks])
            .finally(() => this.#log.remove(operation.id));
    }

    /**
     * Stores an operation with its files, without the write-ahead log, which holds only strings.
     *
     * @param {Operation} operation @param {Write[]} files
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
     * Moves operations of closed tabs from the write-ahead log to the local store, and returns the
     * operations that other tabs may not know.
     *
     * @param {string} user @returns {Promise<Operation[]>}
     */
    takeIn(user) {
        return this.#log.takeIn(user, write);
    }

    /**
     * @param {Operation[]} operations the operations to overwrite in the local store
     * @param {Write[]} [others] further writes of the same transaction
     */
    put(operations, others = []) {
        return this.#store.write([...operations.map(write), ...others]);
    }

    /** Removes all operations from the write-ahead log and the local store, after a sign-out. */
    async clear() {
        this.#log.clear();
        await this.#store.write((await this.read()).flatMap(removals));
    }

    close() {
        this.#log.close();
    }
}

/**
 * Returns the writes that remove an operation and its files from the local store.
 *
 * @param {Operation} operation @returns {Write[]}
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
