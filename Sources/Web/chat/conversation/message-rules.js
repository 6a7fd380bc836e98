/**
 * What may be done with a message. The node decides; these rules keep the page from offering what
 * it would refuse.
 *
 * @typedef {import("../../client/types.js").Message} Message
 */

/** Exactly at its end, an edit is refused. */
const editWindowMilliseconds = 15 * 60 * 1000;

/**
 * @param {Message} message
 * @param {number} now the time of the nodes
 */
export function canEdit(message, now) {
    return message.isMine && message.type === "text" && !message.blob &&
        !message.deletedForEveryone &&
        Date.parse(message.at) > now - editWindowMilliseconds;
}

/** @param {Message} message */
export function canDeleteForEveryone(message) {
    return message.isMine && !message.deletedForEveryone;
}

/**
 * Whether the text can be copied: browsers have a clipboard for pages of this machine, and for
 * those that are encrypted.
 *
 * @param {Message} message
 */
export function canCopy(message) {
    return !message.deletedForEveryone && message.text !== "" &&
        globalThis.navigator?.clipboard !== undefined;
}

/** @param {Message} message */
export function canPin(message) {
    return !message.deletedForEveryone && message.type !== "system";
}
