import { ConfirmedState } from "./confirmed.js";

/** @typedef {import("../types.js").Write} Write */

/** Milliseconds in which changes are gathered before they are stored together. */
const GATHER_MILLISECONDS = 300;
const PREFIX = "state/";

/**
 * The confirmed state of the user, and its stored copy. The copy is written in one transaction with
 * the token of its last event, so that the resumed events continue where it ends. One tab writes.
 */
export class Persistence {
    confirmed = new ConfirmedState("");
    #store;
    #clock;
    #isWriter;
    /** What is in the store, by key; undefined for what another tab has written. */
    #written = /** @type {Map<string, unknown>} */ (new Map());
    #isScheduled = false;
    /** @type {Promise<void>} */
    #writing = Promise.resolve();
    #isClosed = false;
    /** Removals to write together with the next snapshot. @type {Write[]} */
    #more = [];

    /**
     * @param {import("../types.js").Store} store
     * @param {import("../types.js").Clock} clock
     * @param {() => boolean} isWriter whether this is the tab that writes
     */
    constructor(store, clock, isWriter) {
        this.#store = store;
        this.#clock = clock;
        this.#isWriter = isWriter;
    }

    /**
     * Begins with nothing.
     *
     * @param {string} user
     */
    reset(user) {
        this.confirmed = new ConfirmedState(user);
    }

    /**
     * Begins with the stored copy.
     *
     * @param {string} user
     */
    async restore(user) {
        this.confirmed = await this.#read(user);
    }

    /** @param {string} user */
    async #read(user) {
        const confirmed = new ConfirmedState(user);
        const entries = await this.#store.read(PREFIX);
        const whole = /** @type {any} */ (new Map(entries).get(`${PREFIX}whole`));
        // The copy of another user is not shown to this one, and is overwritten.
        if (!whole || whole.user !== user) return confirmed;
        confirmed.token = whole.token;
        confirmed.isLoaded = whole.isLoaded;
        confirmed.deletedItems = new Set(whole.deletedItems);
        const [rows, histories, pins] = whole.stale;
        confirmed.staleRows = new Set(rows);
        confirmed.staleHistories = new Set(histories);
        confirmed.stalePins = new Set(pins);
        for (const [key, value] of entries) restoreEntry(confirmed, key, value);
        return confirmed;
    }

    /** Has the first write replace whatever another tab has left. */
    async takeOver() {
        const entries = await this.#store.read(PREFIX);
        this.#written = new Map(entries.map(([key]) => [key, undefined]));
    }

    /**
     * Stores the state soon, together with removing what it makes superfluous.
     *
     * @param {Write[]} [removals]
     */
    schedule(removals = []) {
        this.#more.push(...removals);
        if (this.#isScheduled) return;
        this.#isScheduled = true;
        this.#clock.setTimer(GATHER_MILLISECONDS, () => {
            this.#isScheduled = false;
            if (this.#isClosed) return;
            this.#writing = this.#writing.then(() => this.#write());
        });
    }

    /** Removes the stored copy. */
    async clear() {
        await this.#writing;
        const entries = await this.#store.read(PREFIX);
        await this.#store.write(entries.map(([key]) => ({ key, value: undefined })));
        this.#written.clear();
    }

    close() {
        this.#isClosed = true;
    }

    async #write() {
        const writes = this.#more;
        this.#more = [];
        if (this.#isWriter()) writes.push(...this.#differences(entriesOf(this.confirmed)));
        if (writes.length === 0) return;
        try {
            await this.#store.write(writes);
        } catch (error) {
            // The store is full or gone. The events since its token come again.
            console.warn("The local copy could not be stored:", error);
            for (const { key } of writes) this.#written.set(key, undefined);
        }
    }

    /**
     * Compares the entries with those written last, and returns the writes of those that are new or
     * changed and the removals of those that are gone. Remembers the entries as written.
     *
     * @param {Map<string, unknown>} entries
     */
    #differences(entries) {
        /** @type {Write[]} */
        const writes = [];
        for (const [key, value] of entries) {
            if (!this.#written.has(key) || this.#written.get(key) !== value) {
                writes.push({ key, value: stored(value) });
            }
        }
        for (const key of this.#written.keys()) {
            if (!entries.has(key)) writes.push({ key, value: undefined });
        }
        this.#written = entries;
        return writes;
    }
}

/**
 * Returns what is stored of a state: the same object as before where nothing has changed.
 *
 * @param {ConfirmedState} confirmed
 */
function entriesOf(confirmed) {
    /** @type {Map<string, unknown>} */
    const entries = new Map();
    const { user, token, isLoaded } = confirmed;
    const deletedItems = [...confirmed.deletedItems];
    // What an event has left open stays so in the next opening.
    const { staleHistories, stalePins, staleRows } = confirmed;
    const stale = [[...staleRows], [...staleHistories], [...stalePins]];
    entries.set(`${PREFIX}whole`, { user, token, isLoaded, deletedItems, stale });
    for (const conversation of confirmed.conversations.values()) {
        const chat = `${PREFIX}chat/${conversation.id}`;
        entries.set(chat, conversation.record);
        for (const message of conversation.messages.values()) {
            entries.set(`${PREFIX}message/${conversation.id}/${message.id}`, message);
        }
    }
    for (const item of confirmed.items.values()) entries.set(`${PREFIX}item/${item.id}`, item);
    for (const profile of confirmed.profiles.values()) {
        entries.set(`${PREFIX}profile/${profile.user}`, profile);
    }
    return entries;
}

/**
 * Numbers of events are those of this opening of the page: later ones begin at 0.
 *
 * @param {unknown} value
 */
function stored(value) {
    return typeof value === "object" && value !== null && "changed" in value
        ? { ...value, changed: 0 }
        : value;
}

/**
 * @param {ConfirmedState} confirmed
 * @param {string} key
 * @param {any} value
 */
function restoreEntry(confirmed, key, value) {
    const [, kind, id] = key.split("/");
    if (kind === "chat") confirmed.conversation(id).restore(value);
    else if (kind === "message") confirmed.conversation(id).set(value);
    else if (kind === "item") confirmed.items.set(value.id, value);
    else if (kind === "profile") confirmed.profiles.set(value.user, value);
}
