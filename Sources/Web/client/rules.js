import { noAnswer } from "./failures.js";

/** @typedef {import("./types.js").Message} Message */

/** How long a message may be edited where the nodes do not say otherwise (`--edit-window`). */
const EDIT_MILLISECONDS = 15 * 60_000;

/** The sentences of the nodes, for refusals that need no request. */
export const refusals = {
    notSignedIn: { code: 401, message: "User not authenticated" },
    noMessage: { code: 404, message: "Message not found" },
    empty: { code: 400, message: "Message cannot be empty" },
    notSender: { code: 403, message: "Only the sender can delete for everyone" },
    notEditable: {
        code: 403,
        message: "You can only edit your own messages within 15 minutes",
    },
    notStored: { code: 0, message: "This device cannot store the change" },
    full: { code: 429, message: "Too many changes wait for the network" },
    noAnswer,
};

/**
 * Whether an edit of a message may be offered; the node decides.
 *
 * @param {Message} message
 * @param {number} now milliseconds since 1970
 */
export function canEdit(message, now) {
    return message.isMine && !message.deletedForEveryone && message.type !== "system" &&
        now < Date.parse(message.at) + EDIT_MILLISECONDS;
}

/** @param {Message} message */
export function canDeleteForEveryone(message) {
    return message.isMine && !message.deletedForEveryone;
}
