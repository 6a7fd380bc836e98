import { lastOf } from "../store/confirmed.js";
import { compare, lastPinChange, retracted, union } from "../views/message.js";

/** @typedef {import("../types.js").Operation} Operation */
/** @typedef {import("../types.js").Message} Message */
/** @typedef {import("../types.js").Chat} Chat */
/** @typedef {import("../types.js").Item} Item */
/** @typedef {import("../views/conversation.js").ConversationState} ConversationState */
/** @typedef {import("../views/message.js").StoredMessage} StoredMessage */
/** @typedef {StoredMessage & {waits?: Operation, isSent?: boolean}} LaidMessage */

/*
 * The view is a pure function of the data that nodes have confirmed and the user's pending
 * operations. Removing an operation therefore rolls its change back, and keeps all other changes
 * that have arrived meanwhile.
 */

/**
 * Returns the messages that the user sees in a conversation, in order; messages that no node has
 * accepted yet are last.
 *
 * @param {ConversationState} conversation
 * @param {readonly Operation[]} operations the conversation's operations, in order
 * @param {string} user
 * @returns {Message[]}
 */
export function messages(conversation, operations, user) {
    const laid = lay(conversation, conversation.stretch, operations, user);
    const [sent, waiting] = [/** @type {LaidMessage[]} */ ([]), /** @type {LaidMessage[]} */ ([])];
    for (const message of laid.values()) {
        if (!message.isHidden) (message.waits ? waiting : sent).push(message);
    }
    if (operations.length > 0) sent.sort(compare);
    const others = (conversation.row?.participants ?? []).filter((name) => name !== user);
    const marks = marksOf(conversation);
    return [...sent, ...waiting].map((message) =>
        shown(message, conversation.id, user, others, marks)
    );
}

/**
 * Returns the pinned messages of a conversation, the most recently pinned message first.
 *
 * @param {ConversationState} conversation
 * @param {readonly Operation[]} operations
 * @param {string} user
 * @returns {Message[]}
 */
export function pins(conversation, operations, user) {
    const laid = lay(conversation, conversation.messages.values(), operations, user);
    const pinned = [...laid.values()].filter(({ isHidden, pinnedAt }) => !isHidden && pinnedAt);
    pinned.sort((a, b) => (a.pinnedAt ?? "") < (b.pinnedAt ?? "") ? 1 : -1);
    const others = (conversation.row?.participants ?? []).filter((name) => name !== user);
    const marks = marksOf(conversation);
    return pinned.map((message) => shown(message, conversation.id, user, others, marks));
}

/**
 * @param {ConversationState} conversation
 * @param {Iterable<StoredMessage>} base
 * @param {readonly Operation[]} operations
 * @param {string} user
 * @returns {Map<string, LaidMessage>}
 */
function lay(conversation, base, operations, user) {
    /** @type {Map<string, LaidMessage>} */
    const laid = new Map();
    for (const message of base) laid.set(message.id, message);
    for (const operation of operations) layOne(conversation, laid, operation, user);
    return laid;
}

/**
 * @param {ConversationState} conversation
 * @param {Map<string, LaidMessage>} laid
 * @param {Operation} operation
 * @param {string} user
 */
function layOne(conversation, laid, operation, user) {
    const { action, acknowledged } = operation;
    const at = acknowledged?.at ?? operation.at;
    if (action.kind === "send") return laySend(conversation, laid, operation, user);
    if (action.kind === "leave") return laid.clear();
    if (action.kind === "hide") {
        for (const [id, message] of laid) if (message.at <= action.through) laid.delete(id);
        return;
    }
    if (!("message" in action) || action.message === undefined) return;
    const message = laid.get(action.message);
    if (!message) return;
    const isPinOld = acknowledged && at < lastPinChange(message);
    const change = (/** @type {Partial<LaidMessage>} */ fields) =>
        laid.set(message.id, { ...message, ...fields });
    switch (action.kind) {
        case "edit":
            if (message.deletedForEveryone || acknowledged && at < (message.edited ?? "")) return;
            return change({ text: action.text, edited: at });
        case "delete":
            return change({ isHidden: true, deletedBy: union(message.deletedBy, [user]) });
        case "retract":
            return laid.set(message.id, { ...retracted(message), isHidden: true });
        case "restore":
            if (message.deletedForEveryone) return;
            return change({
                isHidden: undefined,
                deletedBy: message.deletedBy?.filter((name) => name !== user),
            });
        case "pin":
            if (message.deletedForEveryone || isPinOld) return;
            return change({ pinnedBy: user, pinnedAt: at });
        case "unpin":
            if (isPinOld) return;
            return change({ pinnedBy: undefined, pinnedAt: undefined });
    }
}

