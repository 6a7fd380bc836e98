import { UNKNOWN_TIME } from "../state/message.js";

/** @typedef {import("../state/confirmed.js").StateUpdate} StateUpdate */
/** @typedef {import("../state/message.js").StoredMessage} StoredMessage */
/** @typedef {import("../types.js").Action} Action */
/** @typedef {import("../types.js").ActionFields} ActionFields */
/** @typedef {{method: string, path: string, body?: unknown}} Request */

/**
 * The request that performs a kind of action, and the consequence of the action. The consequence is
 * laid over the view while the action is pending, and merged into the confirmed state when a node
 * has accepted the action; `at` is then the action's time at nodes.
 *
 * @template {keyof ActionFields} K
 * @typedef {{
 *   request: (action: ActionFields[K]) => Request,
 *   consequence: (action: ActionFields[K], at: string, user: string) => StateUpdate,
 * }} Kind
 */

/**
 * All kinds of actions. Their requests are idempotent, because the client assigns the ids of new
 * objects, and sends the other actions with a stamp.
 * @type {{[K in keyof ActionFields]: Kind<K>}}
 */
const kinds = {
    create: {
        request: ({ conversation: id, title, emails }) => {
            const body = { id, title: title || undefined, emails };
            return { method: "POST", path: "/v1/conversations", body };
        },
        consequence: ({ conversation: id, title }, createdAt, user) => {
            const row = {
                id,
                title,
                participants: [user],
                createdAt,
                lastText: NOTHING,
                unread: 0,
            };
            return { conversation: id, row };
        },
    },
    send: {
        request: ({ conversation, message: id, type, text, blob, preview }) => {
            const body = { id, type, text, blob, preview };
            return { method: "POST", path: `${pathOf(conversation)}/messages`, body };
        },
        consequence: ({ conversation, message: id, type, text, blob, preview }, at, from) => (
            { conversation, message: { id, at, from, type, text, blob, preview } }
        ),
    },
    edit: {
        request: ({ conversation, message, text }) => (
            { method: "PATCH", path: pathOf(conversation, "messages", message), body: { text } }
        ),
        consequence: ({ conversation, message, text }, edited) =>
            ofMessage(conversation, message, { text, edited }),
    },
    delete: {
        request: ({ conversation, message }) => (
            { method: "DELETE", path: `${pathOf(conversation, "messages", message)}?for=me` }
        ),
        consequence: ({ conversation, message }, hiddenAt) =>
            ofMessage(conversation, message, { hiddenAt, restoredAt: undefined }),
    },
    retract: {
        request: ({ conversation, message }) => (
            { method: "DELETE", path: `${pathOf(conversation, "messages", message)}?for=everyone` }
        ),
        consequence: ({ conversation, message }, deletedAt, from) =>
            ofMessage(conversation, message, { from, deletedAt }),
    },
    restore: {
        request: ({ conversation, message }) => (
            { method: "POST", path: `${pathOf(conversation, "messages", message)}/restore` }
        ),
        consequence: ({ conversation, message }, restoredAt) =>
            ofMessage(conversation, message, { hiddenAt: undefined, restoredAt }),
    },
    pin: {
        request: ({ conversation, message }) => (
            { method: "PUT", path: pathOf(conversation, "pins", message) }
        ),
        consequence: ({ conversation, message }, pinnedAt, pinnedBy) =>
            ofMessage(conversation, message, { pinnedBy, pinnedAt, unpinnedAt: undefined }),
    },
    unpin: {
        request: ({ conversation, message }) => (
            { method: "DELETE", path: pathOf(conversation, "pins", message) }
        ),
        consequence: ({ conversation, message }, unpinnedAt) =>
            ofMessage(conversation, message, { pinnedAt: undefined, unpinnedAt }),
    },
    archive: {
        request: ({ conversation }) => ({
            method: "PUT",
            path: `${chatPath(conversation)}/archive`,
        }),
        consequence: ({ conversation }, archivedAt) => ({ conversation, archivedAt }),
    },
    unarchive: {
        request: ({ conversation }) => (
            { method: "DELETE", path: `${chatPath(conversation)}/archive` }
        ),
        consequence: ({ conversation }, unarchivedAt) => ({ conversation, unarchivedAt }),
    },
    hide: {
        request: ({ conversation }) => ({ method: "DELETE", path: chatPath(conversation) }),
        consequence: ({ conversation, through }, clearedAt) => (
            { conversation, clearedAt, through }
        ),
    },
    leave: {
        request: ({ conversation }) => ({ method: "POST", path: `${pathOf(conversation)}/leave` }),
        consequence: ({ conversation }, clearedAt) => ({ conversation, clearedAt, hasLeft: true }),
    },
    addItem: {
        request: ({ item: id, title, due, priority, chat, message }) => {
            const body = { id, title, due, priority, chat, message };
            return { method: "POST", path: "/v1/items", body };
        },
        consequence: ({ item: id, ...fields }, at) => {
            const times = { titleChanged: at, dueChanged: at, priorityChanged: at };
            return { item: { id, ...fields, ...times, doneChanged: at } };
        },
    },
    editItem: {
        request: ({ item, changes }) => ({ method: "PATCH", path: itemPath(item), body: changes }),
        consequence: ({ item: id, changes }, at) => {
            const fields = Object.entries(changes).flatMap(([name, value]) => [
                [name, value ?? undefined],
                [`${name}Changed`, at],
            ]);
            return { item: { id, ...Object.fromEntries(fields) } };
        },
    },
    completeItem: {
        request: ({ item, isDone }) => (
            { method: isDone ? "PUT" : "DELETE", path: `${itemPath(item)}/done` }
        ),
        consequence: ({ item: id, isDone: done }, doneChanged) => ({
            item: { id, done, doneChanged },
        }),
    },
    deleteItem: {
        request: ({ item }) => ({ method: "DELETE", path: itemPath(item) }),
        consequence: ({ item: id }) => ({ item: { id, deleted: true } }),
    },
    setProfile: {
        request: ({ name, photo }) => (
            { method: "PATCH", path: "/v1/profile", body: { name, photo } }
        ),
        consequence: ({ name, photo }, at, user) => {
            const ofName = name === undefined ? {} : { name, nameChanged: at };
            const ofPhoto = photo === undefined ? {} : { photo, photoChanged: at };
            return { profile: { user, ...ofName, ...ofPhoto } };
        },
    },
};

/** The text shown in the chat list for a chat without messages. */
export const NOTHING = "No messages yet";

/** Returns the request that performs an action. @param {Action} action @returns {Request} */
export function requestOf(action) {
    return /** @type {Kind<any>} */ (kinds[action.kind]).request(action);
}

/**
 * Returns what an action changes.
 *
 * @param {Action} action @param {string} at the action's time, in RFC 3339 @param {string} user
 * @returns {StateUpdate}
 */
export function consequenceOf(action, at, user) {
    return /** @type {Kind<any>} */ (kinds[action.kind]).consequence(action, at, user);
}

/** @param {string} conversation @param {string} message @param {Partial<StoredMessage>} fields */
function ofMessage(conversation, message, fields) {
    return { conversation, message: { id: message, at: UNKNOWN_TIME, ...fields } };
}

/** @param {string[]} parts the conversation, and what is meant in it */
function pathOf(...parts) {
    return `/v1/conversations/${parts.map(encodeURIComponent).join("/")}`;
}

/** @param {string} conversation */
function chatPath(conversation) {
    return `/v1/chats/${encodeURIComponent(conversation)}`;
}

/** @param {string} item */
function itemPath(item) {
    return `/v1/items/${encodeURIComponent(item)}`;
}
