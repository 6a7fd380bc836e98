import { compare, merge, retracted, storedMessage } from "./message.js";

/** @typedef {import("./message.js").StoredMessage} StoredMessage */
/** @typedef {import("../types.js").Mark} Mark */
/** @typedef {import("../types.js").MemberChange} MemberChange */

/**
 * A row of the chat list as nodes report it.
 *
 * @typedef {{
 *   id: string, title: string, participants: string[], createdAt: string, last?: string,
 *   lastFrom?: string, lastAt?: string, lastText: string, unread: number, archived?: boolean,
 *   participantCount?: number,
 * }} ChatRow
 */

/**
 * A deletion kept for a message that has not been loaded. `isHidden`: the user deleted the message
 * for themselves; `isRetracted`: it was deleted for everyone. Both may be set.
 *
 * @typedef {{isHidden: boolean, isRetracted: boolean}} Tombstone
 */

/**
 * The pin state of a message according to the last pin or unpin event.
 *
 * @typedef {{pinnedBy?: string, pinnedAt?: string, pinChangedAt: string}} Pin
 */

/**
 * What the client has to know about its request for a conversation's messages in order to merge the
 * response. `asked` is the number of the last event that the client received before the request.
 * `epoch` is how many times the user had hidden or left the conversation before the request; if the
 * user has done so again since, the response is ignored. `isApart` means that the requested
 * messages, such as pinned ones, may lie outside the contiguous range of loaded messages. `isSure`
 * means that the response includes the effects of all events up to the token from which the client
 * would resume the event stream.
 *
 * @typedef {{asked: number, epoch: number, isApart?: boolean, isSure: boolean}} Question
 */

/** The most deletions remembered per conversation for messages that have not been loaded. */
const TOMBSTONES_MAX = 1_000;
/** The maximum number of edits of messages not yet loaded that are kept for a conversation. */
const EDITS_MAX = 100;
/** The most pins and unpins remembered per conversation for messages that have not been loaded. */
const PINS_MAX = 100;
/** The most joins and leaves kept per conversation; a node keeps as many. */
const CHANGES_MAX = 100;
/** @type {MemberChange[]} */
const NONE = [];
/** The most messages kept for a conversation that is not open. */
export const MESSAGES_KEPT_MAX = 500;

/**
 * One conversation as nodes have reported it: a contiguous range of messages up to the newest, and
 * the conversation's row in the chat list.
 *
 * The client receives an event for each deletion of a message that it knows, with one exception: a
 * message known only from possibly stale responses may have been deleted before the position at
 * which the client resumed the event stream. Such a message is removed when an up-to-date response
 * lacks it.
 */
export class ConversationState {
    /** @type {Map<string, StoredMessage>} */
    messages = new Map();
    /**
     * Deletions of messages that are not loaded, but that a later response may contain.
     * @type {Map<string, Tombstone>}
     */
    tombstones = new Map();
    /**
     * Edits of messages that have not been loaded, but that a pending response may contain.
     * @type {Map<string, {text: string, edited: string}>}
     */
    edits = new Map();
    /** Pins and unpins of messages that have not been loaded. @type {Map<string, Pin>} */
    pins = new Map();
    /**
     * Ids of messages known only from a possibly stale response; they may have been deleted, since
     * the responding node may have lacked their deletion.
     * @type {Set<string>}
     */
    unsure = new Set();
    /** Whether a response contradicts an event about a pin, so that the pins must be read again. */
    arePinsOpen = false;
    /** @type {Map<string, Mark>} */
    marks = new Map();
    /** The participants' joins and leaves, in the order of their times. @type {MemberChange[]} */
    changes = [];
    /** @type {ChatRow | undefined} */
    row;
    /** The number of the last event that changed the conversation's row in the chat list. */
    rowChanged = 0;
    isLoaded = false;
    hasEarlier = false;
    /**
     * The time when the user last hid or left the chat. An event about an unknown message from
     * before that time does not add the message, which is shown only if a node's response contains
     * it: then the node that hid the chat had not received it.
     */
    clearedAt = "";
    /** How often the user has hidden or left the chat, which invalidates responses in flight. */
    epoch = 0;
    /** A counter that increases with every change of the conversation, to invalidate its views. */
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

    /** The loaded messages, hidden or not, without gaps up to the newest, in conversation order. */
    get stretch() {
        if (this.#sorted?.version !== this.version) {
            const list = [...this.messages.values()].filter((message) => !message.isApart);
            this.#sorted = { version: this.version, list: list.sort(compare) };
        }
        return this.#sorted.list;
    }