/**
 * @param {ConversationState} conversation
 * @param {Map<string, LaidMessage>} laid
 * @param {Operation} operation
 * @param {string} user
 */
function laySend(conversation, laid, operation, user) {
    const { action, acknowledged } = operation;
    if (action.kind !== "send") return;
    // If a node has already reported the message, the reported message is shown instead of the
    // pending one of the same id.
    if (conversation.hasPlace(action.message) || laid.has(action.message)) return;
    if (conversation.tombstones.has(action.message)) return;
    const { message: id, type, text, blob, preview } = action;
    const at = acknowledged?.at ?? operation.at;
    if (acknowledged && at <= conversation.clearedAt) return;
    laid.set(id, {
        ...{ id, from: user, at, type, text, blob, preview, changed: 0 },
        ...(acknowledged ? {} : { waits: operation }),
    });
}

/**
 * Returns a conversation's entry in the chat list; undefined if the chat list does not show the
 * conversation.
 *
 * @param {ConversationState} conversation
 * @param {readonly Operation[]} operations the conversation's operations, in order
 * @param {string} user
 * @param {readonly Message[]} list the conversation's messages as the user sees them
 * @param {string | undefined} read the id of the last message read on this device
 * @returns {Chat | undefined}
 */
export function chat(conversation, operations, user, list, read) {
    const row = conversation.row ?? created(operations, user);
    if (!row) return undefined;
    let [isArchived, isHidden, isWaiting] = [row.archived ?? false, false, false];
    for (const { action, acknowledged } of operations) {
        isWaiting ||= action.kind === "create" && !acknowledged;
        if (action.kind === "archive") isArchived = true;
        if (action.kind === "unarchive") isArchived = false;
        if (action.kind === "leave") return undefined;
        if (action.kind === "hide") isHidden = true;
    }
    if (isHidden && list.length === 0) return undefined;
    const { id, title, participants, createdAt } = row;
    const unread = isHidden ? list.length : unreadOf(conversation, row.unread, user, list, read);
    return {
        ...{ id, title, participants, createdAt, isArchived, isWaiting, unread },
        ...lastShown(conversation, row, list),
    };
}

/**
 * @param {readonly Operation[]} operations
 * @param {string} user
 * @returns {import("../views/conversation.js").ChatRow | undefined}
 */
function created(operations, user) {
    const operation = operations.find(({ action }) => action.kind === "create");
    if (operation?.action.kind !== "create") return undefined;
    const { conversation: id, title } = operation.action;
    const lastText = "No messages yet";
    return { id, title, participants: [user], createdAt: operation.at, lastText, unread: 0 };
}

/**
 * Returns the last message to show for a conversation in the chat list: the newest one that is not
 * deleted for everyone, so that the chat list agrees with the conversation view.
 *
 * @param {ConversationState} conversation
 * @param {import("../views/conversation.js").ChatRow} row
 * @param {readonly Message[]} list
 */
function lastShown(conversation, row, list) {
    const last = list.findLast(({ deletedForEveryone }) => !deletedForEveryone);
    const { last: id, lastFrom, lastAt, lastText } = row;
    const told = { last: id, lastFrom, lastAt, lastText };
    if (conversation.isLoaded && !conversation.hasEarlier) {
        return last ? lastOf(last) : { lastText: "No messages yet" };
    }
    if (last && (last.state === "waiting" || last.at >= (lastAt ?? ""))) return lastOf(last);
    const isKnown = id !== undefined && conversation.messages.has(id);
    return isKnown && last ? lastOf(last) : told;
}

/**
 * Returns the number of other users' messages after the last message that the user has read. If
 * that last read message is not loaded, returns the unread count that a node reported.
 *
 * @param {ConversationState} conversation
 * @param {number} told
 * @param {string} user
 * @param {readonly Message[]} list
 * @param {string | undefined} read
 */
function unreadOf(conversation, told, user, list, read) {
    const marked = [conversation.marks.get(user)?.read, read]
        .map((id) => conversation.messages.get(id ?? ""))
        .filter((message) => message !== undefined && !message.isApart)
        .sort((a, b) => compare(/** @type {any} */ (a), /** @type {any} */ (b)))
        .pop();
    if (!marked) return told;
    return list.filter((message) =>
        !message.isMine && !message.deletedForEveryone && compare(message, marked) > 0
    ).length;
}

