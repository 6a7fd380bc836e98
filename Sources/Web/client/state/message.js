import { isLater } from "./fields.js";

/** The time of sending of a message of which it is not known: later than all times. */
export const UNKNOWN_TIME = "9";

/**
 * The values of a message as nodes have told them, each with the time of its last change. Times are
 * RFC 3339 with nine digits after the second, so that later times are greater strings. `at` is the
 * time of sending, `edited` that of the text. A message without `from` is known only in part, for
 * instance by its pin. An `isUnsure` message is known only from answers that may be older than the
 * event stream: it may have been deleted without an event that tells of it.
 *
 * @typedef {{
 *   id: string, at: string, from?: string,
 *   type?: "text" | "image" | "voice" | "system" | "action", text?: string, edited?: string,
 *   item?: string, blob?: string, preview?: string,
 *   pinnedBy?: string, pinnedAt?: string, unpinnedAt?: string,
 *   hiddenAt?: string, restoredAt?: string, deletedAt?: string, isUnsure?: boolean,
 * }} StoredMessage
 */

/**
 * Compares messages in conversation order: by the time of sending, then by id.
 *
 * @param {{at: string, id: string}} a @param {{at: string, id: string}} b
 */
export function compare(a, b) {
    if (a.at !== b.at) return a.at < b.at ? -1 : 1;
    return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/** Returns an answer's or event's message. @param {any} fields @returns {StoredMessage} */
export function storedMessage(fields) {
    const { id, from, type, text = "", edited, item, blob, preview } = fields;
    const { pinnedBy, pinnedAt, unpinnedAt, hiddenAt, restoredAt, deletedAt } = fields;
    return {
        ...{ id, at: fields.sent ?? fields.at, from, type, text, edited, item, blob, preview },
        ...{ pinnedBy, pinnedAt, unpinnedAt, hiddenAt, restoredAt, deletedAt },
    };
}

/**
 * Joins two versions of a message, in any order: the value with the later time holds, and a
 * deletion for everyone holds against all else.
 *
 * @param {StoredMessage} a @param {StoredMessage} b @returns {StoredMessage}
 */
export function join(a, b) {
    const whole = a.from === undefined ? b : a;
    // Where two nodes have accepted one message, the earlier acceptance is its place.
    const at = a.at < b.at ? a.at : b.at;
    const text = isLater([timeOfText(b), b.text], [timeOfText(a), a.text]) ? b : a;
    const pin = isLater([b.pinnedAt, b.pinnedBy], [a.pinnedAt, a.pinnedBy]) ? b : a;
    const joined = {
        ...whole,
        at,
        text: text.text,
        edited: text.edited,
        pinnedBy: pin.pinnedBy,
        pinnedAt: pin.pinnedAt,
        unpinnedAt: later(a.unpinnedAt, b.unpinnedAt),
        hiddenAt: later(a.hiddenAt, b.hiddenAt),
        restoredAt: later(a.restoredAt, b.restoredAt),
        deletedAt: later(a.deletedAt, b.deletedAt),
        isUnsure: [a, b].every(({ from, isUnsure }) => !from || isUnsure) || undefined,
    };
    return joined.deletedAt ? erased(joined) : joined;
}

/** @param {string | undefined} a @param {string | undefined} b */
export function later(a, b) {
    return (b ?? "") > (a ?? "") ? b : a;
}

/** @param {StoredMessage} message */
export function isPinned({ deletedAt, pinnedAt, unpinnedAt = "" }) {
    return pinnedAt !== undefined && pinnedAt >= unpinnedAt && !deletedAt;
}

/**
 * Whether a user sees nothing of a message: hidden by the user, or own and deleted for everyone.
 *
 * @param {StoredMessage} message @param {string} user
 */
export function isHidden({ deletedAt, from, hiddenAt, restoredAt = "" }, user) {
    if (deletedAt && from === user) return true;
    return hiddenAt !== undefined && hiddenAt >= restoredAt;
}

/**
 * Returns a message as it is after its deletion for everyone.
 *
 * @param {StoredMessage} message @returns {StoredMessage}
 */
function erased({ at, deletedAt, from, hiddenAt, id, isUnsure, restoredAt }) {
    return { id, at, from, hiddenAt, restoredAt, deletedAt, isUnsure };
}

/**
 * Returns what is known of the deletion of a message; undefined if it was not deleted.
 *
 * @param {StoredMessage} message @returns {StoredMessage | undefined}
 */
export function deletionOf({ at, deletedAt, hiddenAt, id, restoredAt }) {
    return hiddenAt || deletedAt ? { id, at, deletedAt, hiddenAt, restoredAt } : undefined;
}

/**
 * Returns the time of a message's text: that of a first text is earlier than that of any edit.
 *
 * @param {StoredMessage} message
 */
function timeOfText({ edited, text }) {
    return text === undefined ? "" : edited ?? "0";
}
