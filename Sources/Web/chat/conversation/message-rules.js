/**
 * The rules by which the page offers actions on a message. Nodes enforce the rules; the page only
 * avoids offering actions that nodes would reject.
 *
 * @typedef {import("../../client/types.js").Message} Message
 */

/**
 * @param {Message} message
 * @param {number} now the nodes' time
 * @param {number} editWindow the age in milliseconds from which a message cannot be edited any more
 */
export function canEdit(message, now, editWindow) {
    return message.isMine && message.type === "text" && !message.blob &&
        !message.deletedForEveryone &&
        Date.parse(message.at) > now - editWindow;
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
