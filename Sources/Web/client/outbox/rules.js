import { noAnswer } from "../network/failures.js";

/** The errors reported without a request, mostly with the codes and messages of nodes. */
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
 * Returns the error with which nodes would reject an action, as far as this device can judge.
 *
 * @param {import("../types.js").Action} action
 * @param {import("../types.js").Message} [message] the message of the action, if the user sees it
 */
export function refusalOf(action, message) {
    const { kind } = action;
    const hasText = kind === "edit" || kind === "send" && !action.blob;
    if (hasText && action.text.trim() === "") return refusals.empty;
    if (!("message" in action) || ["addItem", "send", "restore"].includes(kind)) return undefined;
    if (!message) return refusals.noMessage;
    if (kind === "edit" && !message.isMine) return refusals.notEditable;
    return kind === "retract" && !message.isMine ? refusals.notSender : undefined;
}