    /**
     * The conversation without its messages, for the local store. After a change of the
     * conversation, the getter returns a new object.
     */
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
     * Merges a node's response with messages or pins into the conversation.
     *
     * @param {any[]} list
     * @param {Question} question
     * @returns {boolean} whether the response was merged; it is ignored if the user has hidden the
     *     conversation since the request
     */
    mergeAnswer(list, { asked, epoch, isApart, isSure }) {
        if (epoch !== this.epoch) return false;
        for (const fields of list) {
            const told = { ...storedMessage(fields, 0), isApart };
            if (isSure) this.unsure.delete(told.id);
            else if (!this.messages.has(told.id)) this.unsure.add(told.id);
            // A stale response's pins are ignored, since an unpin event may have arrived already.
            this.add(isSure ? told : { ...told, pinnedBy: undefined, pinnedAt: undefined }, asked);
        }
        this.version += 1;
        return true;
    }

    /**
     * Removes the messages at and after `first` that are known only from possibly stale responses.
     * Before the call, the caller has merged an up-to-date response with all messages from `first`
     * on, so messages that the response lacks have been deleted.
     *
     * @param {StoredMessage} [first] undefined if the response contains all messages
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
     * Removes all loaded messages of the conversation that precede `first`.
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
     * Merges a node's list of all pinned messages of the conversation, which includes the effects
     * of all events up to number `covered`.
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
     * Adds a message reported by a node, or merges it into the known message of the same id, and
     * applies edits, pins and deletions that were received before the message.
     *
     * @param {StoredMessage} told
     * @param {number} asked
     * @returns {boolean} whether the message is new and not deleted
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
     * Whether a message precedes all loaded messages, while nodes have earlier messages that are
     * not loaded.
     *
     * @param {StoredMessage} message
     */
    isBefore(message) {
        const first = this.stretch[0];
        return this.hasEarlier && first !== undefined && compare(message, first) < 0;
    }

    /**
     * Whether nodes have reported the message with this id and its position for certain, so that
     * the view need not show the user's pending "send" operation of the message.
     *
     * The report is certain if an event or an up-to-date response contained the message. The
     * position is certain if the message is hidden, in the loaded range, or earlier than the range.
     *
     * @param {string} id
     */
    hasPlace(id) {
        const message = this.messages.get(id);
        if (!message || this.unsure.has(id)) return false;
        return message.isHidden || !message.isApart || this.isBefore(message);
    }

    /**
     * Remembers the deletion of a message that has not been loaded.
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
     * Remembers the edit of a message that has not been loaded.
     *
     * @param {string} id
     * @param {{text: string, edited: string}} edit
     */
    keepEdit(id, { text, edited }) {
        this.edits.set(id, { text, edited });
        bound(this.edits, EDITS_MAX);
    }

    /**
     * Remembers the pin or unpin of a message that has not been loaded.
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
     * Removes all messages after the user has hidden or left the conversation.
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
     * Removes the oldest loaded messages beyond `MESSAGES_KEPT_MAX`.
     *
     * @returns {string[]} the ids of the removed messages
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

    /** The joins and leaves to show, ordered by time, without the joins of initial participants. */
    get shownChanges() {
        const { row } = this;
        return row ? this.changes.filter(({ at }) => at !== row.createdAt) : NONE;
    }

    /**
     * Merges a node's list of joins and leaves, the latest first. Known joins and leaves that the
     * list lacks are kept if they are later than the list's latest entry, or if the list may be
     * stale.
     *
     * @param {MemberChange[]} answer
     * @param {boolean} isSure
     */
    takeChanges(answer, isSure) {
        const newest = answer[0]?.at ?? this.row?.createdAt ?? "";
        const told = this.changes.filter(({ at }) => !isSure || at > newest);
        this.#setChanges([...told, ...answer]);
    }

    /** @param {MemberChange} change the join or leave that an event reported */
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
     * Whether a read or delivery mark is at or after the known mark. Marks are compared by message
     * order if both messages are loaded, otherwise by the times at which they were set.
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
 * Removes the oldest entry of a map if the map has more than `count` entries.
 *
 * The map contains changes, such as edits, of messages that have not been loaded, by message id. A
 * change is kept because a node may have sent a response with the message before that node received
 * the change. The older the change, the less likely it is that such a response has yet to arrive.
 *
 * @param {Map<string, unknown>} map
 * @param {number} count the maximum number of entries
 */
function bound(map, count) {
    if (map.size > count) map.delete(/** @type {string} */ (map.keys().next().value));
}
