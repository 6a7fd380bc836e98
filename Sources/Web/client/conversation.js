import { compare, merge, retracted, storedMessage } from "./message.js";

/** @typedef {import("./message.js").StoredMessage} StoredMessage */
/** @typedef {import("./types.js").Mark} Mark */

/**
 * A chat as the cluster has told of it; `changed` as that of a message.
 *
 * @typedef {{
 *   id: string, title: string, participants: string[], createdAt: string, last?: string,
 *   lastFrom?: string, lastAt?: string, lastText: string, unread: number, archived?: boolean,
 * }} ChatRow
 */

/**
 * The deletion of a message, for the user and for everyone.
 *
 * @typedef {{isHidden: boolean, isRetracted: boolean}} Tombstone
 */

/** The most deletions that are remembered of messages that are not known. */
const TOMBSTONES_MAX = 1_000;
/** The most edits that are remembered of such messages. */
const EDITS_MAX = 100;
/** The most messages that are kept of a conversation that is not open. */
export const MESSAGES_KEPT_MAX = 500;

/**
 * What the cluster has told of one conversation: a stretch of messages up to the newest, and the
 * chat's row in the list.
 *
 * Answers add to it and never take away: the events, of which none is missing, tell of deletions.
 */
export class ConversationState {
    /** @type {Map<string, StoredMessage>} */
    messages = new Map();
    /** Deletions of messages that are not known: they may arrive after all.
     * @type {Map<string, Tombstone>} */
    tombstones = new Map();
    /** Edits of messages that are not known, which may be in an answer that is under way.
     * @type {Map<string, {text: string, edited: string}>} */
    edits = new Map();
    /** @type {Map<string, Mark>} */
    marks = new Map();
    /** @type {ChatRow | undefined} */
    row;
    /** The number of the last event that changes the row. */
    rowChanged = 0;
    isLoaded = false;
    hasEarlier = false;
    /** When the user hid the conversation; messages until then are shown only if an answer has them. */
    clearedAt = "";
    /** Raised when the user hides the conversation: answers to earlier questions are void. */
    epoch = 0;
    /** Raised with every change, for what is derived from the messages. */
    version = 0;
    /** @type {{version: number, list: StoredMessage[]} | undefined} */
    #sorted;
    /** @type {{row?: ChatRow, isLoaded: boolean, hasEarlier: boolean, clearedAt: string,
     *   tombstones: [string, Tombstone][], marks: Mark[], version: number} | undefined} */
    #record;

    /** @param {string} id */
    constructor(id) {
        this.id = id;
    }

    /** The messages of the loaded stretch, hidden ones too, in order. */
    get stretch() {
        if (this.#sorted?.version !== this.version) {
            const list = [...this.messages.values()].filter((message) => !message.isApart);
            this.#sorted = { version: this.version, list: list.sort(compare) };
        }
        return this.#sorted.list;
    }

    /** All but the messages, as it is stored: the same object until something changes. */
    get record() {
        if (this.#record?.version !== this.version) {
            const { row, isLoaded, hasEarlier, clearedAt, version } = this;
            const [tombstones, marks] = [[...this.tombstones], [...this.marks.values()]];
            this.#record = { row, isLoaded, hasEarlier, clearedAt, tombstones, marks, version };
        }
        return this.#record;
    }

    /** @param {NonNullable<ConversationState["record"]>} record */
    restore({ row, isLoaded, hasEarlier, clearedAt, tombstones, marks }) {
        Object.assign(this, { row, isLoaded, hasEarlier, clearedAt });
        this.tombstones = new Map(tombstones);
        this.marks = new Map(marks.map((mark) => [mark.user, mark]));
        this.version += 1;
    }

    /** @param {StoredMessage} message */
    set(message) {
        this.messages.set(message.id, message);
        this.version += 1;
    }

    /**
     * Takes in an answer to HISTORY or PINNED.
     *
     * @param {any[]} list
     * @param {{asked: number, epoch: number, isApart?: boolean}} question the number of the last
     *   event when it was asked, and the epoch then
     * @returns {boolean} whether the answer is of use
     */
    mergeAnswer(list, { asked, epoch, isApart }) {
        if (epoch !== this.epoch) return false;
        for (const fields of list) {
            const told = { ...storedMessage(fields, 0), isApart };
            this.add(told, asked);
        }
        this.version += 1;
        return true;
    }

