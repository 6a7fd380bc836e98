import { asFailure, failure, isFinal } from "../network/failures.js";
import { compare } from "../views/message.js";

/** @typedef {import("../store/confirmed.js").ConfirmedState} ConfirmedState */
/** @typedef {import("../views/conversation.js").ConversationState} ConversationState */

/** The number of messages requested at a time when the history of a conversation is loaded. */
export const PAGE_COUNT = 50;
/** The most messages that a node returns in one response. */
const ANSWER_MAX = 1_000;
/**
 * The most reads of a conversation's history while the reads are incomplete: an event has reported
 * that a message was deleted for everyone, but the responses lack the deletion notice that nodes
 * return in place of the message.
 */
const TRIES_MAX = 8;
/**
 * Milliseconds before stale data is reloaded after a temporary failure, and before a history is
 * read again after its first incomplete read (one that lacks a deletion notice). The latter pause
 * doubles with each incomplete read.
 */
const TRY_MILLISECONDS = 1_000;
/** Milliseconds during which events are collected before the data they made stale is reloaded. */
const GATHER_MILLISECONDS = 150;
/**
 * Milliseconds for which the client accepts stale responses after nodes answered 503 to a request
 * for data that includes all events received by the client.
 */
const BEHIND_MILLISECONDS = 10_000;
/** The most user profiles requested at a time. */
const PROFILES_MAX = 50;

/**
 * The loader of chats, messages, action items and profiles from nodes: at the first sign-in, when a
 * conversation is opened, and when an event has made loaded data stale.
 */
export class Loader {
    #parts;
    #isScheduled = false;
    /**
     * The requests in progress, by name: what is requested, and the id of its conversation, if any.
     * @type {Map<string, Promise<void>>}
     */
    #underWay = new Map();
    /** Ids of conversations for which the last response was 403 or 404. @type {Set<string>} */
    #unknown = new Set();
    /**
     * The incomplete reads (those that lack a deletion notice) of each conversation's history:
     * their count, the time of the next read, and the number of events received until the last
     * response.
     * @type {Map<string, {count: number, until: number, events: number}>}
     */
    #tries = new Map();
    /** Users whose profiles have been requested since the page was opened. */
    #askedUsers = /** @type {Set<string>} */ (new Set());
    /** The time until which nodes are assumed to lack some events that the client has received. */
    #behindUntil = 0;

    /**
     * @param {{
     *   clock: import("../types.js").Clock,
     *   confirmed: () => ConfirmedState,
     *   isOnline: () => boolean,
     *   request: (method: string, path: string) => Promise<{status: number, body: any}>,
     *   readSince: (path: string) => Promise<{body: any}>,
     *   isOpen: (conversation: string) => boolean,
     *   onChange: (conversation?: string) => void,
     * }} parts `readSince` reads data that includes the effect of the last received event
     */
    constructor(parts) {
        this.#parts = parts;
    }

