import { ConversationState } from "./conversation.js";
import { itemOf, profileOf, updateOf } from "./events.js";
import { joinFields } from "./fields.js";
import { later } from "./message.js";
import { SessionTokens } from "./session-tokens.js";

/** @typedef {import("./conversation.js").Update} Update */
/** @typedef {import("../types.js").Profile} Profile */

/**
 * An action item with the times of the last change of each field; a `deleted` one stays so.
 *
 * @typedef {{id: string, title?: string, due?: string, priority?: "low" | "medium" | "high",
 *   chat?: string, message?: string, done?: boolean, deleted?: boolean, titleChanged?: string,
 *   dueChanged?: string, priorityChanged?: string, doneChanged?: string}} StoredItem
 */

/**
 * A profile with the times of the last change of each field.
 *
 * @typedef {Profile & {nameChanged?: string, emailChanged?: string, photoChanged?: string}
 *   } StoredProfile
 */

/** @typedef {Update | {item: StoredItem} | {profile: StoredProfile}} StateUpdate */

/** The most deleted items that are remembered, so that old responses do not add them again. */
const DELETED_ITEMS_MAX = 1_000;

/**
 * The user's chats, messages, action items and profiles as nodes report them, with the user's own
 * accepted changes. The state is a join: the order and the repetition of merges make no difference.
 */
export class ConfirmedState {
    /** @type {Map<string, ConversationState>} */
    conversations = new Map();
    /** @type {Map<string, StoredItem>} */
    items = new Map();
    /** @type {Map<string, StoredProfile>} */
    profiles = new Map();
    /** The token of the last event, for resuming the event stream. @type {string | undefined} */
    token;
    sessionTokens = new SessionTokens();
    /** The node of the stream, and the same once it has caught up. @type {string | undefined} */
    #node;
    /** @type {string | undefined} */
    #levelNode;
    /** The node whose stream has told the token. @type {string | undefined} */
    #tokenNode;
    /** Whether the lists of chats and action items have been loaded completely. */
    isLoaded = false;
    /**
     * How often the user has hidden or left a chat. An answer to an earlier request does not say
     * what is hidden now, and is not merged.
     */
    epoch = 0;
    /** Ids of conversations whose row of the chat list is to be read again. @type {Set<string>} */
    staleRows = new Set();
    /** Ids of conversations whose messages are to be read again. @type {Set<string>} */
    staleHistories = new Set();
    /** Ids of conversations whose pins are to be read again. @type {Set<string>} */
    stalePins = new Set();
    /** Users whose profiles are to be read again. @type {Set<string>} */
    staleProfiles = new Set();

    /** @param {string} user */
    constructor(user) {
        this.user = user;
    }

    /** @param {string} id */
    conversation(id) {
        let conversation = this.conversations.get(id);
        if (!conversation) this.conversations.set(id, conversation = new ConversationState(id));
        return conversation;
    }

    /** @param {any} event @returns {{isNew: boolean}} whether the event added a new message */
    apply(event) {
        if (event.token) {
            this.token = event.token;
            this.#tokenNode = this.#levelNode;
        }
        const update = updateOf(event, this.user);
        if (!update) return { isNew: false };
        if (!("conversation" in update)) {
            // The event of a resumed stream may lack the times of a profile's values.
            if ("profile" in update && !event.nameChanged) this.staleProfiles.add(event.user);
            return this.merge(update);
        }
        const conversation = this.conversation(update.conversation);
        if (this.#isFromBeforeClearing(conversation, update)) {
            this.staleHistories.add(conversation.id);
            this.staleRows.add(conversation.id);
            return { isNew: false };
        }
        const told = this.merge(update);
        this.#noteStale(conversation, event);
        return told;
    }

