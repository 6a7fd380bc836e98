import { compare, merge, retracted, storedMessage } from "./message.js";

/** @typedef {import("./message.js").StoredMessage} StoredMessage */
/** @typedef {import("../types.js").Mark} Mark */
/** @typedef {import("../types.js").MemberChange} MemberChange */

/**
 * A chat as the cluster has told of it; `changed` as that of a message.
 *
 * @typedef {{
 *   id: string, title: string, participants: string[], createdAt: string, last?: string,
 *   lastFrom?: string, lastAt?: string, lastText: string, unread: number, archived?: boolean,
 *   participantCount?: number,
 * }} ChatRow
 */

/**
 * A deletion kept for a message that has not been loaded. `isHidden`: this user deleted it from
 * their own view; `isRetracted`: it was deleted for everyone. Both may be set.
 *
 * @typedef {{isHidden: boolean, isRetracted: boolean}} Tombstone
 */

/**
 * What the last event of a pin or unpin has told.
 *
 * @typedef {{pinnedBy?: string, pinnedAt?: string, pinChangedAt: string}} Pin
 */

/**
 * What was asked: the number of the last event then, and the epoch; whether what is told is apart
 * from the loaded stretch; whether the answer is no older than all events until then.
 *
 * @typedef {{asked: number, epoch: number, isApart?: boolean, isSure: boolean}} Question
 */

