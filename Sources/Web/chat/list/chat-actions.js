import { attempt } from "../dialogs/alert.js";
import { openConfirm } from "../dialogs/confirm.js";
import { openSheet } from "../dialogs/options-sheet.js";
import { chatsAddress } from "../route.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/types.js").Chat} Chat
 * @typedef {import("./chat-row.js").ChatActions} ChatActions
 */

/**
 * The actions in an open chat. `blockable` returns the other participant of a chat with two
 * participants; `found` resolves with the participant's name, which may not be loaded yet.
 *
 * @typedef {{
 *   leave: (chat: Chat) => void,
 *   block: (user: string) => void,
 *   blockable: (chat: Chat) => {user: string, name: string, found: Promise<string>} | undefined,
 * }} PersonActions
 */

const words = texts.chats;

/**
 * Returns the actions on a chat: archive, hide, leave and block.
 *
 * @param {{
 *   client: import("../../client/client.js").Client,
 *   people: import("./people.js").People,
 *   toast: import("../parts/toast.js").Toast,
 * }} context
 * @param {() => string | undefined} openChat returns the id of the open chat
 * @returns {ChatActions & PersonActions}
 */
export function makeChatActions({ client, people, toast }, openChat) {
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
            const { leave: title, leaveText: text } = texts.conversation;
            openConfirm({ title, text, confirm: title }, () => {
                attempt(client.leave(id));
                location.hash = chatsAddress;
            });
        },
        block: (/** @type {string} */ user) => {
            const { name } = people.person(user);
            const undo = () => attempt(client.unblock(user));
            const notice = texts.blocks.blocked(name);
            attempt(
                client.block(user).then(() =>
                    toast.show(notice, { label: texts.undo, action: undo })
                ),
            );
        },
        blockable: (/** @type {Chat} */ chat) => {
            const user = people.partner(chat);
            if (!user) return undefined;
            return { user, name: people.person(user).name, found: people.findName(user) };
        },
        openOptions: (/** @type {Chat} */ chat) => openChatOptions(chat, actions),
    };
    return actions;
}

/**
 * Opens the dialog "Chat Options" with the actions on a chat.
 *
 * @param {Chat} chat
 * @param {Omit<ChatActions, "openOptions"> & Partial<PersonActions>} actions
 * @param {{isOpen?: boolean}} [options] whether the chat is open, which adds the actions to block
 *     and to leave
 */
export function openChatOptions(chat, actions, { isOpen = false } = {}) {
    /** @type {import("../dialogs/options-sheet.js").Choice[]} */
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
    if (isOpen) {
        const person = actions.blockable?.(chat);
        if (person) {
            const { block } = texts.blocks;
            choices.push({
                title: block(person.name),
                found: person.found.then((name) => name && block(name)),
                icon: "blocked",
                style: "destructive",
                action: () => actions.block?.(person.user),
            });
        }
        choices.push({
            title: texts.conversation.leave,
            icon: "leave",
            style: "destructive",
            action: () => actions.leave?.(chat),
        });
    }
    openSheet(words.options, choices);
}
