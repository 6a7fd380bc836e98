import { ConfirmedState } from "../state/confirmed.js";

/** @typedef {import("../types.js").Write} Write */

/** Milliseconds during which changes are collected before one write to the local store. */
const GATHER_MILLISECONDS = 300;
/** The same, where something is removed. */
const REMOVAL_MILLISECONDS = 20;
const PREFIX = "state/";
/** The number of the form of the snapshot; a snapshot of another form is ignored. */
const FORM = 2;

/**
 * The confirmed chats, messages, action items and profiles, and their snapshot in the local store.
 * A snapshot and the token of its last event are written in one transaction, so that the event
 * stream resumes where the snapshot ends. Only one browser tab writes the snapshot.
 */
export class Persistence {
    confirmed = new ConfirmedState("");
    #store;
    #clock;
    #isWriter;
    /** The values last written to the store, by key; undefined if the stored value is unknown. */
    #written = /** @type {Map<string, unknown>} */ (new Map());
    /** The writes that are scheduled, by their delay. @type {Map<number, Promise<void>>} */
    #next = new Map();
    /** @type {Promise<void>} */
    #writing = Promise.resolve();
    #isClosed = false;
    /** Removals of stored entries to write together with the next snapshot. @type {Write[]} */
    #more = [];

    /**
     * @param {import("../types.js").Store} store @param {import("../types.js").Clock} clock
     * @param {() => boolean} isWriter whether this tab writes the snapshot
     */
    constructor(store, clock, isWriter) {
        this.#store = store;
        this.#clock = clock;
        this.#isWriter = isWriter;
    }

    /** Replaces the confirmed state in memory with an empty one. @param {string} user */
    reset(user) {
        this.confirmed = new ConfirmedState(user);
    }

    /** Restores the confirmed state from the stored snapshot. @param {string} user */
    async restore(user) {
        this.confirmed = await this.#read(user);
    }

    /** @param {string} user */
    async #read(user) {
        const confirmed = new ConfirmedState(user);
        const entries = await this.#store.read(PREFIX);
        const whole = /** @type {any} */ (new Map(entries).get(`${PREFIX}whole`));
        // Another user's snapshot is ignored, and overwritten later.
        if (whole?.user !== user || whole.form !== FORM) return confirmed;
        confirmed.token = whole.token;
        confirmed.sessionTokens.list = whole.sessionTokens ?? [];
        confirmed.isLoaded = whole.isLoaded;
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
     * Schedules a write of the snapshot: soon if operations have ended, which a reload sends again.
     *
     * @param {Write[]} [removals] @returns {Promise<void>} settles after the write
     */
    schedule(removals = []) {
        this.#more.push(...removals);
        const milliseconds = removals.length > 0 ? REMOVAL_MILLISECONDS : GATHER_MILLISECONDS;
        const known = this.#next.get(milliseconds);
        if (known) return known;
        const next = new Promise((/** @type {(writing: Promise<void>) => void} */ resolve) =>
            this.#clock.setTimer(milliseconds, () => {
                this.#next.delete(milliseconds);
                if (this.#isClosed) return;
                this.#writing = this.#writing.then(() => this.#write());
                resolve(this.#writing);
            })
        );
        this.#next.set(milliseconds, next);
        return next;
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
                writes.push({ key, value });
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
 * Returns the entries of a snapshot; an unchanged chat or message is the same object as before.
 *
 * @param {ConfirmedState} confirmed
 */
function entriesOf(confirmed) {
    /** @type {Map<string, unknown>} */
    const entries = new Map();
    const { sessionTokens, isLoaded, token, user } = confirmed;
    // The ids of stale conversations are stored, so that the client reloads them after a restart.
    const { staleHistories, stalePins, staleRows } = confirmed;
    const stale = [[...staleRows], [...staleHistories], [...stalePins]];
    entries.set(`${PREFIX}whole`, {
        form: FORM,
        user,
        token,
        sessionTokens: sessionTokens.list,
        isLoaded,
        stale,
    });
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

/** @param {ConfirmedState} confirmed @param {string} key @param {any} value */
function restoreEntry(confirmed, key, value) {
    const [, kind, id] = key.split("/");
    if (kind === "chat") confirmed.conversation(id).restore(value);
    else if (kind === "message") confirmed.conversation(id).messages.set(value.id, value);
    else if (kind === "item") confirmed.items.set(value.id, value);
    else if (kind === "profile") confirmed.profiles.set(value.user, value);
}
