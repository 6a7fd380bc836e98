import { isHidden, isPinned } from "../state/message.js";
import { consequenceOf, NOTHING } from "../outbox/actions.js";

/** @typedef {import("../types.js").Operation} Operation */
/** @typedef {import("../types.js").Message} Message */
/** @typedef {import("../types.js").Chat} Chat */
/** @typedef {import("../types.js").Item} Item */
/** @typedef {import("../types.js").Profile} Profile */
/** @typedef {import("../state/confirmed.js").StoredItem} StoredItem */
/** @typedef {import("../state/conversation.js").ConversationState} ConversationState */
/** @typedef {import("../state/conversation.js").ChatRow} ChatRow */
/** @typedef {import("../state/conversation.js").Update} Update */
/** @typedef {import("../state/message.js").StoredMessage} StoredMessage */
/** @typedef {StoredMessage & {isWaiting?: boolean}} LaidMessage */

/** The text shown in place of a message that was deleted for everyone. */
const DELETED_TEXT = "[Message deleted]";

// The view is a pure function of confirmed data and pending operations: removing an operation rolls
// its change back, and keeps all other changes that have arrived meanwhile.

/**
 * Returns the messages that the user sees, in order; those that no node has accepted yet are last.
 *
 * @param {ConversationState} conversation
 * @param {readonly Operation[]} operations the conversation's operations, in order
 * @param {string} user @returns {Message[]}
 */
export function messages(conversation, operations, user) {
    const laid = [...lay(conversation, conversation.stretch, operations, user).values()]
        .filter((message) => !isHidden(message, user));
    const isWaiting = (/** @type {LaidMessage} */ message) => message.isWaiting ?? false;
    const sorted = [...laid.filter((each) => !isWaiting(each)), ...laid.filter(isWaiting)];
    return sorted.map((message) => shown(message, conversation, user));
}

/**
 * Returns the pinned messages of a conversation, the most recently pinned message first.
 *
 * @param {ConversationState} conversation @param {readonly Operation[]} operations
 * @param {string} user @returns {Message[]}
 */
export function pins(conversation, operations, user) {
    const laid = lay(conversation, conversation.messages.values(), operations, user);
    return [...laid.values()]
        .filter((message) => message.from && isPinned(message) && !isHidden(message, user))
        .sort((a, b) => (a.pinnedAt ?? "") < (b.pinnedAt ?? "") ? 1 : -1)
        .map((message) => shown(message, conversation, user));
}

/**
 * @param {ConversationState} conversation @param {Iterable<StoredMessage>} base
 * @param {readonly Operation[]} operations @param {string} user @returns {Map<string, LaidMessage>}
 */
function lay(conversation, base, operations, user) {
    /** @type {Map<string, LaidMessage>} */
    const laid = new Map();
    for (const message of base) laid.set(message.id, message);
    for (const { action, at } of operations) {
        const update = /** @type {Update} */ (consequenceOf(action, at, user));
        // A chat that the user has hidden shows the messages that have arrived since then.
        const clearedAt = action.kind === "hide" ? action.through : update.clearedAt;
        if (clearedAt !== undefined) {
            for (const [id, { at, isWaiting }] of laid) {
                // What waits is later than what was seen, whatever this device's clock says.
                if (update.hasLeft || !isWaiting && at <= clearedAt) laid.delete(id);
            }
        } else if (update.message) {
            const { message } = update;
            const known = laid.get(message.id);
            if (known) laid.set(known.id, { ...known, ...message, at: known.at });
            const part = conversation.messages.get(message.id);
            if (!known && action.kind === "send" && !part?.from) {
                laid.set(message.id, { ...part, ...message, isWaiting: true });
            }
        }
    }
    return laid;
}

/**
 * Returns a conversation's entry in the chat list; undefined if the list does not show it.
 *
 * @param {ConversationState} conversation
 * @param {readonly Operation[]} operations the conversation's operations, in order
 * @param {string} user @param {readonly Message[]} list the messages as the user sees them
 * @param {string} [readAt] the time of sending of the last message read on this device
 * @returns {Chat | undefined}
 */
export function chat(conversation, operations, user, list, readAt = "") {
    let { isArchived, row } = conversation;
    let [isCleared, isWaiting] = [false, false];
    for (const { action, at } of operations) {
        const update = /** @type {Update} */ (consequenceOf(action, at, user));
        if (update.hasLeft) return undefined;
        if (update.archivedAt) isArchived = true;
        if (update.unarchivedAt) isArchived = false;
        isCleared ||= update.clearedAt !== undefined;
        isWaiting ||= update.row !== undefined;
        row ??= update.row;
    }
    if (!row || isCleared && list.length === 0) return undefined;
    const { id, title, participants, createdAt } = row;
    // What is counted in the row of a chat that the user has hidden is hidden.
    const counted = isCleared ? { ...row, lastAt: undefined, unread: 0 } : row;
    const unread = unreadOf(conversation, counted, user, list, readAt);
    return {
        ...{ id, title, participants, createdAt, isArchived, isWaiting, unread },
        ...lastShown(conversation, row, list),
    };
}

/**
 * Returns the last message to show in the chat list: the newest that is not deleted for everyone,
 * so that the chat list agrees with the conversation view.
 *
 * @param {ConversationState} conversation @param {ChatRow} row @param {readonly Message[]} list
 */
