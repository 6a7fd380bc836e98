/**
 * The rules by which the page offers actions on a message. Nodes enforce the rules; the page only
 * avoids offering actions that nodes would reject.
 *
 * @typedef {import("../../client/types.js").Message} Message
 */

/** The age in milliseconds from which a message cannot be edited any more. */
const editWindowMilliseconds = 15 * 60 * 1000;

/**
 * @param {Message} message
 * @param {number} now the nodes' time
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
 * Whether a message's text can be copied. Browsers offer the clipboard only in secure contexts:
 * HTTPS and localhost.
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
