import { attempt } from "../dialogs/alert.js";
import { openConfirm } from "../dialogs/confirm.js";
import { openDialog } from "../dialogs/dialog.js";
import { openEditHistory } from "./edit-history.js";
import { fileURL } from "./file-urls.js";
import { openItemForm } from "../list/item-form.js";
import { MessageDetails } from "./message-details.js";
import { openMessageOptions } from "./message-options.js";
import { openPhotoViewer } from "../dialogs/photo-viewer.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/types.js").Message} Message
 * @typedef {import("./conversation-page.js").ConversationContext} ConversationContext
 */

/**
 * Returns the functions that a message row calls for the user's actions on its message.
 *
 * @param {ConversationContext} context
 * @param {(message: Message) => void} edit
 * @returns {import("./message-row.js").MessageActions}
 */
export function makeMessageActions(context, edit) {
    const { client } = context;
    const deleteForMe = (/** @type {Message} */ message) => deleteWithUndo(context, message);
    const options = {
        now: () => client.now,
        editWindow: () => client.editWindow,
        edit,
        copy: (/** @type {Message} */ message) => copy(context, message),
        pin: (/** @type {Message} */ { conversation, id }) => attempt(client.pin(conversation, id)),
        unpin: (/** @type {Message} */ { conversation, id }) =>
            attempt(client.unpin(conversation, id)),
        createItem: (/** @type {Message} */ message) => createItem(context, message),
        deleteForMe,
        deleteForEveryone: (/** @type {Message} */ message) => deleteForEveryone(context, message),
    };
    return {
        openOptions: (message) => openMessageOptions(message, options),
        openHistory: ({ conversation, id }) =>
            openEditHistory(() => client.edits(conversation, id)),
        openDetails: (message) => openDetails(context, message),
        deleteForMe,
        file: (conversation, blob) => client.file(conversation, blob),
        openPhoto: ({ conversation, blob }, sender) => {
            if (!blob) return;
            openPhotoViewer(sender, () => fileURL(blob, () => client.file(conversation, blob)));
        },
        toggleItem: (item, isDone) => client.setItemDone(item, isDone),
    };
}

/**
 * @param {ConversationContext} context
 * @param {Message} message
 */
function deleteWithUndo({ client, toast }, { conversation, id }) {
    attempt(client.deleteForMe(conversation, id), texts.options.deleteFailed);
    const undo = () => attempt(client.restore(conversation, id));
    toast.show(texts.options.hidden, { label: texts.undo, action: undo });
}

/**
 * @param {ConversationContext} context
 * @param {Message} message
 */
function deleteForEveryone({ client }, { conversation, id }) {
    const words = texts.options;
    const question = {
        title: words.deleteForEveryone,
        text: words.deleteForEveryoneText,
        confirm: texts.delete,
    };
    openConfirm(question, () => {
        attempt(client.deleteForEveryone(conversation, id), words.deleteFailed);
    });
}

/**
 * @param {ConversationContext} context
 * @param {Message} message
 */
function copy({ toast }, { text }) {
    const copied = navigator.clipboard.writeText(text);
    attempt(copied.then(() => toast.show(texts.options.copied)));
}

/**
 * @param {ConversationContext} context
 * @param {Message} message
 */
function createItem({ client, announcer }, message) {
    const fields = { title: message.text || texts.message.photo };
    openItemForm(texts.items.create, fields, (item) => {
        client.addItem({ ...item, chat: message.conversation, message: message.id });
        announcer.say(texts.items.created);
    });
}

/**
 * Opens the dialog that shows to whom a message is delivered and who has read it.
 *
 * The dialog is updated while it is open.
 *
 * @param {ConversationContext} context
 * @param {Message} opened
 */
function openDetails({ client, people }, opened) {
    const details = new MessageDetails();
    const render = () => {
        const { chat, marks, messages } = client.conversation(opened.conversation);
        const message = messages.find((each) => each.id === opened.id) ?? opened;
        const others = chat ? people.others(chat) : [];
        const named = others.map((user) => ({ user, name: people.person(user).name }));
        details.render(message, named, marks);
    };
    render();
    openDialog(details.dialog(), { onClose: client.subscribe(render) });
}