    /** Loads the lists of chats and action items from a node. */
    loadLists() {
        return this.#once("lists", async () => {
            const confirmed = this.#parts.confirmed();
            const asked = confirmed.events;
            const [chats, items] = await Promise.all([
                this.#get("/v1/chats?show=all"),
                this.#get("/v1/items"),
            ]);
            if (confirmed !== this.#parts.confirmed()) return;
            confirmed.mergeRows(chats.chats, asked);
            confirmed.mergeItems(items.items, asked);
            // A partial response lacks data of unreachable shards; the lists are then loaded again.
            confirmed.isLoaded = !chats.partial;
            this.#parts.onChange();
            this.schedule();
        });
    }

    /**
     * Reads the lists of chats and action items, and the messages of all loaded conversations,
     * again after the user has unblocked somebody, because nodes now also return the unblocked
     * user's messages.
     */
    reload() {
        const { conversations, staleHistories } = this.#parts.confirmed();
        for (const { id, isLoaded } of conversations.values()) {
            if (isLoaded) staleHistories.add(id);
        }
        this.schedule();
        return this.loadLists();
    }

    /**
     * Whether the last response for a conversation was that the user has no access to it, or that
     * it does not exist.
     *
     * @param {string} id
     */
    isUnknown(id) {
        return this.#unknown.has(id);
    }

    /**
     * Reads a conversation's newest messages, pins, read and delivery marks, joins and leaves.
     *
     * @param {string} id
     */
    loadConversation(id) {
        return this.#once(`history ${id}`, async () => {
            const [conversation, path] = this.#conversation(id);
            const { epoch } = conversation;
            const asked = this.#parts.confirmed().events;
            // Any loaded message may be stale, so all loaded messages are read again.
            const count = conversation.isLoaded ? conversation.stretch.length + PAGE_COUNT : 0;
            const limit = Math.min(Math.max(count, PAGE_COUNT), ANSWER_MAX);
            const [history, pins, marks, changes] = await Promise.all([
                this.#read(`${path}/messages?limit=${limit}`),
                this.#read(`${path}/pins`),
                this.#read(`${path}/marks`),
                // Nodes of earlier versions do not serve `/changes`.
                this.#read(`${path}/changes?limit=100`).catch(() => undefined),
            ]).catch((error) => {
                const { code } = asFailure(error);
                if (code === 403 || code === 404) this.#unknown.add(id);
                throw error;
            });
            this.#unknown.delete(id);
            if (!this.#isCurrent(conversation)) return;
            const { isSure, body: { messages, next } } = history;
            const known = conversation.stretch[0];
            if (!conversation.mergeAnswer(messages, { asked, epoch, isSure })) return;
            const first = messages[0];
            const isCut = messages.length >= limit || next !== undefined;
            // If the loaded messages reach further back than the response, `hasEarlier` is kept.
            if (!conversation.isLoaded || !known || first && compare(first, known) < 0) {
                conversation.hasEarlier = isCut;
            }
            if (isSure) this.#dropUnsure(conversation, isCut ? first : undefined, limit);
            conversation.isLoaded = true;
            const question = { asked, epoch, isApart: true, isSure: pins.isSure };
            conversation.mergeAnswer(pins.body.messages, question);
            for (const mark of marks.body.marks) conversation.mergeMark(mark);
            if (changes) conversation.takeChanges(changes.body.changes, changes.isSure);
            this.#settleHistory(conversation);
            // The list of all chats has only the first participants; a single chat's row has all.
            const { participants, participantCount = 0 } = conversation.row ?? {};
            if (participants && participants.length < participantCount) this.#loadRow(id);
            this.#parts.onChange(id);
            this.schedule();
        });
    }

    /**
     * Removes messages that are known only from possibly stale responses and that an up-to-date
     * response lacks.
     *
     * Such messages that precede the response's first message stay until a later read requests
     * more messages. If the read has requested 1,000 messages, the maximum, all messages that
     * precede the response's first message are removed instead.
     *
     * @param {ConversationState} conversation
     * @param {any} first the response's first message if earlier messages exist
     * @param {number} limit the number of requested messages
     */
    #dropUnsure(conversation, first, limit) {
        conversation.dropUnsure(first);
        if (first && conversation.unsure.size > 0 && limit >= ANSWER_MAX) conversation.cut(first);
    }

    /**
     * Marks a conversation's history as up to date, unless the read was incomplete: an event has
     * reported that a message was deleted for everyone, but the response lacks the deletion notice
     * that nodes return in place of the message.
     *
     * After an incomplete read, the node may not have received the deletion yet, so the history is
     * read again, up to `TRIES_MAX` times.
     *
     * @param {ConversationState} conversation
     */
    #settleHistory(conversation) {
        const { id, tombstones } = conversation;
        const confirmed = this.#parts.confirmed();
        const isOpen = [...tombstones.values()].some(({ isHidden, isRetracted }) =>
            isRetracted && !isHidden
        );
        const { count, until } = this.#tries.get(id) ?? { count: 0, until: 0 };
        const now = this.#parts.clock.now();
        // A read that an event triggers before the next planned read does not count towards
        // `TRIES_MAX`.
        const next = now < until ? count : count + 1;
        if (isOpen && next < TRIES_MAX && confirmed.staleHistories.has(id)) {
            const end = now < until ? until : now + TRY_MILLISECONDS * 2 ** count;
            this.#tries.set(id, { count: next, until: end, events: confirmed.events });
            this.#parts.clock.setTimer(end - now, () => this.schedule());
            return;
        }
        this.#tries.delete(id);
        confirmed.staleHistories.delete(id);
    }

    /**
     * Whether the next read of a history has to wait. After an incomplete read (one that lacks a
     * deletion notice), it waits until the planned time, or until an event arrives.
     *
     * @param {string} id
     */
    #isWaiting(id) {
        const tries = this.#tries.get(id);
        return tries !== undefined && this.#parts.clock.now() < tries.until &&
            tries.events === this.#parts.confirmed().events;
    }

    /**
     * Reads up to 50 messages that directly precede the loaded messages of a conversation.
     *
     * @param {string} id
     */
    loadEarlier(id) {
        return this.#once(`earlier ${id}`, async () => {
            const [conversation, path] = this.#conversation(id);
            const first = conversation.stretch[0];
            if (!conversation.isLoaded || !conversation.hasEarlier || !first) return;
            const { epoch } = conversation;
            const asked = this.#parts.confirmed().events;
            const query = `before=${encodeURIComponent(first.id)}&limit=${PAGE_COUNT}`;
            const { isSure, body } = await this.#read(`${path}/messages?${query}`);
            const { messages, next } = body;
            if (!this.#isCurrent(conversation)) return;
            if (!conversation.mergeAnswer(messages, { asked, epoch, isSure })) return;
            conversation.hasEarlier = messages.length >= PAGE_COUNT || next !== undefined;
            this.#parts.onChange(id);
        });
    }

    /**
     * Reads the pinned messages of a conversation.
     *
     * @param {string} id
     */
    loadPins(id) {
        return this.#once(`pins ${id}`, async () => {
            const [conversation, path] = this.#conversation(id);
            const { epoch } = conversation;
            const confirmed = this.#parts.confirmed();
            const { covered, events: asked, stalePins } = confirmed;
            stalePins.delete(id);
            const { isSure, body } = await this.#read(`${path}/pins`).catch((error) => {
                stalePins.add(id);
                throw error;
            });
            if (!this.#isCurrent(conversation)) return;
            // The response may lack events received after the one that the resume token includes.
            if (!isSure || covered < asked) stalePins.add(id);
            if (!isSure) return;
            conversation.mergePins(body.messages, { asked, covered, epoch });
            this.#parts.onChange(id);
        });
    }

    /**
     * Reads the profiles of the given users, except those that have been requested before.
     *
     * @param {Iterable<string>} users
     */
    async loadProfiles(users) {
        const wanted = [...users].filter((user) => !this.#askedUsers.has(user));
        for (let start = 0; start < wanted.length; start += PROFILES_MAX) {
            const some = wanted.slice(start, start + PROFILES_MAX);
            for (const user of some) this.#askedUsers.add(user);
            const names = some.map(encodeURIComponent).join(",");
            const answer = await this.#get(`/v1/profiles?users=${names}`).catch(() => undefined);
            if (answer) this.#parts.confirmed().mergeProfiles(answer.profiles);
            else for (const user of some) this.#askedUsers.delete(user);
        }
        if (wanted.length > 0) this.#parts.onChange();
    }

    /** Schedules a reload of all chats, messages and pins that events have made stale. */
    schedule() {
        if (this.#isScheduled) return;
        this.#isScheduled = true;
        this.#parts.clock.setTimer(GATHER_MILLISECONDS, () => {
            this.#isScheduled = false;
            if (this.#parts.isOnline()) this.#drain();
        });
    }

    #drain() {
        const confirmed = this.#parts.confirmed();
        if (!confirmed.isLoaded) this.loadLists();
        for (const id of confirmed.staleRows) this.#loadRow(id);
        for (const conversation of confirmed.conversations.values()) {
            const { arePinsOpen, id, unsure } = conversation;
            if (unsure.size > 0 && !this.#isBehind) confirmed.staleHistories.add(id);
            if (arePinsOpen) confirmed.stalePins.add(id);
            conversation.arePinsOpen = false;
        }
        for (const id of confirmed.staleHistories) {
            if (this.#isWaiting(id)) continue;
            if (this.#parts.isOpen(id) || confirmed.conversation(id).isLoaded) {
                this.loadConversation(id);
            } else {
                confirmed.staleHistories.delete(id);
            }
        }
        for (const id of confirmed.stalePins) {
            if (confirmed.conversation(id).isLoaded) this.loadPins(id);
            else confirmed.stalePins.delete(id);
        }
        const users = new Set([confirmed.user]);
        for (const { changes, row } of confirmed.conversations.values()) {
            for (const user of row?.participants ?? []) users.add(user);
            for (const { user, by } of changes) users.add(user).add(by);
        }
        this.loadProfiles(users);
    }

    /** @param {string} id */
    #loadRow(id) {
        return this.#once(`row ${id}`, async () => {
            const confirmed = this.#parts.confirmed();
            const asked = confirmed.events;
            const path = `/v1/chats/${encodeURIComponent(id)}`;
            const answer = await this.#parts.request("GET", path).catch(() => undefined);
            if (!answer || confirmed !== this.#parts.confirmed()) return;
            if (answer.status === 403 || answer.status === 404) {
                confirmed.conversation(id).row = undefined;
                confirmed.staleRows.delete(id);
            } else if (answer.status !== 200 || !confirmed.mergeRow(answer.body, asked)) {
                return this.schedule();
            }
            this.#parts.onChange(id);
            this.schedule();
        });
    }

    /**
     * @param {string} id
     * @returns {[ConversationState, string]}
     */
    #conversation(id) {
        const path = `/v1/conversations/${encodeURIComponent(id)}`;
        return [this.#parts.confirmed().conversation(id), path];
    }

    /** @param {ConversationState} conversation */
    #isCurrent(conversation) {
        return this.#parts.confirmed().conversations.get(conversation.id) === conversation;
    }

    /**
     * @param {string} path
     * @returns {Promise<any>}
     * @throws {import("../types.js").Failure}
     */
    async #get(path) {
        const { body, status } = await this.#parts.request("GET", path);
        if (status !== 200) throw failure(status, body);
        return body;
    }

    get #isBehind() {
        return this.#parts.clock.now() < this.#behindUntil;
    }

    /**
     * Reads a resource from a node that can guarantee that its response includes the last event
     * that this client has received.
     *
     * If two attempts fail and a node has answered 503, the client uses responses without this
     * guarantee (stale responses) for 10 s. It reads their messages again later, since some may
     * have been deleted or unpinned. The node that sent a stale response reports such changes as
     * events once it receives them, but a client that has switched to another node by then does not
     * get these events: its resume token already includes them.
     *
     * @param {string} path
     * @returns {Promise<{body: any, isSure: boolean}>}
     * @throws {import("../types.js").Failure}
     */
    async #read(path) {
        if (!this.#isBehind) {
            try {
                return { body: (await this.#parts.readSince(path)).body, isSure: true };
            } catch (error) {
                if (asFailure(error).code !== 503) throw error;
            }
            this.#behindUntil = this.#parts.clock.now() + BEHIND_MILLISECONDS;
            this.#parts.clock.setTimer(BEHIND_MILLISECONDS, () => this.schedule());
        }
        return { body: await this.#get(path), isSure: false };
    }

    /**
     * Runs a request, or returns the promise of the request of the same name that is in progress.
     *
     * If the request fails, the promise rejects. After a temporary failure, the loader also reloads
     * all data marked as stale, a second later.
     *
     * @param {string} name
     * @param {() => Promise<void>} action
     */
    #once(name, action) {
        const known = this.#underWay.get(name);
        if (known) return known;
        const question = action().finally(() => this.#underWay.delete(name));
        question.catch((error) => {
            if (isFinal(asFailure(error).code)) return;
            this.#parts.clock.setTimer(TRY_MILLISECONDS, () => this.schedule());
        });
        this.#underWay.set(name, question);
        return question;
    }
}