function lastShown(conversation, row, list) {
    const last = list.findLast(({ deletedForEveryone }) => !deletedForEveryone);
    const { last: id, lastFrom, lastAt = "", lastText } = row;
    if (conversation.completeFrom === "" && !last) return { lastText: NOTHING };
    const isOlder = last && last.state !== "waiting" && last.at < lastAt;
    const isKnown = conversation.completeFrom === "" || conversation.messages.get(id ?? "")?.from;
    const isTold = !last || isOlder && !isKnown;
    if (isTold) return { last: id, lastFrom, lastAt: row.lastAt, lastText };
    return { last: last.id, lastFrom: last.from, lastAt: last.at, lastText: preview(last) };
}

/** @param {Message} message */
function preview({ type, text }) {
    if (type === "image") return "Photo";
    return type === "voice" ? "Voice message" : text;
}

/**
 * Returns the number of others' messages after the user's last read one. A node's count stands for
 * the messages up to the row's last one, unless all messages since the read one are known.
 *
 * @param {ConversationState} conversation @param {ChatRow} row @param {string} user
 * @param {readonly Message[]} list @param {string} readAt
 */
function unreadOf(conversation, { lastAt = "", unread }, user, list, readAt) {
    const told = conversation.marks.get(user)?.readSent ?? "";
    const read = told > readAt ? told : readAt;
    const isKnown = conversation.isCompleteAfter(read) || read >= lastAt;
    const start = isKnown ? read : lastAt;
    const later = list.filter(({ at, deletedForEveryone, isMine }) =>
        !isMine && !deletedForEveryone && at > start
    );
    return (isKnown ? 0 : unread) + later.length;
}

/**
 * Returns the action items, ordered by due time; items without a due time are last.
 *
 * @param {Iterable<StoredItem>} base @param {readonly Operation[]} operations @returns {Item[]}
 */
export function items(base, operations) {
    /** @type {Map<string, StoredItem & {isWaiting?: boolean}>} */
    const laid = new Map();
    for (const item of base) laid.set(item.id, item);
    for (const { action, at } of operations) {
        const update = consequenceOf(action, at, "");
        if (!("item" in update)) continue;
        const known = laid.get(update.item.id);
        if (known?.deleted || !known && action.kind !== "addItem") continue;
        laid.set(update.item.id, { ...known, ...update.item, isWaiting: true });
    }
    const list = [...laid.values()].filter(({ deleted, title }) => !deleted && title !== undefined);
    const due = (/** @type {Item} */ item) => item.due ? Date.parse(item.due) : Infinity;
    return list.map(shownItem).sort((a, b) =>
        due(a) === due(b) ? (a.id < b.id ? -1 : 1) : due(a) - due(b)
    );
}

/** @param {StoredItem & {isWaiting?: boolean}} item @returns {Item} */
function shownItem({ id, title = "", due, priority, chat, message, done, isWaiting }) {
    const [isDone, waits] = [done ?? false, isWaiting ?? false];
    return { id, title, due, priority, chat, message, isDone, isWaiting: waits };
}

/**
 * Returns a user's profile, with the changes that are pending if it is the signed-in user's.
 *
 * @param {Profile | undefined} base @param {readonly Operation[]} operations
 * @param {string} user @returns {Profile | undefined}
 */
export function profile(base, operations, user) {
    for (const { action, at } of operations) {
        const update = consequenceOf(action, at, user);
        if ("profile" in update) base = { ...base, ...update.profile };
    }
    return base;
}

/**
 * @param {LaidMessage} message @param {ConversationState} conversation @param {string} user
 * @returns {Message}
 */
function shown(message, { id: conversation, marks, row }, user) {
    const { id, from = "", at, type = "text", text = "" } = message;
    const { edited, item, blob, preview } = message;
    const isMine = from === user;
    const others = [...marks.values()].filter((mark) => mark.user !== from);
    const users = (/** @type {"readSent" | "deliveredSent"} */ position) =>
        others.filter((mark) => (mark[position] ?? "") >= at).map((mark) => mark.user);
    const readBy = users("readSent").sort();
    const deliveredTo = [...new Set([...users("deliveredSent"), ...readBy])].sort();
    const pin = isPinned(message) ? message : undefined;
    const whole = {
        ...{ id, conversation, from, at, type, text, edited, item, blob, preview, isMine },
        ...{ pinnedBy: pin?.pinnedBy, pinnedAt: pin?.pinnedAt, deliveredTo, readBy },
    };
    const state = message.isWaiting ? "waiting" : stateOf(isMine, from, row, deliveredTo, readBy);
    if (!message.deletedAt) return { ...whole, state };
    const none = { edited: undefined, blob: undefined, preview: undefined };
    return { ...whole, ...none, state, text: DELETED_TEXT, deletedForEveryone: true };
}

/**
 * Returns "read" or "delivered" if all other participants have read or received the message.
 *
 * @param {boolean} isMine @param {string} from @param {ChatRow | undefined} row
 * @param {string[]} deliveredTo @param {string[]} readBy @returns {Message["state"]}
 */
function stateOf(isMine, from, row, deliveredTo, readBy) {
    const others = (row?.participants ?? []).filter((name) => name !== from);
    if (!isMine || others.length === 0) return "sent";
    if (others.every((name) => readBy.includes(name))) return "read";
    return others.every((name) => deliveredTo.includes(name)) ? "delivered" : "sent";
}
