import { aborted } from "../network/aborted.js";

/** @typedef {import("../types.js").Operation} Operation */
/** @typedef {import("../types.js").Write} Write */

const PREFIX = "grapevine-log/";
const LOCK = "grapevine-log-";
/** The prefix of the IndexedDB keys under which each tab's last stored operation id is recorded. */
const STORED = "stored/";
/** The most UTF-16 code units in a tab's log; `localStorage` allows about five million. */
const LETTERS_MAX = 1_000_000;
/** The most tabs for which the id of the last stored operation is kept. */
const TABS_MAX = 100;

/**
 * A write-ahead log of the user's operations that are being stored in IndexedDB, so that closing
 * the page does not lose the operations. IndexedDB completes a write some 10 ms after it is
 * started, and browsers do not wait for it when they close a page. The log is in `localStorage`,
 * which is written synchronously.
 *
 * The invariant: an operation that was shown to the user is in the log, in the store (IndexedDB),
 * or finished; it enters the store exactly once, and is sent only from the store.
 *
 * - An operation is written to the log before it is shown. Its transaction in the store also sets
 *   the mark of its tab: the id of the tab's last stored operation. Ids of a tab ascend, and its
 *   transactions keep their order. After the transaction, the operation is removed from the log.
 * - Another tab stores the operations that a closed tab left in the log and whose ids are greater
 *   than the closed tab's mark, in one transaction with the new mark. An operation up to the mark
 *   was stored, and is still in the store or finished: the tab was closed before the removal from
 *   the log, or a machine failure undid the removal, since `localStorage` is not synced to disk.
 * - A tab holds a lock while it is open. No other tab touches the log of an open tab, and only one
 *   tab at a time recovers the log of a closed one.
 *
 * The log holds only strings, so it excludes messages with files, and operations beyond
 * `LETTERS_MAX` or the browser's quota. Excluded operations are safe only once IndexedDB has stored
 * them.
 */
export class WriteAheadLog {
    #entries;
    #store;
    #tabs;
    /** The name of this tab, set once the tab holds its lock. @type {string | undefined} */
    #tab;
    /** The lengths in UTF-16 units of this tab's log entries, by id. @type {Map<string, number>} */
    #letters = new Map();
    #closing = new AbortController();

    /**
     * @param {{syncStore: import("../types.js").SyncStore, store: import("../types.js").Store,
     *   tabs: import("../types.js").Tabs}} parts
     */
    constructor({ store, syncStore, tabs }) {
        this.#entries = syncStore;
        this.#store = store;
        this.#tabs = tabs;
    }

    /**
     * Acquires the lock by which other browser tabs recognize that this tab is open.
     *
     * @param {string} tab the unique, never reused name of this tab
     */
    async open(tab) {
        const { signal } = this.#closing;
        await new Promise((resolve) => {
            const lock = this.#tabs.lock(LOCK + tab, () => {
                this.#tab = tab;
                resolve(undefined);
                return aborted(signal);
            }, signal);
            // Without the lock, other tabs cannot detect this tab, so it keeps no write-ahead log.
            lock.catch(resolve);
        });
        await this.#forgetMarks();
    }

    /**
     * Writes an operation to the log; returns the writes to add to the operation's transaction.
     *
     * @param {string} user @param {Operation} operation @returns {Write[]}
     */
    add(user, operation) {
        if (this.#tab === undefined) return [];
        const text = JSON.stringify({ user, operation });
        let letters = text.length;
        for (const count of this.#letters.values()) letters += count;
        if (letters <= LETTERS_MAX) {
            try {
                this.#entries.set(key(this.#tab, operation.id), text);
                this.#letters.set(operation.id, text.length);
            } catch (error) {
                console.warn("A change is not safe until it is stored:", error);
            }
        }
        return [{ key: STORED + this.#tab, value: operation.id }];
    }

    /** Removes an operation, once IndexedDB has stored it or failed to. @param {string} id */
    remove(id) {
        if (this.#tab === undefined || !this.#letters.delete(id)) return;
        this.#entries.delete(key(this.#tab, id));
    }

    /**
     * Moves the operations of closed browser tabs from the write-ahead log to IndexedDB.
     *
     * @param {string} user the signed-in user; other users' operations are removed
     * @param {(operation: Operation) => Write} write
     * @returns {Promise<Operation[]>} the recovered operations that are in IndexedDB. The closed
     *     tab may have stored some of them itself without notifying the other tabs
     */
    async takeIn(user, write) {
        /** @type {Operation[]} */
        const taken = [];
        const names = [...this.#entries.keys()].filter((name) => name.startsWith(PREFIX));
        for (const tab of new Set(names.map((name) => name.split("/")[1]))) {
            if (tab === this.#tab) continue;
            await this.#tabs.tryLock(LOCK + tab, async () => {
                taken.push(...await this.#takeInOf(tab, user, write));
            });
        }
        return taken;
    }

    /** Removes all operations from the write-ahead log, after a sign-out. */
    clear() {
        for (const name of [...this.#entries.keys()]) {
            if (name.startsWith(PREFIX)) this.#entries.delete(name);
        }
        this.#letters.clear();
    }

    /** Releases this tab's lock, so that other tabs can recover the tab's write-ahead log. */
    close() {
        this.#closing.abort();
    }

    /** @param {string} tab @param {string} user @param {(operation: Operation) => Write} write */
    async #takeInOf(tab, user, write) {
        const mark = STORED + tab;
        const last = String(await this.#read(mark) ?? "");
        const names = [...this.#entries.keys()].filter((name) => name.startsWith(key(tab, "")));
        const left = names.sort().map((name) => parsed(this.#entries.get(name), user))
            .filter((operation) => operation !== undefined);
        const behind = left.filter(({ id }) => id > last);
        const value = behind.at(-1)?.id;
        if (value) await this.#store.write([...behind.map(write), { key: mark, value }]);
        const stored = await Promise.all(left.map((operation) => this.#read(write(operation).key)));
        for (const name of names) this.#entries.delete(name);
        return /** @type {Operation[]} */ (stored.filter((operation) => operation !== undefined));
    }

    /** @param {string} key */
    async #read(key) {
        return (await this.#store.read(key)).find(([name]) => name === key)?.[1];
    }

    /** Removes the recorded ids of last stored operations for the oldest tabs beyond `TABS_MAX`. */
    async #forgetMarks() {
        const marks = await this.#store.read(STORED);
        marks.sort(([, a], [, b]) => String(a) < String(b) ? 1 : -1);
        const excess = marks.slice(TABS_MAX).map(([key]) => ({ key, value: undefined }));
        if (excess.length > 0) await this.#store.write(excess);
    }
}

/** @param {string} tab @param {string} id */
function key(tab, id) {
    return `${PREFIX}${tab}/${id}`;
}

/**
 * Returns the operation of a log entry; undefined if it is another user's or malformed.
 *
 * @param {string | undefined} text @param {string} user @returns {Operation | undefined}
 */
function parsed(text, user) {
    try {
        const entry = JSON.parse(text ?? "");
        return entry.user === user ? entry.operation : undefined;
    } catch {
        // The log entry was written by another version of the page, or by another program.
        return undefined;
    }
}
