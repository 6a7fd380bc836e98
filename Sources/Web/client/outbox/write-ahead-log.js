import { aborted } from "../network/aborted.js";

/** @typedef {import("../types.js").Operation} Operation */
/** @typedef {import("../types.js").Write} Write */

const PREFIX = "grapevine-log/";
const LOCK = "grapevine-log-";
/** The keys, in the store, of the last operation of each tab that is there. */
const STORED = "stored/";
/** The most letters that the log of a tab holds; browsers give an origin five million or so. */
const LETTERS_MAX = 1_000_000;
/** The most tabs whose last stored operation is remembered. */
const TABS_MAX = 100;

/**
 * The operations that are on their way into the store, for a page that is closed before they are.
 *
 * A store such as IndexedDB has a change some hundredths of a second after it was begun, and
 * browsers do not wait for it when they close a page. The log is in a store that has it at once.
 *
 * The invariant: an operation that was shown is in the log, in the store, or over; and it enters
 * the store once, from where alone it is sent.
 *
 * - An operation is written to the log before it is shown. Its transaction in the store also sets
 *   the mark of its tab: the id of the tab's last stored operation. Ids of a tab ascend, and its
 *   transactions keep their order. After the transaction, the operation is removed from the log.
 * - What a tab that is gone has left in the log is stored by another, in one transaction with the
 *   mark, if its id is behind the mark. What is not behind the mark was stored: the tab was gone
 *   between the transaction and the removal, or the removal was undone by a failure of the machine,
 *   since browsers do not wait for the disk of the small store either. It is still in the store, or
 *   was sent and is over.
 * - A tab holds a lock while it lives. The log of a living tab is left alone, and one tab at a time
 *   takes in that of another.
 *
 * The log does not have messages with files, since it holds texts, and what is more than
 * `LETTERS_MAX`, or than the browser allows. These are safe once they are stored.
 */
export class WriteAheadLog {
    #entries;
    #store;
    #tabs;
    /** The name of this tab, once its lock is held. @type {string | undefined} */
    #tab;
    /** Letters of this tab's operations, by id. @type {Map<string, number>} */
    #letters = new Map();
    #closing = new AbortController();

    /**
     * @param {{
     *   syncStore: import("../types.js").SyncStore,
     *   store: import("../types.js").Store,
     *   tabs: import("../types.js").Tabs,
     * }} parts
     */
    constructor({ store, syncStore, tabs }) {
        this.#entries = syncStore;
        this.#store = store;
        this.#tabs = tabs;
    }

    /**
     * Waits for the lock of this tab.
     *
     * @param {string} tab a name that no other tab has, ever
     */
    async open(tab) {
        const { signal } = this.#closing;
        await new Promise((resolve) => {
            const lock = this.#tabs.lock(LOCK + tab, () => {
                this.#tab = tab;
                resolve(undefined);
                return aborted(signal);
            }, signal);
            // Without a lock there is no log: nobody could tell whether this tab lives.
            lock.catch(resolve);
        });
        await this.#forgetMarks();
    }

    /**
     * Writes an operation to the log.
     *
     * @param {string} user
     * @param {Operation} operation
     * @returns {Write[]} to be stored with the operation
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

    /**
     * Removes an operation of this tab, which is in the store, or is over.
     *
     * @param {string} id
     */
    remove(id) {
        if (this.#tab === undefined || !this.#letters.delete(id)) return;
        this.#entries.delete(key(this.#tab, id));
    }

    /**
     * Moves what tabs that are gone have left from the log to the store.
     *
     * @param {string} user of whom it has to be; that of others is removed
     * @param {(operation: Operation) => Write} write
     * @returns {Promise<Operation[]>} what is in the store now; it may have been before, for the
     *   tab may have been gone before it could tell the others
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

    /** Removes all: the user has signed out. */
    clear() {
        for (const name of [...this.#entries.keys()]) {
            if (name.startsWith(PREFIX)) this.#entries.delete(name);
        }
        this.#letters.clear();
    }

    /** Leaves the log of this tab to others. */
    close() {
        this.#closing.abort();
    }

    /**
     * @param {string} tab
     * @param {string} user
     * @param {(operation: Operation) => Write} write
     */
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

    /** Forgets the oldest marks. */
    async #forgetMarks() {
        const marks = await this.#store.read(STORED);
        marks.sort(([, a], [, b]) => String(a) < String(b) ? 1 : -1);
        const excess = marks.slice(TABS_MAX).map(([key]) => ({ key, value: undefined }));
        if (excess.length > 0) await this.#store.write(excess);
    }
}

/**
 * @param {string} tab
 * @param {string} id
 */
function key(tab, id) {
    return `${PREFIX}${tab}/${id}`;
}

/**
 * Returns the operation of an entry; undefined if it is another user's, or none.
 *
 * @param {string | undefined} text
 * @param {string} user
 * @returns {Operation | undefined}
 */
function parsed(text, user) {
    try {
        const entry = JSON.parse(text ?? "");
        return entry.user === user ? entry.operation : undefined;
    } catch {
        // Not of this version of the page, or of no page.
        return undefined;
    }
}