/**
 * Returns the action items, ordered by due time; items without a due time are last.
 *
 * @param {Iterable<import("../store/confirmed.js").StoredItem>} base
 * @param {readonly Operation[]} operations
 * @returns {Item[]}
 */
export function items(base, operations) {
    /** @type {Map<string, Item>} */
    const laid = new Map();
    for (const { id, title, due, priority, chat, message, done } of base) {
        const isDone = done ?? false;
        laid.set(id, { id, title, due, priority, chat, message, isDone, isWaiting: false });
    }
    for (const operation of operations) layItem(laid, operation);
    const due = (/** @type {Item} */ item) => item.due ? Date.parse(item.due) : Infinity;
    return [...laid.values()].sort((a, b) =>
        due(a) === due(b) ? (a.id < b.id ? -1 : 1) : due(a) - due(b)
    );
}

/**
 * @param {Map<string, Item>} laid
 * @param {Operation} operation
 */
function layItem(laid, { action, acknowledged }) {
    if (!("item" in action)) return;
    const known = laid.get(action.item);
    const isWaiting = !acknowledged;
    if (action.kind === "addItem" && !known) {
        const { item: id, title, due, chat, message } = action;
        const priority = /** @type {Item["priority"]} */ (action.priority);
        laid.set(id, { id, title, due, priority, chat, message, isDone: false, isWaiting });
    }
    if (!known) return;
    if (action.kind === "deleteItem") laid.delete(action.item);
    if (action.kind === "completeItem") {
        laid.set(action.item, { ...known, isDone: action.isDone, isWaiting });
    }
    if (action.kind !== "editItem") return;
    const changes = /** @type {Partial<Item>} */ (Object.fromEntries(
        Object.entries(action.changes).map(([key, value]) => [key, value ?? undefined]),
    ));
    laid.set(action.item, { ...known, ...changes, isWaiting });
}

/**
 * Returns, for each participant of a conversation, the last message that the participant has read
 * and the last message that the participant has received.
 *
 * @param {ConversationState} conversation
 */
function marksOf(conversation) {
    return [...conversation.marks.values()].map(({ user, read, delivered }) => ({
        user,
        read: conversation.messages.get(read ?? ""),
        delivered: conversation.messages.get(delivered ?? ""),
    }));
}

/**
 * @param {LaidMessage} message
 * @param {string} conversation
 * @param {string} user
 * @param {string[]} others
 * @param {ReturnType<typeof marksOf>} marks
 * @returns {Message}
 */
function shown(message, conversation, user, others, marks) {
    const isMine = message.from === user;
    const covers = (/** @type {StoredMessage | undefined} */ mark) =>
        mark !== undefined && compare(mark, message) >= 0;
    const readers = marks.filter((mark) => covers(mark.read)).map((mark) => mark.user);
    const receivers = marks.filter((mark) => covers(mark.delivered)).map((mark) => mark.user);
    const notSender = (/** @type {string} */ name) => name !== message.from;
    const readBy = (union(message.readBy, readers) ?? []).filter(notSender);
    const deliveredTo = (union(union(message.deliveredTo, receivers), readBy) ?? [])
        .filter(notSender);
    const { id, seq, from, at, type, text, edited, item, blob, preview } = message;
    const { pinnedBy, pinnedAt, deletedForEveryone } = message;
    return {
        ...{ id, seq, conversation, from, at, type, text, edited, item, blob, preview },
        ...{ pinnedBy, pinnedAt, deletedForEveryone, deliveredTo, readBy, isMine },
        deletedBy: message.deletedBy ?? [],
        state: message.waits ? "waiting" : stateOf(isMine, others, deliveredTo, readBy),
    };
}

/**
 * Returns a message's delivery state: "read" when all other participants have read it, "delivered"
 * when all have received it.
 *
 * @param {boolean} isMine
 * @param {string[]} others
 * @param {string[]} deliveredTo
 * @param {string[]} readBy
 * @returns {Message["state"]}
 */
function stateOf(isMine, others, deliveredTo, readBy) {
    if (!isMine || others.length === 0) return "sent";
    if (others.every((name) => readBy.includes(name))) return "read";
    return others.every((name) => deliveredTo.includes(name)) ? "delivered" : "sent";
}
