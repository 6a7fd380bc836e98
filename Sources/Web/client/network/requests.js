/** @typedef {import("../types.js").Action} Action */
/** @typedef {{method: string, path: string, body?: unknown}} Request */

/**
 * Returns the HTTP request that performs a user's action, such as sending a message. The request is
 * idempotent, because the client and not the node assigns the ids of new objects.
 *
 * @param {Action} action
 * @returns {Request}
 */
export function request(action) {
    if ("item" in action) return itemRequest(action);
    if (action.kind === "setProfile") {
        const { name, photo } = action;
        return { method: "PATCH", path: "/v1/profile", body: { name, photo } };
    }
    const chat = `/v1/chats/${encodeURIComponent(action.conversation)}`;
    const conversation = `/v1/conversations/${encodeURIComponent(action.conversation)}`;
    const id = "message" in action ? encodeURIComponent(action.message) : "";
    const message = `${conversation}/messages/${id}`;
    switch (action.kind) {
        case "create": {
            const { conversation: id, email, emails } = action;
            const title = action.title || undefined;
            const body = { id, title, email, emails };
            return { method: "POST", path: "/v1/conversations", body };
        }
        case "send": {
            const { message: id, type, text, blob, preview } = action;
            const body = { id, type, text, blob, preview };
            return { method: "POST", path: `${conversation}/messages`, body };
        }
        case "edit":
            return { method: "PATCH", path: message, body: { text: action.text } };
        case "delete":
            return { method: "DELETE", path: `${message}?for=me` };
        case "retract":
            return { method: "DELETE", path: `${message}?for=everyone` };
        case "restore":
            return { method: "POST", path: `${message}/restore` };
        case "pin":
            return { method: "PUT", path: `${conversation}/pins/${id}` };
        case "unpin":
            return { method: "DELETE", path: `${conversation}/pins/${id}` };
        case "archive":
            return { method: "PUT", path: `${chat}/archive` };
        case "unarchive":
            return { method: "DELETE", path: `${chat}/archive` };
        case "hide":
            return { method: "DELETE", path: chat };
        case "leave":
            return { method: "POST", path: `${conversation}/leave` };
    }
}

/**
 * @param {Extract<Action, {item: string}>} action
 * @returns {Request}
 */
function itemRequest(action) {
    const path = `/v1/items/${encodeURIComponent(action.item)}`;
    switch (action.kind) {
        case "addItem": {
            const { item: id, title, due, priority, chat, message } = action;
            const body = { id, title, due, priority, chat, message };
            return { method: "POST", path: "/v1/items", body };
        }
        case "editItem":
            return { method: "PATCH", path, body: action.changes };
        case "completeItem":
            return { method: action.isDone ? "PUT" : "DELETE", path: `${path}/done` };
        case "deleteItem":
            return { method: "DELETE", path };
    }
}
