/**
 * The routes of the chat page: each names the view that the page shows. A route is in the URL
 * fragment, so that the Back button and links to a chat work without a request to a node.
 */

/**
 * @typedef {{view: "chats"} | {view: "archived"}
 *   | {view: "chat", chat: string, message?: string}
 *   | {view: "pins", chat: string}} Route
 */

/**
 * @param {string} hash
 * @returns {Route}
 */
export function parseRoute(hash) {
    const [view, chat, detail] = hash.replace(/^#\/?/, "").split("/").map(decoded);
    if (view === "archived") return { view };
    if (view === "chat" && chat) {
        return detail ? { view, chat, message: detail } : { view, chat };
    }
    if (view === "pins" && chat) return { view, chat };
    return { view: "chats" };
}

/** @param {string} part */
function decoded(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return "";
    }
}

export const chatsAddress = "#/";
export const archivedAddress = "#/archived";

/**
 * @param {string} chat
 * @param {string} [message]
 */
export function chatAddress(chat, message) {
    const place = `#/chat/${encodeURIComponent(chat)}`;
    return message ? `${place}/${encodeURIComponent(message)}` : place;
}

/** @param {string} chat */
export function pinsAddress(chat) {
    return `#/pins/${encodeURIComponent(chat)}`;
}
