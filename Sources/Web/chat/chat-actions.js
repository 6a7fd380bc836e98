import { attempt } from "./alert.js";
import { openSheet } from "./options-sheet.js";
import { chatsAddress } from "./route.js";
import { texts } from "./texts.js";

/**
 * @typedef {import("../client/types.js").Chat} Chat
 * @typedef {import("./chat-row.js").ChatActions} ChatActions
 */

const words = texts.chats;

/**
 * Makes the actions on a chat as a whole.
 *
 * @param {{client: import("../client/client.js").Client, toast: import("./toast.js").Toast}} context
 * @param {() => string | undefined} openChat the id of the chat beside the list
 * @returns {ChatActions & {leave: (chat: Chat) => void}}
 */
export function makeChatActions({ client, toast }, openChat) {
    const actions = {
        archive: (/** @type {Chat} */ { id }) => {
            attempt(client.archive(id));
            const undo = () => attempt(client.unarchive(id));
            toast.show(words.archivedNotice, { label: texts.undo, action: undo });
        },
        unarchive: (/** @type {Chat} */ { id }) => {
            attempt(client.unarchive(id));
        },
        hide: (/** @type {Chat} */ { id }) => {
            attempt(client.hide(id));
            if (id === openChat()) location.hash = chatsAddress;
            toast.show(words.deleted);
        },
        leave: (/** @type {Chat} */ { id }) => {
            attempt(client.leave(id));
            location.hash = chatsAddress;
        },
        openOptions: (/** @type {Chat} */ chat) => openChatOptions(chat, actions),
    };
    return actions;
}

/**
 * Opens the sheet "Chat Options".
 *
 * @param {Chat} chat
 * @param {Omit<ChatActions, "openOptions"> & {leave?: (chat: Chat) => void}} actions
 * @param {{canLeave?: boolean}} [options]
 */
export function openChatOptions(chat, actions, { canLeave = false } = {}) {
    /** @type {import("./options-sheet.js").Choice[]} */
    const choices = [
        chat.isArchived
            ? { title: words.unarchive, icon: "unarchive", action: () => actions.unarchive(chat) }
            : { title: words.archive, icon: "archive", action: () => actions.archive(chat) },
        {
            title: words.delete,
            icon: "trash",
            style: "destructive",
            action: () => actions.hide(chat),
        },
    ];
    if (canLeave) {
        choices.push({
            title: texts.conversation.leave,
            icon: "leave",
            style: "destructive",
            action: () => actions.leave?.(chat),
        });
    }
    openSheet(words.options, choices);
}
