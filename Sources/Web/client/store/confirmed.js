import { ConversationState } from "../views/conversation.js";
import { retracted, storedMessage } from "../views/message.js";

/** @typedef {import("../types.js").Profile} Profile */
/** @typedef {{id: string, title: string, due?: string, priority?: "low" | "medium" | "high",
 *   chat?: string, message?: string, done?: boolean, changed: number}} StoredItem */

/**
 * The most ids of deleted action items that are remembered, so that a response from before a
 * deletion does not add the item again.
 */
const ITEM_TOMBSTONES_MAX = 1_000;

/**
 * The user's chats, messages, action items and profiles as the cluster's events and responses
 * report them. The user's own changes are included only after the cluster has accepted them.
 */
export class ConfirmedState {
    /** @type {Map<string, ConversationState>} */
    conversations = new Map();
    /** @type {Map<string, StoredItem>} */
    items = new Map();
    /** @type {Set<string>} */
    deletedItems = new Set();
    /** @type {Map<string, Profile>} */
    profiles = new Map();
    /**
     * The token of the last event, for resuming the event stream.
     * @type {string | undefined}
     */
    token;
    /** Whether the lists of chats and action items have been loaded completely. */
    isLoaded = false;
    /** The number of events applied to this object, which is also the number of the last event. */
    events = 0;
    /**
     * The number of the last event that `token` includes, after which the event stream resumes.
     * Events are numbered from 1, in the order in which they are applied to this object.
     */
    covered = 0;
    /** Ids of conversations whose row of the chat list must be requested again after an event. */
    staleRows = /** @type {Set<string>} */ (new Set());
    staleHistories = /** @type {Set<string>} */ (new Set());
    stalePins = /** @type {Set<string>} */ (new Set());

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

    /**
     * Applies an event from the cluster to the chats, messages, action items and profiles.
     *
     * @param {any} event
     * @returns {{isNew: boolean}} whether the event added a new message
     */
    apply(event) {
        this.events += 1;
        // Replayed events carry the token of the resume request, so they do not change `covered`.
        if (event.token && event.token !== this.token) this.covered = this.events;
        if (event.token) this.token = event.token;
        if (event.kind === "action") this.#applyItem(event);
        else if (event.kind === "profile") this.profiles.set(event.user, profile(event));
        else if (event.kind !== "typing" && event.conversation) {
            const conversation = this.conversation(event.conversation);
            return { isNew: this.#applyIn(conversation, event) };
        }
        return { isNew: false };
    }

    /**
     * @param {ConversationState} conversation
     * @param {any} event
     */
    #applyIn(conversation, event) {
        switch (event.kind) {
            case "message":
                return this.#applyMessage(conversation, event);
            case "edit":
            case "restore":
                this.#applyContent(conversation, event);
                break;
            case "delete":
                this.#applyDeletion(conversation, event);
                break;
            case "pin":
            case "unpin":
                this.#applyPin(conversation, event);
                return false;
            case "read":
                conversation.mergeMark({ user: event.by, read: event.id, readAt: event.at });
                if (event.by !== this.user) return false;
                break;
            case "delivered":
                conversation.mergeMark({
                    user: event.by,
                    delivered: event.id,
                    deliveredAt: event.at,
                });
                return false;
            case "archive":
            case "unarchive":
                if (conversation.row) {
                    const archived = event.kind === "archive";
                    conversation.row = { ...conversation.row, archived };
                }
                break;
            case "hide":
                conversation.clear(event.at);
                conversation.row = undefined;
                this.staleHistories.add(conversation.id);
                break;
            case "member":
                if (event.user === this.user && event.change === "left") {
                    conversation.clear(event.at);
                    conversation.row = undefined;
                    conversation.isLoaded = false;
                    conversation.rowChanged = this.events;
                    this.staleRows.delete(conversation.id);
                    return false;
                }
                conversation.addChange({
                    kind: event.change === "left" ? "left" : "joined",
                    user: event.user,
                    by: event.by,
                    at: event.at,
                });
        }
        this.#rowIsStale(conversation);
        return false;
    }

