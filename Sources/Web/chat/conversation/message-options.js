import { makeSheet, openSheet } from "../dialogs/options-sheet.js";
import { canCopy, canDeleteForEveryone, canEdit, canPin } from "./message-rules.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/types.js").Message} Message
 * @typedef {import("../dialogs/options-sheet.js").Choice} Choice
 */

/**
 * @typedef {{
 *   now: () => number,
 *   editWindow: () => number,
 *   edit: (message: Message) => void,
 *   copy: (message: Message) => void,
 *   pin: (message: Message) => void,
 *   unpin: (message: Message) => void,
 *   createItem: (message: Message) => void,
 *   deleteForMe: (message: Message) => void,
 *   deleteForEveryone: (message: Message) => void,
 * }} OptionActions
 */

const words = texts.options;

/**
 * Returns the choices that the dialog "Message Options" offers for a message, in display order.
 *
 * @param {Message} message
 * @param {OptionActions} actions
 * @returns {Choice[]}
 */
function choices(message, actions) {
    /** @type {[boolean, Choice][]} */
    const all = [
        [canEdit(message, actions.now(), actions.editWindow()), {
            title: words.edit,
            icon: "pencil",
            action: () => actions.edit(message),
        }],
        [canPin(message), pinChoice(message, actions)],
        [canCopy(message), {
            title: words.copy,
            icon: "copy",
            action: () => actions.copy(message),
        }],
        [!message.deletedForEveryone, {
            title: words.createItem,
            icon: "item",
            action: () => actions.createItem(message),
        }],
        [true, {
            title: words.deleteForMe,
            icon: "trash",
            style: "destructive",
            action: () => actions.deleteForMe(message),
        }],
        [canDeleteForEveryone(message), {
            title: words.deleteForEveryone,
            icon: "trashFilled",
            style: "destructive",
            action: () => actions.deleteForEveryone(message),
        }],
    ];
    return all.filter(([isOffered]) => isOffered).map(([, choice]) => choice);
}

/**
 * @param {Message} message
 * @param {OptionActions} actions
 * @returns {Choice}
 */
function pinChoice(message, actions) {
    return message.pinnedAt
        ? { title: words.unpin, icon: "pinOff", action: () => actions.unpin(message) }
        : { title: words.pin, icon: "pin", action: () => actions.pin(message) };
}

/**
 * Returns the dialog "Message Options" with the actions on a message.
 *
 * @param {Message} message
 * @param {OptionActions} actions
 */
export function makeMessageOptions(message, actions) {
    return makeSheet(words.title, choices(message, actions));
}

/**
 * @param {Message} message
 * @param {OptionActions} actions
 */
export function openMessageOptions(message, actions) {
    openSheet(words.title, choices(message, actions));
}
