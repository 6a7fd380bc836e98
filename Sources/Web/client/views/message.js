/** The text shown in place of a message that was deleted for everyone. */
export const DELETED_TEXT = "[Message deleted]";

/**
 * A confirmed message, as nodes have reported it in responses and events.
 *
 * `changed` is the number of the last event about the message; the response to a request sent
 * before that event may be outdated. `visibilityAt` and `pinChangedAt` are the times of the last
 * hide/restore and pin/unpin events, by which repeated old events are ignored. An `isApart` message
 * is outside the loaded range of its conversation, for example an old pinned one. An `isHidden`
 * message was deleted by the user for themselves; it is kept so that no outdated response adds it
 * again.
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
 * Compares messages in conversation order: by time, then by the cluster's sequence number, then by
 * id. Of messages with the same time, those that an older version of the client stored without a
 * sequence number come first.
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
 * Returns the message contained in a response or an event, without the event's own fields.
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
 * Returns the time at which a message was last pinned or unpinned, as far as this device knows; an
 * empty string if never.
 *
 * @param {StoredMessage} [message]
 */
export function lastPinChange(message) {
    return message?.pinChangedAt ?? message?.pinnedAt ?? "";
}

/**
 * Merges a known message with the version of it in a node's response. That version may be older
 * than the known message.
 *
 * A deletion for everyone is permanent, and the lists of users who received or read the message are
 * merged. Of edits and pins, the later one wins. A response without a pin does not remove the known
 * pin, since the node may lack the pin.
 *
 * @param {StoredMessage} known
 * @param {StoredMessage} told
 * @param {boolean} isLate whether an event changed the message after the request was sent
 * @returns {StoredMessage}
 */
export function merge(known, told, isLate) {
    const text = (told.edited ?? "") >= (known.edited ?? "") ? told : known;
    const pinnedAt = told.pinnedAt ?? "";
    const pinChangedAt = lastPinChange(known);
    // A newer response restores a pin that was removed without an unpin event.
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
 * Returns the time and the sequence number of the earlier of two versions of a message.
 *
 * Two versions differ in the time and the number if two nodes have both accepted the message.
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
 * Returns a message as it is after its deletion for everyone, which is permanent.
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
