import { isSame } from "./fields.js";
import { compare, deletionOf, join, later, storedMessage } from "./message.js";

/** @typedef {import("./message.js").StoredMessage} StoredMessage */
/** @typedef {import("../types.js").Mark} Mark */
/** @typedef {import("../types.js").MemberChange} MemberChange */

/**
 * A row of the chat list as nodes report it.
 *
 * @typedef {{id: string, title: string, participants: string[], createdAt: string, last?: string,
 *   lastFrom?: string, lastAt?: string, lastText: string, unread: number,
 *   participantCount?: number}} ChatRow
 */

/**
 * A part of a conversation with the times of its values, as an event, an answer or an accepted
 * action tells it. `clearedAt` is the time when the user hid or, with `hasLeft`, left the
 * conversation; `through` is the time of the last message that the user saw then, if it is known.
 *
 * @typedef {{conversation: string, message?: StoredMessage, mark?: Mark, change?: MemberChange,
 *   row?: ChatRow, archivedAt?: string, unarchivedAt?: string, clearedAt?: string,
 *   through?: string, hasLeft?: boolean}} Update
 */

/** The most joins and leaves kept per conversation; a node keeps as many. */
const CHANGES_MAX = 100;
/** The most messages kept for a conversation that is not open. */
export const MESSAGES_KEPT_MAX = 500;
/** @type {MemberChange[]} */
const NONE = [];

/**
 * The messages, marks and chat list row of one conversation as nodes have reported them. Parts may
 * be merged in any order, and twice: each value has the time of its last change.
 */
export class ConversationState {
    /** @type {Map<string, StoredMessage>} */
    messages = new Map();
    /** @type {Map<string, Mark>} */
    marks = new Map();
    /** The participants' joins and leaves, in the order of their times. @type {MemberChange[]} */
    changes = [];
    /** @type {ChatRow | undefined} */
    row;
    /**
     * When the latest message was sent of those behind the row's last that events have changed: a
     * response from before may tell a row with the message as it was.
     * @type {string | undefined}
     */
    changedSent;
    /**
     * The time of sending from which on all messages are known; empty from the first message on,
     * undefined before the conversation is loaded.
     * @type {string | undefined}
     */
    completeFrom;
    /**
     * The time when the user last hid or left the chat. An event about an unknown message from
     * before that time does not add the message, which is shown only if a node's response contains
     * it: then the node that hid the chat had not received it.
     */
    clearedAt = "";
    /**
     * The token of the user's accepted creation, hiding or leaving of the conversation, until an
     * answer includes it: another one may be as if nothing had happened.
     * @type {string | undefined}
     */
    written;
    /** @type {string | undefined} */
    archivedAt;
    /** @type {string | undefined} */
    unarchivedAt;
    /** A counter that increases with every change of the conversation, to invalidate its views. */
    version = 0;
    /** @type {{version: number, list: StoredMessage[]} | undefined} */
    #sorted;
    /** @type {{version: number, value: object} | undefined} */
    #record;

    /** @param {string} id */
    constructor(id) {
        this.id = id;
    }

    get isLoaded() {
        return this.completeFrom !== undefined;
    }

    get hasEarlier() {
        return Boolean(this.completeFrom);
    }

    get isArchived() {
        return this.archivedAt !== undefined && this.archivedAt >= (this.unarchivedAt ?? "");
    }

