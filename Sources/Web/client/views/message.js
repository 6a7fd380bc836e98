/** The text in place of one that was deleted for everyone. */
export const DELETED_TEXT = "[Message deleted]";

/**
 * A message as the cluster has told of it.
 *
 * `changed` is the number of the last event about it: an answer that was asked for earlier may be
 * older than what the event said. `visibilityAt` and `pinChangedAt` are the times of the last
 * events of these kinds, since an event may be told twice and then stands for the past. An `isApart`
 * message is not part of the loaded stretch of its conversation, but for instance pinned. One that
 * `isHidden` was deleted by the user; it is kept, so that no late answer brings it back.
 *
 * @typedef {{
 *   id: string, seq?: string, from: string, at: string,
 *   type: "text" | "image" | "voice" | "system" | "action", text: string,
 *   edited?: string, item?: string, blob?: string, preview?: string,
 *   pinnedBy?: string, pinnedAt?: string, deletedForEveryone?: boolean,
 *   deletedBy?: string[], deliveredTo?: string[], readBy?: string[],
 *   changed: number, visibilityAt?: string, pinChangedAt?: string,
 *   isApart?: boolean, isHidden?: boolean,
 * }} StoredMessage
 */

/**
 * The order of a conversation: by time, within a millisecond as the cluster numbers it, and by id
 * where that is equal, too. What was stored before there were numbers comes first.
 *
 * @param {{at: string, seq?: string, id: string}} a
 * @param {{at: string, seq?: string, id: string}} b
 */
export function compare(a, b) {
    if (a.at !== b.at) return a.at < b.at ? -1 : 1;
    const [left, right] = [a.seq ?? "", b.seq ?? ""];
    if (left !== right) return left < right ? -1 : 1;
    return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/**
 * Returns the message of an answer or an event, without the keys of the event.
 *
 * @param {any} fields
 * @param {number} changed
 * @returns {StoredMessage}
 */
export function storedMessage(fields, changed) {
    const { id, seq, from, at, type, text } = fields;
    /** @type {StoredMessage} */
    const message = { id, seq, from, at, type, text: text ?? "", changed };
    const { edited, item, blob, preview, pinnedBy, pinnedAt, deletedForEveryone } = fields;
    const { deletedBy, deliveredTo, readBy } = fields;
    Object.assign(message, { edited, item, blob, preview, pinnedBy, pinnedAt, deletedForEveryone });
    return Object.assign(message, { deletedBy, deliveredTo, readBy });
}

/**
 * Returns when a message was last pinned or unpinned, as far as is known; empty for never.
 *
 * @param {StoredMessage} [message]
 */
export function lastPinChange(message) {
    return message?.pinChangedAt ?? message?.pinnedAt ?? "";
}

/**
 * Joins what is known of a message with what an answer says, which may be older.
 *
 * What only grows, such as deletions and marks, is united; edits and pins count by their times. That
 * a pin is gone is told by events alone: the answer may come from a node that does not know it yet.
 *
 * @param {StoredMessage} known
 * @param {StoredMessage} told
 * @param {boolean} isLate whether events came after the question
 * @returns {StoredMessage}
 */
export function merge(known, told, isLate) {
    const text = (told.edited ?? "") >= (known.edited ?? "") ? told : known;
    const pinnedAt = told.pinnedAt ?? "";
    const pinChangedAt = lastPinChange(known);
    // A pin that is gone without an event may be there after all.
    const isBack = !isLate && !known.pinnedAt && pinnedAt === pinChangedAt;
    const isPinNewer = isBack || pinnedAt > pinChangedAt;
    const pin = isPinNewer ? told : known;
    /** @type {StoredMessage} */
    const merged = {
        ...known,
        ...told,
        ...firstPlace(known, told),
        text: text.text,
        edited: text.edited,
        pinnedBy: pin.pinnedBy,
        pinnedAt: pin.pinnedAt,
        pinChangedAt: isPinNewer ? told.pinnedAt : known.pinChangedAt,
        visibilityAt: known.visibilityAt,
        isHidden: known.isHidden,
        isApart: known.isApart && told.isApart,
        deletedBy: isLate ? known.deletedBy : told.deletedBy,
        deliveredTo: union(known.deliveredTo, told.deliveredTo),
        readBy: union(known.readBy, told.readBy),
        changed: Math.max(known.changed, told.changed),
    };
    return known.deletedForEveryone || told.deletedForEveryone ? retracted(merged) : merged;
}

/**
 * Returns the earlier place of a message: two nodes may have accepted it.
 *
 * @param {StoredMessage} a
 * @param {StoredMessage} b
 */
function firstPlace(a, b) {
    if (a.at !== b.at) return a.at < b.at ? { at: a.at, seq: a.seq } : { at: b.at, seq: b.seq };
    const [seq] = [a.seq, b.seq].filter((number) => number !== undefined).sort();
    return { at: a.at, seq };
}

/**
 * Returns a message after its deletion for everyone, which nothing undoes.
 *
 * @template {StoredMessage} M
 * @param {M} message
 * @returns {M}
 */
export function retracted(message) {
    return {
        ...message,
        text: DELETED_TEXT,
        deletedForEveryone: true,
        edited: undefined,
        blob: undefined,
        preview: undefined,
        pinnedBy: undefined,
        pinnedAt: undefined,
    };
}

/**
 * @param {string[] | undefined} a
 * @param {string[] | undefined} b
 */
export function union(a, b) {
    if (!a?.length) return b;
    if (!b?.length) return a;
    return [...new Set([...a, ...b])].sort();
}