/** The most deletions that are remembered of messages that are not known. */
const TOMBSTONES_MAX = 1_000;
/** The most edits that are remembered of such messages. */
const EDITS_MAX = 100;
/** The most pins that are remembered of such messages. */
const PINS_MAX = 100;
/** The most changes of who takes part that are kept, as a node keeps them. */
const CHANGES_MAX = 100;
/** @type {MemberChange[]} */
const NONE = [];
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
    /** Pins and unpins of such messages. @type {Map<string, Pin>} */
    pins = new Map();
    /** Messages that only an answer has told of that may be older than the events: a deletion may
     * be among what that node lacked. @type {Set<string>} */
    unsure = new Set();
    /** Whether an answer has told of a pin that an event after its question has not. */
    arePinsOpen = false;
    /** @type {Map<string, Mark>} */
    marks = new Map();
    /** Who joined and who left, in the order of their times. @type {MemberChange[]} */
    changes = [];
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
     *   tombstones: [string, Tombstone][], marks: Mark[], changes: MemberChange[],
     *   unsure: string[], version: number}
     *   | undefined} */
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
            const { row, isLoaded, hasEarlier, clearedAt, changes, version } = this;
            const [tombstones, marks] = [[...this.tombstones], [...this.marks.values()]];
            const whole = { row, isLoaded, hasEarlier, clearedAt, tombstones, marks, changes };
            this.#record = { ...whole, unsure: [...this.unsure], version };
        }
        return this.#record;
    }

    /** @param {NonNullable<ConversationState["record"]>} record */
    restore({ row, isLoaded, hasEarlier, clearedAt, tombstones, marks, changes = [], unsure }) {
        this.changes = changes;
        Object.assign(this, { row, isLoaded, hasEarlier, clearedAt });
        this.tombstones = new Map(tombstones);
        this.marks = new Map(marks.map((mark) => [mark.user, mark]));
        this.unsure = new Set(unsure);
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
     * @param {Question} question
     * @returns {boolean} whether the answer is of use
     */
    mergeAnswer(list, { asked, epoch, isApart, isSure }) {
        if (epoch !== this.epoch) return false;
        for (const fields of list) {
            const told = { ...storedMessage(fields, 0), isApart };
            if (isSure) this.unsure.delete(told.id);
            else if (!this.messages.has(told.id)) this.unsure.add(told.id);
            // That a pin is gone is told by an event, which may be over.
            this.add(isSure ? told : { ...told, pinnedBy: undefined, pinnedAt: undefined }, asked);
        }
        this.version += 1;
        return true;
    }

    /**
     * Forgets what is not sure, after an answer that has all messages from its first on.
     *
     * @param {StoredMessage} [first] undefined where the answer has all
     */
    dropUnsure(first) {
        for (const id of [...this.unsure]) {
            const message = this.messages.get(id);
            if (message && first && compare(message, first) < 0) continue;
            this.messages.delete(id);
            this.unsure.delete(id);
        }
        this.version += 1;
    }

    /**
     * Forgets all messages of the loaded stretch before one.
     *
     * @param {StoredMessage} first
     */
    cut(first) {
        for (const message of this.stretch) {
            if (compare(message, first) < 0) this.messages.delete(message.id);
        }
        this.unsure.clear();
        this.hasEarlier = true;
        this.version += 1;
    }

    /**
     * Takes in the list of all pinned messages, which is no older than the event `covered`.
     *
     * @param {any[]} list
     * @param {{asked: number, covered: number, epoch: number}} question
     */
    mergePins(list, { asked, covered, epoch }) {
        if (!this.mergeAnswer(list, { asked, epoch, isApart: true, isSure: true })) return;
        const pinned = new Set(list.map(({ id }) => id));
        for (const message of [...this.messages.values()]) {
            if (!message.pinnedAt || message.changed > covered || pinned.has(message.id)) continue;
            const changed = Math.max(message.changed, covered);
            this.set({ ...message, pinnedBy: undefined, pinnedAt: undefined, changed });
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
            const isLate = known.changed > asked;
            this.arePinsOpen ||= isLate && told.pinnedAt !== undefined && !known.pinnedAt;
            this.set(merge(known, told, isLate));
            return false;
        }
        const edit = this.edits.get(told.id);
        if (edit && edit.edited > (told.edited ?? "") && !told.deletedForEveryone) {
            told = { ...told, ...edit };
        }
        this.edits.delete(told.id);
        const pin = this.pins.get(told.id);
        if (pin && pin.pinChangedAt > (told.pinnedAt ?? "") && !told.deletedForEveryone) {
            told = { ...told, ...pin };
        }
        this.pins.delete(told.id);
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
     * Whether a message is before the loaded stretch, of which earlier messages exist.
     *
     * @param {StoredMessage} message
     */
    isBefore(message) {
        const first = this.stretch[0];
        return this.hasEarlier && first !== undefined && compare(message, first) < 0;
    }

    /**
     * Whether a message is where the view has its place, or out of view.
     *
     * @param {string} id
     */
    hasPlace(id) {
        const message = this.messages.get(id);
        if (!message || this.unsure.has(id)) return false;
        return message.isHidden || !message.isApart || this.isBefore(message);
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
     * Remembers the pin or unpin of a message that is not known.
     *
     * @param {string} id
     * @param {Pin} pin
     */
    keepPin(id, pin) {
        if (pin.pinChangedAt < (this.pins.get(id)?.pinChangedAt ?? "")) return;
        this.pins.set(id, pin);
        bound(this.pins, PINS_MAX);
    }

    /**
     * Forgets all messages, since the user has hidden the conversation.
     *
     * @param {string} at
     */
    clear(at) {
        this.messages.clear();
        this.unsure.clear();
        this.tombstones.clear();
        this.changes = [];
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

    /** Who joined and left, in the order of their times; initial participants have not joined. */
    get shownChanges() {
        const { row } = this;
        return row ? this.changes.filter(({ at }) => at !== row.createdAt) : NONE;
    }

    /**
     * Takes in an answer to CHANGES, the latest first. What only events have told stays where it
     * is later than the answer, or where the answer may be older than the events.
     *
     * @param {MemberChange[]} answer
     * @param {boolean} isSure
     */
    takeChanges(answer, isSure) {
        const newest = answer[0]?.at ?? this.row?.createdAt ?? "";
        const told = this.changes.filter(({ at }) => !isSure || at > newest);
        this.#setChanges([...told, ...answer]);
    }

    /** @param {MemberChange} change that an event has told of */
    addChange(change) {
        if (change.at > this.clearedAt) this.#setChanges([...this.changes, change]);
    }

    /** @param {MemberChange[]} list */
    #setChanges(list) {
        const keyed = new Map(list.map((each) => [`${each.at} ${each.kind} ${each.user}`, each]));
        const sorted = [...keyed].sort(([a], [b]) => a < b ? -1 : 1);
        this.changes = sorted.slice(-CHANGES_MAX).map(([, change]) => change);
        this.version += 1;
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
