import { ConfirmedState } from "./confirmed.js";

/** @typedef {import("../types.js").Write} Write */

/** Milliseconds during which changes are collected before one write to the local store. */
const GATHER_MILLISECONDS = 300;
const PREFIX = "state/";

/**
 * The user's chats, messages, action items and profiles as nodes have confirmed them, and their
 * snapshot in the local store. A snapshot and the token of its last event are written in one
 * transaction, so that the event stream resumes where the snapshot ends. Only one browser tab
 * writes the snapshot.
 */
export class Persistence {
    confirmed = new ConfirmedState("");
    #store;
    #clock;
    #isWriter;
    /**
     * The values last written to the local store, by key; undefined if the stored value is unknown.
     */
    #written = /** @type {Map<string, unknown>} */ (new Map());
    #isScheduled = false;
    /** @type {Promise<void>} */
    #writing = Promise.resolve();
    #isClosed = false;
    /** Removals of stored entries to write together with the next snapshot. @type {Write[]} */
    #more = [];

    /**
     * @param {import("../types.js").Store} store
     * @param {import("../types.js").Clock} clock
     * @param {() => boolean} isWriter whether this tab writes the snapshot
     */
    constructor(store, clock, isWriter) {
        this.#store = store;
        this.#clock = clock;
        this.#isWriter = isWriter;
    }

    /**
     * Replaces the chats, messages, action items and profiles in memory with an empty state.
     *
     * @param {string} user
     */
    reset(user) {
        this.confirmed = new ConfirmedState(user);
    }

    /**
     * Restores the chats and messages that nodes have confirmed from the snapshot in the local
     * store.
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
        // Another user's snapshot is ignored, and overwritten later.
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

    /** Makes the next snapshot replace all entries of the snapshot that another tab has stored. */
    async takeOver() {
        const entries = await this.#store.read(PREFIX);
        this.#written = new Map(entries.map(([key]) => [key, undefined]));
    }

    /**
     * Schedules a write of the snapshot to the local store, together with the removal of entries
     * that the snapshot makes obsolete, such as finished operations.
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

    /** Removes the snapshot of the user's chats and messages from the local store. */
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
            // The local store is full or unavailable. After a restart, nodes send the events since
            // the last stored token again.
            console.warn("The local copy could not be stored:", error);
            for (const { key } of writes) this.#written.set(key, undefined);
        }
    }

    /**
     * Returns the writes and removals that turn the snapshot written last into the given entries,
     * and remembers these entries as written.
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
 * Returns the snapshot of the confirmed data as entries of the local store. If a chat or message
 * has not changed since the last snapshot, the value of its entry is the same JavaScript object as
 * in that snapshot.
 *
 * @param {ConfirmedState} confirmed
 */
function entriesOf(confirmed) {
    /** @type {Map<string, unknown>} */
    const entries = new Map();
    const { user, token, isLoaded } = confirmed;
    const deletedItems = [...confirmed.deletedItems];
    // The ids of stale conversations are stored, so that the client reloads them after a restart.
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
 * Returns a part of the snapshot, such as a message, as it is stored.
 *
 * The field `changed`, the number of the last event about a message or an action item, is reset to
 * 0, because event numbers restart at 0 when the page is opened.
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
