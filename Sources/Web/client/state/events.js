import { storedMessage } from "./message.js";

/** @typedef {import("./confirmed.js").StateUpdate} StateUpdate */
/** @typedef {import("./conversation.js").Update} Update */

/**
 * Returns what an event tells of conversations, action items and profiles, if it tells anything.
 *
 * @param {any} event with exact times @param {string} user @returns {StateUpdate | undefined}
 */
export function updateOf(event, user) {
    if (event.kind === "action") return { item: event };
    if (event.kind === "profile") return { profile: event };
    if (!event.conversation || event.kind === "typing") return undefined;
    return { conversation: event.conversation, ...partOf(event, user) };
}

/** @param {any} event @param {string} user @returns {Partial<Update>} */
function partOf(event, user) {
    const { at, by, id, sent } = event;
    const part = { id, at: sent };
    switch (event.kind) {
        case "message":
            return { message: storedMessage(event) };
        case "edit":
            return { message: { ...storedMessage(event), edited: event.edited ?? at } };
        case "restore":
            return { message: { ...storedMessage(event), restoredAt: at } };
        case "delete":
            if (event.for === "me") return { message: { ...part, hiddenAt: at } };
            // Only its sender deletes a message for everyone.
            return { message: { ...part, from: by, deletedAt: at } };
        case "pin":
            return { message: { ...part, pinnedBy: by, pinnedAt: at } };
        case "unpin":
            return { message: { ...part, unpinnedAt: at } };
        case "read":
            return { mark: { user: by, read: id, readSent: sent, readAt: at } };
        case "delivered":
            return { mark: { user: by, delivered: id, deliveredSent: sent, deliveredAt: at } };
        case "archive":
            return { archivedAt: at };
        case "unarchive":
            return { unarchivedAt: at };
        case "hide":
            return { clearedAt: at };
        case "member": {
            const hasLeft = event.change === "left";
            if (hasLeft && event.user === user) return { clearedAt: at, hasLeft };
            const kind = hasLeft ? "left" : "joined";
            return { change: { kind, user: event.user, by, at } };
        }
        default:
            return {};
    }
}

/** @param {any} fields @returns {import("./confirmed.js").StoredItem} without event members */
export function itemOf({ kind: _kind, by: _by, at: _at, token: _token, ...item }) {
    return item;
}

/** @param {any} fields @returns {import("./confirmed.js").StoredProfile} without event members */
export function profileOf({ user, name, email, photo, nameChanged, emailChanged, photoChanged }) {
    return { user, name, email, photo, nameChanged, emailChanged, photoChanged };
}