    /** Notes which node tells the events from here on. @param {string} node */
    onStream(node) {
        if (this.token) this.sessionTokens.add(this.token, this.#tokenNode);
        this.#node = node;
        // Before the node has caught up, its tokens may not include those of its earlier streams.
        this.#levelNode = undefined;
    }

    /** Notes that the stream has told all that was missed. */
    onLevel() {
        this.#levelNode = this.#node;
    }

    /** @param {StateUpdate} update @returns {{isNew: boolean}} whether a message is new */
    merge(update) {
        if ("item" in update) this.#mergeItem(update.item);
        else if ("profile" in update) this.#mergeProfile(update.profile);
        else {
            const conversation = this.conversation(update.conversation);
            if (update.clearedAt && update.clearedAt >= conversation.clearedAt) this.epoch += 1;
            return { isNew: conversation.merge(update) };
        }
        return { isNew: false };
    }

    /**
     * Merges an action of the user that a node has accepted.
     *
     * @param {StateUpdate} update @param {string} [token] the token of the node's answer
     */
    accept(update, token) {
        if (!("conversation" in update)) return void this.merge(update);
        const conversation = this.conversation(update.conversation);
        const { clearedAt } = conversation;
        if (update.clearedAt && update.clearedAt <= clearedAt) {
            // An event has told of it already: the row that was read since then stays.
            conversation.removeThrough(update.through ?? "");
            return void this.staleHistories.add(conversation.id);
        }
        // A message from before the last hiding is shown only if an answer has it.
        if (update.message && update.message.at <= clearedAt) {
            return void this.staleHistories.add(conversation.id);
        }
        this.merge(update);
        if (!update.clearedAt && !update.row) return;
        conversation.written = token;
        this.staleRows.add(conversation.id);
        this.staleHistories.add(conversation.id);
    }

    /** Notes that an answer includes what the user has done. @param {ConversationState} conversation */
    onIncluded(conversation) {
        if (conversation.written) this.sessionTokens.add(conversation.written);
        conversation.written = undefined;
    }

    /**
     * Returns what an answer has to include: all that events have told, and what the user has
     * created, hidden or left.
     *
     * @param {string} [id] the conversation that is asked for
     */
    tokens(id) {
        const written = id && this.conversations.get(id)?.written;
        const all = new Set([
            this.token,
            ...this.sessionTokens.list.map(({ token }) => token),
            written,
        ]);
        return [...all].filter(Boolean).join(", ") || undefined;
    }

    /**
     * Merges a row of the chat list from a node's response. The row is not merged if an event has
     * changed the chat since the request: then it is read again. A response that may be older than
     * the user's last hiding of the chat does not bring the chat back.
     *
     * @param {any} row @param {boolean} isSure
     */
    mergeRow(row, isSure) {
        const conversation = this.conversation(row.id);
        if (this.staleRows.has(row.id) || conversation.written) return;
        if (!isSure && conversation.clearedAt && !conversation.row) return;
        const { archivedAt, hidden, unarchivedAt, ...told } = row;
        // A row is marked as hidden if the user hid the chat and no message has arrived since.
        conversation.row = hidden ? undefined : told;
        // The response may have a message without what an event has told of it since the request.
        const { changedSent } = conversation;
        if (changedSent && changedSent <= (row.lastAt ?? "")) {
            conversation.changedSent = undefined;
            this.staleRows.add(row.id);
        }
        conversation.merge({ conversation: row.id, archivedAt, unarchivedAt });
    }

    /**
     * Whether nodes have told, of each value of a part, a change at the part's time or a later one.
     *
     * @param {StateUpdate} part the consequence of an action
     */
    includes(part) {
        if ("profile" in part) return isIncluded(part.profile, this.profiles.get(this.user));
        if ("item" in part) {
            const known = this.items.get(part.item.id);
            return known?.deleted || !part.item.deleted && isIncluded(part.item, known);
        }
        const { message, ...ofChat } = part;
        const conversation = this.conversation(part.conversation);
        const known = message && conversation.messages.get(message.id);
        return known?.deletedAt !== undefined || isIncluded(message ?? {}, known) &&
                isIncluded(ofChat, conversation);
    }

    /**
     * Whether nodes have shown what an action is about, and none has told that it is gone.
     *
     * @param {import("../types.js").Action} action
     */
    knows(action) {
        if ("item" in action) {
            const item = this.items.get(action.item);
            return item !== undefined && !item.deleted;
        }
        if (!("conversation" in action)) return false;
        const { messages, row } = this.conversation(action.conversation);
        if (!("message" in action) || action.kind === "send") return row !== undefined;
        const { deletedAt, from } = messages.get(action.message) ?? {};
        return from !== undefined && !deletedAt;
    }

    /** Removes a chat from the list, since nodes do not show it to the user. @param {string} id */
    dropRow(id) {
        const conversation = this.conversation(id);
        conversation.row = undefined;
        conversation.version += 1;
    }

    /**
     * Whether an event is about a message from before the last hiding of the conversation of which
     * no answer has told whether it is visible: it is if the node that hid the conversation lacked
     * it, so the history is read again.
     *
     * @param {ConversationState} conversation @param {Update} update
     */
    #isFromBeforeClearing({ clearedAt, messages }, { message }) {
        if (!message || message.at > clearedAt) return false;
        const known = messages.get(message.id);
        return !known || known.isUnsure === true;
    }

