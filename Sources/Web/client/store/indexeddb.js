/** @typedef {import("../types.js").Store} Store */

const TABLE = "entries";

/**
 * The device's key-value store in the browser's IndexedDB. A write is durable some 10 ms after it
 * is started. A page that is closed earlier loses the write, so an operation stays in the
 * write-ahead log until its write is durable.
 *
 * @implements {Store}
 */
export class IndexedDBStore {
    #database;

    /** @param {IDBDatabase} database */
    constructor(database) {
        this.#database = database;
        // Closes the database if another tab upgrades it, so that the upgrade is not blocked.
        database.onversionchange = () => database.close();
    }

    /** @param {string} name */
    static async open(name) {
        const request = indexedDB.open(name, 1);
        request.onupgradeneeded = () => request.result.createObjectStore(TABLE);
        return new IndexedDBStore(await result(request));
    }

    /** @param {string} prefix @returns {Promise<[string, unknown][]>} */
    async read(prefix) {
        const table = this.#database.transaction(TABLE, "readonly").objectStore(TABLE);
        // Keys never contain U+FFFF, so this character bounds the range of keys with the prefix.
        const range = IDBKeyRange.bound(prefix, prefix + "\uffff");
        const [keys, values] = await Promise.all([
            result(table.getAllKeys(range)),
            result(table.getAll(range)),
        ]);
        return keys.map((key, index) => [String(key), values[index]]);
    }

    /** @param {import("../types.js").Write[]} writes @returns {Promise<void>} */
    write(writes) {
        return new Promise((resolve, reject) => {
            const transaction = this.#database.transaction(TABLE, "readwrite", {
                // An operation that the page has shown must survive a crash of the machine.
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
            // Commits at once, since closing the page would abort an uncommitted transaction.
            transaction.commit();
        });
    }

    close() {
        this.#database.close();
    }
}

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
function result(request) {
    return new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
    });
}
