/** @typedef {import("../types.js").Store} Store */

const TABLE = "entries";

/**
 * The local store of a browser.
 *
 * A write is on disk some hundredths of a second after it was begun. A page that is closed before
 * that loses it: what may not be lost is in the write-ahead log until then.
 *
 * @implements {Store}
 */
export class IndexedDBStore {
    #database;

    /** @param {IDBDatabase} database */
    constructor(database) {
        this.#database = database;
        // A later version of the page in another tab must not wait for this one.
        database.onversionchange = () => database.close();
    }

    /** @param {string} name */
    static async open(name) {
        const request = indexedDB.open(name, 1);
        request.onupgradeneeded = () => request.result.createObjectStore(TABLE);
        return new IndexedDBStore(await result(request));
    }

    /**
     * @param {string} prefix
     * @returns {Promise<[string, unknown][]>}
     */
    async read(prefix) {
        const table = this.#database.transaction(TABLE, "readonly").objectStore(TABLE);
        // No key has this character, the last of its plane.
        const range = IDBKeyRange.bound(prefix, prefix + "\uffff");
        const [keys, values] = await Promise.all([
            result(table.getAllKeys(range)),
            result(table.getAll(range)),
        ]);
        return keys.map((key, index) => [String(key), values[index]]);
    }

    /**
     * @param {import("../types.js").Write[]} writes
     * @returns {Promise<void>}
     */
    write(writes) {
        return new Promise((resolve, reject) => {
            const transaction = this.#database.transaction(TABLE, "readwrite", {
                // An operation that was shown as accepted must survive a crash of the machine.
                durability: "strict",
            });
            transaction.oncomplete = () => resolve();
            transaction.onabort = () => reject(transaction.error);
            transaction.onerror = () => reject(transaction.error);
            const table = transaction.objectStore(TABLE);
            for (const { key, value } of writes) {
                if (value === undefined) table.delete(key);
                else table.put(value, key);
            }
            // At once: a page that is closed in this moment would take the transaction back.
            transaction.commit();
        });
    }

    close() {
        this.#database.close();
    }
}

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function result(request) {
    return new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
    });
}
