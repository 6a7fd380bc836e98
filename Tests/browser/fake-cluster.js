/**
 * A cluster in one value: what accounts, conversations and items there are, and the rules by which
 * an operation changes them. It stands in for the nodes where a page is tried without any.
 */

const editMilliseconds = 15 * 60 * 1000;

export function emptyCluster() {
    return { accounts: {}, profiles: {}, conversations: {}, items: {}, files: {} };
}

/**
 * @param {number} code
 * @param {string} message
 */
export function failure(code, message) {
    return Object.assign(new Error(message), { code });
}

/**
 * Applies a user's operation, or throws the refusal.
 *
 * @param {any} cluster is changed
 * @param {any} action
 * @param {string} by
 * @param {string} at
 */
export function apply(cluster, action, by, at) {
    if (action.kind in items) return items[action.kind](cluster, action, by, at);
    if (action.kind === "create") return create(cluster, action, by, at);
    if (action.kind === "setProfile") {
        cluster.profiles[by] = { ...cluster.profiles[by], ...action.profile, user: by };
        return;
    }
    const conversation = cluster.conversations[action.conversation];
    if (!conversation) throw failure(404, "Conversation not found");
    if (!conversation.participants.includes(by)) {
        throw failure(403, "Only participants can do this");
    }
    if (action.kind in chats) return chats[action.kind](conversation, action, by, at);
    const message = conversation.messages.find((each) => each.id === action.message);
    if (action.kind === "send") return message ?? send(conversation, action, by, at);
    if (!message) throw failure(404, "Message not found");
    messages[action.kind](message, action, by, at, conversation);
}

function create(cluster, action, by, at) {
    const accounts = action.emails.map((email) => cluster.accounts[email.toLowerCase()]);
    if (accounts.includes(undefined)) throw failure(404, "No account has this e-mail address");
    cluster.conversations[action.conversation] ??= {
        id: action.conversation,
        title: action.title,
        participants: [...new Set([by, ...accounts.map(({ user }) => user)])],
        createdAt: at,
        messages: [],
        marks: {},
        archivedBy: [],
        hidden: {},
        typing: {},
    };
}

function send(conversation, action, by, at) {
    if (action.type === "text" && action.text.trim() === "") {
        throw failure(400, "Message cannot be empty");
    }
    const { message: id, type, text, blob, preview } = action;
    conversation.messages.push({ id, from: by, at, type, text, blob, preview, deletedBy: [] });
}

const chats = {
    archive: (chat, _action, by) => chat.archivedBy = [...new Set([...chat.archivedBy, by])],
    unarchive: (chat, _action, by) => {
        chat.archivedBy = chat.archivedBy.filter((user) => user !== by);
    },
    hide: (chat, _action, by) => chat.hidden[by] = chat.messages.length,
    leave: (chat, _action, by) => {
        chat.participants = chat.participants.filter((user) => user !== by);
    },
    typing: (chat, action, by) => chat.typing[by] = action.isTyping,
    read: (chat, action, by, at) => {
        chat.marks[by] = { ...chat.marks[by], read: action.message, readAt: at };
    },
    delivered: (chat, action, by, at) => {
        chat.marks[by] = { ...chat.marks[by], delivered: action.message, deliveredAt: at };
    },
};

const messages = {
    edit: (message, action, by, at) => {
        if (action.text.trim() === "") throw failure(400, "Message cannot be empty");
        const isLate = Date.parse(message.at) <= Date.parse(at) - editMilliseconds;
        if (message.from !== by || isLate || message.deletedBy.includes(by)) {
            throw failure(403, "You can only edit your own messages within 15 minutes");
        }
        message.edits ??= [{ at: message.at, text: message.text }];
        message.edits.push({ at, text: action.text });
        message.text = action.text;
        message.edited = at;
    },
    delete: (message, _action, by) => {
        message.deletedBy = [...new Set([...message.deletedBy, by])];
    },
    restore: (message, _action, by) => {
        message.deletedBy = message.deletedBy.filter((user) => user !== by);
    },
    retract: (message, _action, by) => {
        if (message.from !== by) throw failure(403, "Only the sender can delete for everyone");
        message.text = "[Message deleted]";
        message.deletedForEveryone = true;
        message.deletedBy = [...new Set([...message.deletedBy, by])];
        delete message.pinnedAt;
        delete message.pinnedBy;
    },
    pin: (message, _action, by, at) => Object.assign(message, { pinnedBy: by, pinnedAt: at }),
    unpin: (message) => {
        delete message.pinnedAt;
        delete message.pinnedBy;
    },
};

const items = {
    addItem: (cluster, action, by) => {
        const { item: id, title, due, priority, chat, message } = action;
        cluster.items[by] ??= {};
        cluster.items[by][id] ??= { id, title, due, priority, chat, message, isDone: false };
    },
    editItem: (cluster, action, by) => {
        const { due, priority, title } = action.changes;
        const item = itemOf(cluster, action, by);
        Object.assign(item, { title, due: due ?? undefined, priority: priority ?? undefined });
    },
    completeItem: (cluster, action, by) => itemOf(cluster, action, by).isDone = action.isDone,
    deleteItem: (cluster, action, by) => {
        itemOf(cluster, action, by);
        delete cluster.items[by][action.item];
    },
};

function itemOf(cluster, action, by) {
    const item = cluster.items[by]?.[action.item];
    if (!item) throw failure(404, "Action item not found");
    return item;
}

/**
 * A conversation's messages as a user sees them.
 *
 * @param {any} conversation
 * @param {string} user
 * @param {Set<string>} waiting ids of messages that are in the outbox
 */
export function messagesFor(conversation, user, waiting) {
    const others = conversation.participants.filter((each) => each !== user);
    const position = (id) => conversation.messages.findIndex((each) => each.id === id);
    const reached = (who, mark, index) => position(conversation.marks[who]?.[mark]) >= index;
    return conversation.messages.slice(conversation.hidden[user] ?? 0)
        .filter((message) => !message.deletedBy.includes(user))
        .map((message) => {
            const index = position(message.id);
            const readBy = others.filter((who) => reached(who, "read", index));
            const deliveredTo = others.filter((who) => reached(who, "delivered", index));
            const isMine = message.from === user;
            const state = waiting.has(message.id) ? "waiting" : "sent";
            const received = deliveredTo.length > 0 ? "delivered" : state;
            const isRead = others.length > 0 && readBy.length === others.length;
            return {
                ...message,
                conversation: conversation.id,
                readBy,
                deliveredTo,
                isMine,
                state: isMine ? (isRead ? "read" : received) : "sent",
            };
        });
}

/**
 * @param {any} conversation
 * @param {string} user
 * @param {boolean} isWaiting
 */
export function chatFor(conversation, user, isWaiting) {
    const shown = messagesFor(conversation, user, new Set());
    const last = shown.filter((message) => !message.deletedForEveryone).at(-1);
    const read = conversation.messages.findIndex((each) =>
        each.id === conversation.marks[user]?.read
    );
    const unread = shown.filter((message) =>
        !message.isMine && !message.deletedForEveryone &&
        conversation.messages.findIndex((each) => each.id === message.id) > read
    ).length;
    const previews = { image: "Photo", voice: "Voice message" };
    const { id, title, participants, createdAt } = conversation;
    return {
        id,
        title,
        participants,
        createdAt,
        last: last?.id,
        lastFrom: last?.from,
        lastAt: last?.at,
        lastText: last ? previews[last.type] ?? last.text : "No messages yet",
        unread,
        isArchived: conversation.archivedBy.includes(user),
        isWaiting,
    };
}