    /**
     * Notes what an event tells only in part, so that the rest is read again.
     *
     * @param {ConversationState} conversation @param {any} event
     */
    #noteStale(conversation, event) {
        const { id, row } = conversation;
        switch (event.kind) {
            case "archive":
            case "unarchive":
            case "delivered":
                return;
            case "hide":
                this.staleHistories.add(id);
                this.staleRows.add(id);
                return;
            case "member":
                this.staleRows.add(id);
                return;
            case "pin":
                if (!conversation.messages.get(event.id)?.from) this.stalePins.add(id);
                return;
            case "read":
                if (event.by !== this.user) return;
        }
        // The number of unread messages is known after the row's last message, and where all
        // messages since the user's read mark are known.
        const readSent = conversation.marks.get(this.user)?.readSent ?? "";
        const isKnown = conversation.isCompleteAfter(readSent);
        const isOld = (event.sent ?? "") <= (row?.lastAt ?? "");
        if (!row || isOld && (!isKnown || event.id === row.last)) this.staleRows.add(id);
        else if (!isOld && event.kind !== "message") {
            conversation.changedSent = later(conversation.changedSent, event.sent);
        }
    }

    /** @param {any} fields the action item of an answer, an event or an accepted action */
    #mergeItem(fields) {
        const told = itemOf(fields);
        const known = this.items.get(told.id) ?? { id: told.id };
        const isDeleted = known.deleted || told.deleted;
        const names = ["title", "due", "priority", "done"];
        const joined = isDeleted ? { id: told.id, deleted: true } : joinFields(known, told, names);
        this.items.set(told.id, joined);
        if (!told.deleted) return;
        const deleted = [...this.items.values()].filter(({ deleted }) => deleted);
        if (deleted.length > DELETED_ITEMS_MAX) this.items.delete(deleted[0].id);
    }

    /** @param {any} fields the profile of an answer, an event or an accepted action */
    #mergeProfile(fields) {
        const told = profileOf(fields);
        const known = this.profiles.get(told.user) ?? { user: told.user };
        this.profiles.set(told.user, joinFields(known, told, ["name", "email", "photo"]));
    }
}

/** The times that say, of one value, when it was set and when it was taken away. */
const OPPOSITES = /** @type {Record<string, string>} */ ({
    ...{ pinnedAt: "unpinnedAt", hiddenAt: "restoredAt", archivedAt: "unarchivedAt" },
    ...{ unpinnedAt: "pinnedAt", restoredAt: "hiddenAt", unarchivedAt: "archivedAt" },
});

/**
 * Whether each time in a part of an object is known, or a later one of the same value.
 *
 * @param {Record<string, any>} part @param {Record<string, any>} [known]
 */
function isIncluded(part, known = {}) {
    const times = Object.entries(part)
        .filter(([name, at]) => /(At|Changed)$|^edited$/.test(name) && at !== undefined);
    return times.every(([name, at]) => (later(known[name], known[OPPOSITES[name]]) ?? "") >= at);
}
