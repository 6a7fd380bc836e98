import { openItemForm } from "./item-form.js";
import { openSheet } from "../dialogs/options-sheet.js";
import { chatAddress } from "../route.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/types.js").Item} Item
 * @typedef {import("./item-row.js").ItemActions} ItemActions
 */

const words = texts.items;

/**
 * Returns the actions on action items: add, complete, edit and delete.
 *
 * @param {import("../../client/client.js").Client} client
 * @returns {ItemActions & {add: () => void}}
 */
export function makeItemActions(client) {
    const actions = {
        add: () => openItemForm(words.add, { title: "" }, (item) => client.addItem(item)),
        toggle: (/** @type {Item} */ { id, isDone }) => client.setItemDone(id, !isDone),
        edit: (/** @type {Item} */ item) =>
            openItemForm(words.editTitle, item, ({ title, due, priority }) => {
                client.editItem(item.id, { title, due: due ?? null, priority: priority ?? null });
            }),
        delete: (/** @type {Item} */ { id }) => client.deleteItem(id),
        openOptions: (/** @type {Item} */ item) => openItemOptions(item, actions),
    };
    return actions;
}

/**
 * Opens the dialog "Action Item Options" with the actions on an action item.
 *
 * @param {Item} item
 * @param {Omit<ItemActions, "openOptions">} actions
 */
function openItemOptions(item, actions) {
    const { chat, message } = item;
    /** @type {import("../dialogs/options-sheet.js").Choice[]} */
    const choices = [{ title: words.edit, icon: "pencil", action: () => actions.edit(item) }];
    if (chat) {
        choices.push({
            title: words.openChat,
            icon: "bubble",
            action: () => location.hash = chatAddress(chat, message),
        });
    }
    choices.push({
        title: words.delete,
        icon: "trash",
        style: "destructive",
        action: () => actions.delete(item),
    });
    openSheet(words.options, choices);
}