    /** The loaded messages, hidden or not, without gaps up to the newest, in conversation order. */
    get stretch() {
        if (this.#sorted?.version !== this.version) {
            const list = [...this.messages.values()]
                .filter(({ at, from }) => from !== undefined && at >= this.#start);
            this.#sorted = { version: this.version, list: list.sort(compare) };
        }
        return this.#sorted.list;
    }

    /** The conversation without its messages, for the store: another object after a change. */
    get record() {
        if (this.#record?.version !== this.version) {
            const { archivedAt, changes, clearedAt, completeFrom, row, unarchivedAt } = this;
            const times = { archivedAt, unarchivedAt, clearedAt, completeFrom };
            const value = {
                ...times,
                written: this.written,
                row,
                changes,
                marks: [...this.marks.values()],
            };
            this.#record = { version: this.version, value };
        }
        return this.#record.value;
    }

    /** @param {any} record */
    restore({ marks, ...rest }) {
        Object.assign(this, rest);
        this.marks = new Map(marks.map((/** @type {Mark} */ mark) => [mark.user, mark]));
        this.version += 1;
    }

    /** @param {Update} update @returns {boolean} whether a message is new */
    merge(update) {
        const { archivedAt, change, clearedAt, hasLeft, mark, message, row } = update;
        const { through = "", unarchivedAt } = update;
        this.version += 1;
        this.archivedAt = later(this.archivedAt, archivedAt);
        this.unarchivedAt = later(this.unarchivedAt, unarchivedAt);
        if (clearedAt) this.#clear(clearedAt, hasLeft ?? false, through);
        if (change && change.at > this.clearedAt) this.#setChanges([...this.changes, change]);
        if (mark) this.#mergeMark(mark);
        if (row) this.row ??= row;
        return message !== undefined && this.#mergeMessage(message);
    }

    /**
     * Merges the messages of an answer. One that may be older than the user's last hiding of the
     * conversation does not bring messages from before back.
     *
     * @param {any[]} list @param {boolean} isSure whether the list has all that events told
     */
    mergeAnswer(list, isSure) {
        const isUnsure = !isSure || undefined;
        for (const fields of list) {
            const message = { ...storedMessage(fields), isUnsure };
            if (isSure || message.at > this.clearedAt) this.#mergeMessage(message);
        }
        this.version += 1;
    }

    /**
     * Removes the messages that only older answers had, after a sure answer was merged with all
     * messages from `first` on: the messages have been deleted. If there are such messages before
     * `first`, the loaded range begins with `first`.
     *
     * @param {string} first the first message's time; empty if the answer has all messages
     */
    dropUnsure(first) {
        for (const message of [...this.messages.values()].filter(({ isUnsure }) => isUnsure)) {
            const { at, id } = message;
            const left = deletionOf(message);
            if (left) this.messages.set(id, left);
            else this.messages.delete(id);
            if (at < first && at >= this.#start) this.completeFrom = first;
        }
        this.version += 1;
    }

    /**
     * Removes the messages up to a time of sending, but for deletions: an answer of a node that has
     * not received them yet does not bring the messages back.
     *
     * @param {string} end
     */
    removeThrough(end) {
        for (const message of [...this.messages.values()].filter(({ at }) => at <= end)) {
            const left = deletionOf(message);
            if (left) this.messages.set(message.id, left);
            else this.messages.delete(message.id);
        }
        this.version += 1;
    }

    /** Whether all messages after a time of sending are known. @param {string} at */
    isCompleteAfter(at) {
        return this.completeFrom !== undefined && this.completeFrom <= at;
    }

    /**
     * Removes the oldest messages beyond `MESSAGES_KEPT_MAX`, and what is kept of messages outside
     * the loaded range, except pins.
     *
     * @param {number} [max] the number of messages up to which all are kept
     */
    trim(max = MESSAGES_KEPT_MAX) {
        if (this.messages.size <= max) return;
        const excess = this.stretch.length - MESSAGES_KEPT_MAX;
        const first = excess > 0 ? this.stretch[excess].at : this.#start;
        for (const { at, from, id, pinnedAt } of [...this.messages.values()]) {
            if ((at < first || from === undefined) && !pinnedAt) this.messages.delete(id);
        }
        if (this.isLoaded) this.completeFrom = first;
        this.version += 1;
    }

    /** The joins and leaves to show, ordered by time, without the joins of initial participants. */
    get shownChanges() {
        const { row } = this;
        return row ? this.changes.filter(({ at }) => at !== row.createdAt) : NONE;
    }

    /**
     * Merges a node's joins and leaves, the latest first. Known ones that the list lacks are kept
     * if they are later than the list's latest entry, or if the list may be stale.
     *
     * @param {MemberChange[]} answer @param {boolean} isSure
     */
    takeChanges(answer, isSure) {
        const newest = answer[0]?.at ?? this.row?.createdAt ?? "";
        const told = this.changes.filter(({ at }) => !isSure || at > newest);
        this.#setChanges([...told, ...answer]);
        this.version += 1;
    }

    get #start() {
        return this.completeFrom ?? "";
    }

    /** @param {StoredMessage} told */
    #mergeMessage(told) {
        const known = this.messages.get(told.id);
        const merged = join(known ?? told, told);
        // An unchanged message stays the same object, which is not stored again.
        if (!known || !isSame(known, merged)) this.messages.set(told.id, merged);
        return told.from !== undefined && !known?.from && !merged.hiddenAt && !merged.deletedAt;
    }

    /** @param {Mark} told */
    #mergeMark(told) {
        const known = this.marks.get(told.user) ?? { user: told.user };
        const read = (told.readSent ?? "") > (known.readSent ?? "") ? told : known;
        const isLater = (told.deliveredSent ?? "") > (known.deliveredSent ?? "");
        const delivered = isLater ? told : known;
        this.marks.set(told.user, {
            ...{ user: told.user, read: read.read, readSent: read.readSent, readAt: read.readAt },
            ...{ delivered: delivered.delivered, deliveredSent: delivered.deliveredSent },
            deliveredAt: delivered.deliveredAt,
        });
    }

    /**
     * Removes what precedes a hiding or leaving. A message of a loaded conversation that the node
     * which hid it may have lacked stays until an answer tells whether it is hidden.
     *
     * @param {string} at @param {boolean} hasLeft @param {string} through
     */
    #clear(at, hasLeft, through) {
        if (at < this.clearedAt) return;
        this.clearedAt = at;
        this.removeThrough(hasLeft || !this.isLoaded ? at : through);
        for (const message of [...this.messages.values()].filter((each) => each.at <= at)) {
            if (message.from) this.messages.set(message.id, { ...message, isUnsure: true });
        }
        this.changes = this.changes.filter((change) => change.at > at);
        this.row = undefined;
        if (hasLeft) this.completeFrom = undefined;
        else if (this.isLoaded) this.completeFrom = "";
    }

    /** @param {MemberChange[]} list */
    #setChanges(list) {
        const keyed = new Map(list.map((each) => [`${each.at} ${each.kind} ${each.user}`, each]));
        const sorted = [...keyed].sort(([a], [b]) => a < b ? -1 : 1);
        this.changes = sorted.slice(-CHANGES_MAX).map(([, change]) => change);
    }
}