    /**
     * Takes in the list of all pinned messages, which is no older than all events until then.
     *
     * @param {any[]} list
     * @param {{asked: number, epoch: number}} question
     */
    mergePins(list, { asked, epoch }) {
        if (!this.mergeAnswer(list, { asked, epoch, isApart: true })) return;
        const pinned = new Set(list.map(({ id }) => id));
        for (const message of [...this.messages.values()]) {
            if (!message.pinnedAt || message.changed > asked || pinned.has(message.id)) continue;
            this.set({ ...message, pinnedBy: undefined, pinnedAt: undefined });
        }
    }

    /**
     * Adds a message, unless it is known to be deleted.
     *
     * @param {StoredMessage} told
     * @param {number} asked
     * @returns {boolean} whether the message was not known
     */
    add(told, asked) {
        const known = this.messages.get(told.id);
        if (known) {
            this.set(merge(known, told, known.changed > asked));
            return false;
        }
        const edit = this.edits.get(told.id);
        if (edit && edit.edited > (told.edited ?? "") && !told.deletedForEveryone) {
            told = { ...told, ...edit };
        }
        this.edits.delete(told.id);
        const deletion = this.tombstones.get(told.id);
        if (deletion === undefined) {
            this.set(told);
            return true;
        }
        this.tombstones.delete(told.id);
        const { isHidden, isRetracted } = deletion;
        this.set({ ...(isRetracted ? retracted(told) : told), isHidden: isHidden || undefined });
        return false;
    }

    /**
     * Remembers the deletion of a message that is not known.
     *
     * @param {string} id
     * @param {Tombstone} deletion
     */
    bury(id, { isHidden, isRetracted }) {
        const known = this.tombstones.get(id);
        this.tombstones.set(id, {
            isHidden: isHidden || (known?.isHidden ?? false),
            isRetracted: isRetracted || (known?.isRetracted ?? false),
        });
        bound(this.tombstones, TOMBSTONES_MAX);
        this.version += 1;
    }

    /**
     * Remembers the edit of a message that is not known.
     *
     * @param {string} id
     * @param {{text: string, edited: string}} edit
     */
    keepEdit(id, { text, edited }) {
        this.edits.set(id, { text, edited });
        bound(this.edits, EDITS_MAX);
    }

    /**
     * Forgets all messages, since the user has hidden the conversation.
     *
     * @param {string} at
     */
    clear(at) {
        this.messages.clear();
        this.tombstones.clear();
        this.clearedAt = at;
        this.epoch += 1;
        this.hasEarlier = false;
        this.version += 1;
    }

    /**
     * Forgets the oldest messages beyond what is kept.
     *
     * @returns {string[]} the ids of those
     */
    trim() {
        const excess = this.stretch.slice(0, Math.max(0, this.stretch.length - MESSAGES_KEPT_MAX));
        for (const { id } of excess) this.messages.delete(id);
        if (excess.length > 0) {
            this.hasEarlier = true;
            this.version += 1;
        }
        return excess.map(({ id }) => id);
    }

    /** @param {Mark} told */
    mergeMark(told) {
        const known = this.marks.get(told.user) ?? { user: told.user };
        const merged = { ...known };
        if (told.read && this.#isLater(told.read, known.read, told.readAt, known.readAt)) {
            Object.assign(merged, { read: told.read, readAt: told.readAt });
        }
        const { delivered, deliveredAt } = told;
        if (
            delivered && this.#isLater(delivered, known.delivered, deliveredAt, known.deliveredAt)
        ) {
            Object.assign(merged, { delivered, deliveredAt });
        }
        this.marks.set(told.user, merged);
        this.version += 1;
    }

    /**
     * Whether a mark is not behind another; by their messages where these are known, else by when
     * they were set.
     *
     * @param {string} id
     * @param {string | undefined} known
     * @param {string | undefined} at
     * @param {string | undefined} knownAt
     */
    #isLater(id, known, at, knownAt) {
        const [message, before] = [this.messages.get(id), this.messages.get(known ?? "")];
        if (message && before) return compare(message, before) >= 0;
        return known === undefined || (at ?? "") >= (knownAt ?? "");
    }
}

/**
 * Forgets the oldest entry, which is the least likely to be in an answer that is under way.
 *
 * @param {Map<string, unknown>} map
 * @param {number} count the most entries
 */
function bound(map, count) {
    if (map.size > count) map.delete(/** @type {string} */ (map.keys().next().value));
}