    /**
     * @param {ConversationState} conversation
     * @param {any} event
     */
    #applyMessage(conversation, event) {
        const told = storedMessage(event, this.events);
        if (event.at <= conversation.clearedAt && !conversation.messages.has(event.id)) {
            // The user hid the conversation after this message. The message is visible only if the
            // node that hid the conversation lacked it, so the history is read again.
            this.staleHistories.add(conversation.id);
            return false;
        }
        told.isApart = conversation.isBefore(told) || undefined;
        conversation.unsure.delete(told.id);
        const isNew = conversation.add(told, this.events);
        const merged = conversation.messages.get(told.id);
        if (merged && !told.pinnedAt && merged.pinnedAt) {
            // A resumed event stream sends a message's current state, not each change. A state
            // without a pin may come from a node that lacks the pin, so the pins are read again.
            conversation.set({ ...merged, pinnedBy: undefined, pinnedAt: undefined });
            this.stalePins.add(conversation.id);
        }
        const row = conversation.row;
        if (!row) {
            this.#rowIsStale(conversation);
        } else if (isNew && !told.deletedForEveryone) {
            const isOthers = told.from !== this.user;
            conversation.row = { ...row, unread: row.unread + (isOthers ? 1 : 0) };
            if (told.at >= (row.lastAt ?? "")) Object.assign(conversation.row, lastOf(told));
            this.#rowIsStale(conversation);
        }
        return isNew;
    }

    /**
     * @param {ConversationState} conversation
     * @param {any} event
     */
    #applyContent(conversation, event) {
        const known = conversation.messages.get(event.id);
        const isRestore = event.kind === "restore";
        if (!known) {
            // The event has the time of the change, not of the message, so only a reload shows the
            // message's position in the conversation.
            if (event.edited) conversation.keepEdit(event.id, event);
            if (!isRestore) return;
            const tombstone = conversation.tombstones.get(event.id);
            if (tombstone && !tombstone.isRetracted) conversation.tombstones.delete(event.id);
            this.staleHistories.add(conversation.id);
            return;
        }
        const told = { ...storedMessage(event, this.events), at: known.at };
        conversation.add(told, this.events);
        const message = conversation.messages.get(event.id);
        if (isRestore && message && event.at >= (message.visibilityAt ?? "")) {
            const { deletedForEveryone, from } = message;
            const isHidden = deletedForEveryone && from === this.user || undefined;
            conversation.set({ ...message, isHidden, visibilityAt: event.at });
        }
    }

    /**
     * @param {ConversationState} conversation
     * @param {any} event
     */
    #applyDeletion(conversation, event) {
        const known = conversation.messages.get(event.id);
        const isForMe = event.for === "me";
        if (!known) {
            const isHidden = event.by === this.user;
            conversation.bury(event.id, { isHidden, isRetracted: !isForMe });
            // The deletion notice of another user's message is shown at the message's position,
            // which a reload provides.
            if (event.by !== this.user) this.staleHistories.add(conversation.id);
            return;
        }
        const message = { ...known, changed: this.events };
        if (isForMe && event.at >= (known.visibilityAt ?? "")) {
            Object.assign(message, { isHidden: true, visibilityAt: event.at });
        }
        // The sender does not see the deletion notice: for the sender the message is hidden.
        if (!isForMe && event.by === this.user) message.isHidden = true;
        conversation.set(isForMe ? message : retracted(message));
    }

    /**
     * @param {ConversationState} conversation
     * @param {any} event
     */
    #applyPin(conversation, event) {
        const known = conversation.messages.get(event.id);
        const isPin = event.kind === "pin";
        const pin = {
            pinnedBy: isPin ? event.by : undefined,
            pinnedAt: isPin ? event.at : undefined,
            pinChangedAt: event.at,
        };
        if (!known) {
            // The message is not loaded, so the list of pins is requested from a node again.
            this.stalePins.add(conversation.id);
            conversation.keepPin(event.id, pin);
            return;
        }
        if (event.at < (known.pinChangedAt ?? "") || known.deletedForEveryone) return;
        conversation.set({ ...known, ...pin, changed: this.events });
    }

    /** @param {any} event */
    #applyItem(event) {
        if (event.deleted) {
            this.items.delete(event.id);
            this.deletedItems.add(event.id);
            if (this.deletedItems.size > ITEM_TOMBSTONES_MAX) {
                const [oldest] = this.deletedItems;
                this.deletedItems.delete(oldest);
            }
        } else if (!this.deletedItems.has(event.id)) {
            this.items.set(event.id, item(event, this.events));
        }
    }

    /**
     * Merges the rows of the chat list from a node's response.
     *
     * @param {any[]} rows
     * @param {number} asked
     */
    mergeRows(rows, asked) {
        for (const row of rows) this.mergeRow(row, asked);
    }

    /**
     * Merges a row of the chat list from a node's response, unless an event has changed the chat
     * since the request.
     *
     * @param {any} row
     * @param {number} asked
     * @returns {boolean} whether the row was merged
     */
    mergeRow(row, asked) {
        const conversation = this.conversation(row.id);
        if (conversation.rowChanged > asked) return false;
        // A row is marked as hidden if the user hid the chat and no message has arrived since.
        conversation.row = row.hidden ? undefined : row;
        conversation.version += 1;
        this.staleRows.delete(row.id);
        return true;
    }

    /**
     * Merges the list of action items from a node's response.
     *
     * @param {any[]} items
     * @param {number} asked
     */
    mergeItems(items, asked) {
        for (const told of items) {
            const known = this.items.get(told.id);
            if (this.deletedItems.has(told.id) || known && known.changed > asked) continue;
            this.items.set(told.id, item(told, known?.changed ?? 0));
        }
    }

    /** @param {any[]} profiles */
    mergeProfiles(profiles) {
        for (const told of profiles) this.profiles.set(told.user, profile(told));
    }

    /** @param {ConversationState} conversation */
    #rowIsStale(conversation) {
        conversation.rowChanged = this.events;
        conversation.version += 1;
        this.staleRows.add(conversation.id);
    }
}

/** @param {{id: string, from: string, at: string, type: string, text: string}} message */
export function lastOf(message) {
    const { id, from, at } = message;
    return { last: id, lastFrom: from, lastAt: at, lastText: preview(message) };
}

/** @param {{type: string, text: string}} message */
function preview({ type, text }) {
    if (type === "image") return "Photo";
    return type === "voice" ? "Voice message" : text;
}

/**
 * @param {any} fields
 * @param {number} changed
 * @returns {StoredItem}
 */
function item({ id, title, due, priority, chat, message, done }, changed) {
    return { id, title, due, priority, chat, message, done, changed };
}

/**
 * @param {any} fields
 * @returns {Profile}
 */
function profile({ user, name, email, photo }) {
    return { user, name, email, photo };
}
