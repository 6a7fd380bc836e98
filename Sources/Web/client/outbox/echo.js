import { lastPinChange } from "../views/message.js";

/** @typedef {import("../types.js").Action} Action */
/** @typedef {import("../store/confirmed.js").ConfirmedState} ConfirmedState */

/**
 * Whether an event from the cluster reports the given action of the user. The event may also come
 * from the same action on another device of the user.
 *
 * @param {any} event
 * @param {Action} action
 * @param {string} user
 */
export function isEcho(event, action, user) {
    if (event.by !== user || !("conversation" in action)) return false;
    if (event.conversation !== action.conversation) return false;
    const isOfMessage = "message" in action && event.id === action.message;
    switch (action.kind) {
        case "send":
            return event.kind === "message" && isOfMessage;
        case "edit":
            return event.kind === "edit" && isOfMessage && event.text === action.text;
        case "delete":
            return event.kind === "delete" && isOfMessage && event.for === "me";
        case "retract":
            return event.kind === "delete" && isOfMessage && event.for === "everyone";
        case "restore":
        case "pin":
        case "unpin":
            return event.kind === action.kind && isOfMessage;
        case "archive":
        case "unarchive":
        case "hide":
            return event.kind === action.kind;
        case "leave":
            return event.kind === "member" && event.change === "left" && event.user === user;
        default:
            return false;
    }
}

/**
 * Whether the data reported by nodes already includes the effect of an operation that the cluster
 * has acknowledged. If so, the client need not apply the operation to the view any more.
 *
 * @param {ConfirmedState} confirmed
 * @param {import("../types.js").Operation} operation
 */
export function isShown(confirmed, { acknowledged, action }) {
    const acknowledgedAt = acknowledged?.at;
    if ("item" in action) return isItemShown(confirmed, action);
    if (action.kind === "setProfile") {
        const profile = confirmed.profiles.get(confirmed.user);
        return profile?.name === action.name && profile?.photo === action.photo;
    }
    const conversation = confirmed.conversation(action.conversation);
    const id = "message" in action ? action.message : "";
    const message = conversation.messages.get(id);
    const tombstone = conversation.tombstones.get(id);
    const isGone = message?.deletedForEveryone ?? false;
    const isPinOld = acknowledgedAt !== undefined && acknowledgedAt < lastPinChange(message);
    switch (action.kind) {
        case "create":
            return conversation.row !== undefined;
        case "send":
            return conversation.hasPlace(id) || tombstone !== undefined ||
                acknowledgedAt !== undefined && acknowledgedAt <= conversation.clearedAt;
        case "edit":
            return message === undefined || isGone || message.text === action.text;
        case "delete":
            return message?.isHidden ?? tombstone?.isHidden ?? false;
        case "retract":
            return isGone && (message?.isHidden ?? false) || (tombstone?.isRetracted ?? false);
        case "restore":
            return message !== undefined && !message.isHidden || isGone;
        case "pin":
            return !message || isGone || isPinOld || message.pinnedBy === confirmed.user;
        case "unpin":
            return isPinOld || message?.pinnedBy === undefined;
        case "archive":
            return conversation.row?.archived ?? false;
        case "unarchive":
            return !conversation.row?.archived;
        case "hide":
            return conversation.clearedAt >= action.through && action.through !== "";
        case "leave":
            return conversation.row === undefined;
    }
}

/**
 * Returns the event that the cluster publishes for an acknowledged deletion of a message. The
 * client applies this event itself if it does not arrive from a node. For other actions, returns
 * undefined, because nodes' responses show their effects.
 *
 * @param {Action} action
 * @param {string} at
 * @param {string} user
 */
export function echoOf(action, at, user) {
    if (action.kind !== "delete" && action.kind !== "retract") return undefined;
    const { conversation, message: id } = action;
    const scope = action.kind === "delete" ? "me" : "everyone";
    return { kind: "delete", conversation, by: user, at, id, for: scope };
}

/**
 * @param {ConfirmedState} confirmed
 * @param {Extract<Action, {item: string}>} action
 */
function isItemShown(confirmed, action) {
    const item = confirmed.items.get(action.item);
    if (confirmed.deletedItems.has(action.item)) return true;
    switch (action.kind) {
        case "addItem":
            return item !== undefined;
        case "completeItem":
            return (item?.done ?? false) === action.isDone;
        case "deleteItem":
            return item === undefined;
        case "editItem": {
            const { title, due, priority } = action.changes;
            const sameTime = due === undefined ||
                (item?.due ? Date.parse(item.due) : 0) === (due ? Date.parse(due) : 0);
            return item === undefined || sameTime &&
                    (title === undefined || title === item.title) &&
                    (priority === undefined || (priority ?? undefined) === item.priority);
        }
    }
}
