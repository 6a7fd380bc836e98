import { asFailure, failure, isFinal } from "../network/failures.js";
import { exactly } from "../network/connection.js";

/** @typedef {import("../state/confirmed.js").ConfirmedState} ConfirmedState */
/** @typedef {import("../state/conversation.js").ConversationState} ConversationState */
/** @typedef {{body: any, isSure: boolean}} Read */

/** The number of messages requested at a time when the history of a conversation is loaded. */
export const PAGE_COUNT = 50;
/** The most messages that a node returns in one response. */
const ANSWER_MAX = 1_000;
/** Milliseconds before stale data is reloaded after a temporary failure. */
const TRY_MILLISECONDS = 1_000;
/** Milliseconds during which events are collected before the data they made stale is reloaded. */
const GATHER_MILLISECONDS = 150;
/** Milliseconds for which stale responses are accepted after nodes answered 503 to a request. */
const BEHIND_MILLISECONDS = 10_000;
/** Milliseconds before the lists are loaded again after a response that lacks a part. */
const PART_MILLISECONDS = 5_000;
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
     * The requests in progress, by name, each for the state that it was made for.
     * @type {Map<string, {confirmed: ConfirmedState, question: Promise<void>}>}
     */
    #underWay = new Map();
    /** Users whose profiles have been requested since the page was opened. @type {Set<string>} */
    #askedUsers = new Set();
    /** Whether nodes are assumed to lack some events that the client has received. */
    #isBehind = false;
    /** Whether the last response with the lists lacked a part, a short time ago. */
    #isPartial = false;
    /** The names of requests with a stale response while nodes are behind. @type {Set<string>} */
    #doubtful = new Set();

    /**
     * @param {{
     *   clock: import("../types.js").Clock, confirmed: () => ConfirmedState,
     *   isOnline: () => boolean,
     *   request: (method: string, path: string) => Promise<{status: number, body: any}>,
     *   readSince: (path: string, conversation?: string) => Promise<{body: any}>,
     *   isOpen: (conversation: string) => boolean, onChange: (conversation?: string) => void,
     * }} parts `readSince` reads data that includes the effect of the last received event, and of
     *   what the user has done to a conversation
     */
    constructor(parts) {
        this.#parts = parts;
    }

    /** Loads the lists of chats and action items from a node. */
    loadLists() {
        const paths = ["/v1/chats?show=all", "/v1/items"];
        const merge = (/** @type {ConfirmedState} */ confirmed, /** @type {Read[]} */ reads) => {
            const [chats, items] = reads;
            for (const row of chats.body.chats) {
                confirmed.mergeRow(row, chats.isSure);
                if (!chats.isSure) this.#doubt(`row ${row.id}`, confirmed.staleRows, row.id);
            }
            for (const item of items.body.items) confirmed.merge({ item });
            confirmed.isLoaded = !chats.body.partial && chats.isSure;
            if (!chats.isSure) this.#doubtful.add("lists");
            this.#parts.onChange();
            // A partial response lacks data of unreachable shards; the lists are loaded again.
            if (!chats.body.partial) return;
            this.#isPartial = true;
            this.#parts.clock.setTimer(PART_MILLISECONDS, () => {
                this.#isPartial = false;
                this.schedule();
            });
        };
        return this.#once(
            "lists",
            (confirmed) => this.#readAll("", paths, (reads) => merge(confirmed, reads)),
        );
    }

    /** Reads the lists and all loaded conversations again, with an unblocked user's messages. */
    reload() {
        const { conversations, staleHistories } = this.#parts.confirmed();
        for (const { id, isLoaded } of conversations.values()) {
            if (isLoaded) staleHistories.add(id);
        }
        return this.loadLists();
    }

    /** Reads a chat's newest messages, pins, marks, joins and leaves. @param {string} id */
    loadConversation(id) {
        return this.#once(
            `history ${id}`,
            async (confirmed) => {
                const [conversation, path] = this.#conversation(id);
                // Any loaded message may be stale, so all loaded messages are read again.
                const count = conversation.isLoaded ? conversation.stretch.length + PAGE_COUNT : 0;
                const limit = Math.min(Math.max(count, PAGE_COUNT), ANSWER_MAX);
                const parts = [`messages?limit=${limit}`, "pins", "marks", "changes?limit=100"];
                const paths = parts.map((part) => `${path}/${part}`);
                await this.#readAll(id, paths, ([history, pins, marks, changes]) => {
                    const { messages, next } = history.body;
                    const { isLoaded, stretch: [oldest] } = conversation;
                    conversation.mergeAnswer(messages, history.isSure);
                    conversation.mergeAnswer(pins.body.messages, pins.isSure);
                    const isCut = messages.length >= limit || next !== undefined;
                    const first = isCut ? messages[0]?.at ?? "" : "";
                    // Of what is loaded, only older messages reach further back than the answer.
                    const isOlder = isLoaded && oldest !== undefined && oldest.at < first;
                    if (!isOlder) conversation.completeFrom = first;
                    const isSure = history.isSure && pins.isSure;
                    if (isSure) conversation.dropUnsure(first);
                    else this.#doubt(`history ${id}`, confirmed.staleHistories, id);
                    for (const mark of marks.body.marks) {
                        conversation.merge({ conversation: id, mark });
                    }
                    conversation.takeChanges(changes.body.changes, changes.isSure);
                    // The list of chats has only the first participants; a single chat's row has all.
                    const { participants, participantCount = 0 } = conversation.row ?? {};
                    if (participants && participants.length < participantCount) {
                        confirmed.staleRows.add(id);
                    }
                    this.#parts.onChange(id);
                });
            },
            id,
            this.#parts.confirmed().staleHistories,
        );
    }

    /** Reads up to 50 messages that precede the loaded ones. @param {string} id */
    loadEarlier(id) {
        return this.#once(`earlier ${id}`, async (confirmed) => {
            const [conversation, path] = this.#conversation(id);
            const first = conversation.stretch[0];
            if (!conversation.hasEarlier || !first) return;
            const query = `before=${encodeURIComponent(first.id)}&limit=${PAGE_COUNT}`;
            await this.#readAll(id, [`${path}/messages?${query}`], ([{ body, isSure }]) => {
                const { messages, next } = body;
                // The messages that follow the answer may have been trimmed meanwhile.
                if (conversation.stretch[0]?.id !== first.id) return;
                conversation.mergeAnswer(messages, isSure);
                const isCut = messages.length >= PAGE_COUNT || next !== undefined;
                conversation.completeFrom = isCut ? messages[0]?.at ?? first.at : "";
                if (!isSure) this.#doubt(`history ${id}`, confirmed.staleHistories, id);
                this.#parts.onChange(id);
            });
        });
    }

    /** Reads the pinned messages of a conversation. @param {string} id */
    loadPins(id) {
        return this.#once(
            `pins ${id}`,
            async (confirmed) => {
                const [conversation, path] = this.#conversation(id);
                await this.#readAll(id, [`${path}/pins`], ([{ body, isSure }]) => {
                    conversation.mergeAnswer(body.messages, isSure);
                    if (!isSure) this.#doubt(`history ${id}`, confirmed.staleHistories, id);
                    this.#parts.onChange(id);
                });
            },
            id,
            this.#parts.confirmed().stalePins,
        );
    }

    /** Reads the profiles that have not been requested before. @param {Iterable<string>} users */
    async loadProfiles(users) {
        const wanted = [...users].filter((user) => !this.#askedUsers.has(user));
        for (let start = 0; start < wanted.length; start += PROFILES_MAX) {
            const some = wanted.slice(start, start + PROFILES_MAX);
            for (const user of some) this.#askedUsers.add(user);
            const path = `/v1/profiles?users=${some.map(encodeURIComponent).join(",")}`;
            const answer = await this.#get(path).catch(() => undefined);
            for (const profile of answer?.profiles ?? []) {
                this.#parts.confirmed().merge({ profile });
            }
            if (!answer) { for (const user of some) this.#askedUsers.delete(user); }
        }
        if (wanted.length > 0) this.#parts.onChange();
    }

    /**
     * Returns all versions of a message's text, the current version last.
     *
     * @param {string} conversation @param {string} message
     * @returns {Promise<{at: string, text: string}[]>}
     */
    async edits(conversation, message) {
        const [, path] = this.#conversation(conversation);
        return (await this.#get(`${path}/messages/${encodeURIComponent(message)}/edits`)).edits;
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
        const isToLoad = !confirmed.isLoaded && !this.#isPartial;
        if (isToLoad && !this.#isDoubtful("lists")) this.loadLists();
        for (const id of confirmed.staleRows) {
            if (!this.#isDoubtful(`row ${id}`)) this.#loadRow(id);
        }
        for (const id of confirmed.staleHistories) {
            const { isLoaded } = confirmed.conversation(id);
            if (!isLoaded && !this.#parts.isOpen(id)) confirmed.staleHistories.delete(id);
            else if (!this.#isDoubtful(`history ${id}`)) this.loadConversation(id);
        }
        for (const id of confirmed.stalePins) {
            if (confirmed.conversation(id).isLoaded) this.loadPins(id);
            else confirmed.stalePins.delete(id);
        }
        this.#loadShownProfiles(confirmed);
    }

    /** @param {ConfirmedState} confirmed */
    #loadShownProfiles({ conversations, staleProfiles, user }) {
        for (const user of staleProfiles) this.#askedUsers.delete(user);
        const users = new Set([user, ...staleProfiles]);
        staleProfiles.clear();
        for (const { changes, row } of conversations.values()) {
            for (const user of row?.participants ?? []) users.add(user);
            for (const { user, by } of changes) users.add(user).add(by);
        }
        this.loadProfiles(users);
    }

    /** @param {string} id */
    #loadRow(id) {
        return this.#once(
            `row ${id}`,
            async (confirmed) => {
                const path = `/v1/chats/${encodeURIComponent(id)}`;
                const conversation = confirmed.conversation(id);
                const { written } = conversation;
                await this.#readAll(id, [path], ([{ body, isSure }]) => {
                    if (isSure && conversation.written === written) {
                        confirmed.onIncluded(conversation);
                    }
                    confirmed.mergeRow(body, isSure);
                    if (!isSure) this.#doubt(`row ${id}`, confirmed.staleRows, id);
                }).catch((error) => {
                    const { code } = asFailure(error);
                    if (code !== 403 && code !== 404) throw error;
                    if (conversation.written !== written) return;
                    confirmed.onIncluded(conversation);
                    confirmed.dropRow(id);
                });
                this.#parts.onChange(id);
            },
            id,
            this.#parts.confirmed().staleRows,
        );
    }

    /** @param {string} id @returns {[ConversationState, string]} */
    #conversation(id) {
        const path = `/v1/conversations/${encodeURIComponent(id)}`;
        return [this.#parts.confirmed().conversation(id), path];
    }

    /**
     * Reads resources and merges them, but reads them again if the user has hidden or left a
     * conversation meanwhile: no answer from before brings back what is hidden. Nothing is merged
     * if another state has replaced the one for which the resources were read.
     *
     * @param {string} id the conversation, if the resources are of one
     * @param {string[]} paths @param {(reads: Read[]) => void} merge
     */
    async #readAll(id, paths, merge) {
        const confirmed = this.#parts.confirmed();
        for (;;) {
            const { epoch } = confirmed;
            const reads = await Promise.all(paths.map((path) => this.#read(path, id)));
            if (confirmed !== this.#parts.confirmed()) return;
            if (confirmed.epoch === epoch) return merge(reads);
        }
    }

    /** @param {string} path @returns {Promise<any>} @throws {import("../types.js").Failure} */
    async #get(path) {
        const { body, status } = await this.#parts.request("GET", exactly(path));
        if (status !== 200) throw failure(status, body);
        return body;
    }

    /** @param {string} name */
    #isDoubtful(name) {
        return this.#isBehind && this.#doubtful.has(name);
    }

    /**
     * Notes that a stale response has answered a request, so that the request is repeated later.
     *
     * @param {string} name @param {Set<string>} stale @param {string} id
     */
    #doubt(name, stale, id) {
        stale.add(id);
        this.#doubtful.add(name);
    }

    /**
     * Reads a resource that includes the last event that this client has received. If two attempts
     * fail and a node has answered 503, the client uses responses without this guarantee (stale
     * responses) for 10 s, and reads again later. A stale response may have a message that was
     * deleted; its node reports the deletion as an event once it receives it, but a client that has
     * switched to another node by then does not get this event: its resume token already includes
     * it.
     *
     * @param {string} path @param {string} id @returns {Promise<Read>}
     * @throws {import("../types.js").Failure}
     */
    async #read(path, id) {
        if (!this.#isBehind) {
            try {
                return {
                    body: (await this.#parts.readSince(exactly(path), id)).body,
                    isSure: true,
                };
            } catch (error) {
                if (asFailure(error).code !== 503) throw error;
            }
            this.#doubtful.clear();
            if (!this.#isBehind) {
                this.#parts.clock.setTimer(BEHIND_MILLISECONDS, () => {
                    this.#isBehind = false;
                    this.schedule();
                });
            }
            this.#isBehind = true;
        }
        try {
            return { body: await this.#get(path), isSure: false };
        } catch (error) {
            // The node may not have what is asked for yet.
            const { code, ...failure } = asFailure(error);
            throw { ...failure, code: code === 403 || code === 404 ? 503 : code };
        }
    }

    /**
     * Runs a request, or returns the promise of the request of the same name that is in progress.
     * What is stale afterwards is read again: soon, or a second after a temporary failure.
     *
     * @param {string} name @param {(confirmed: ConfirmedState) => Promise<void>} action
     * @param {string} [id] the conversation that `stale` then has no more, unless the request fails
     * @param {Set<string>} [stale]
     */
    #once(name, action, id = "", stale = new Set()) {
        const confirmed = this.#parts.confirmed();
        const known = this.#underWay.get(name);
        if (known?.confirmed === confirmed) return known.question;
        stale.delete(id);
        const question = action(confirmed).finally(() => {
            if (this.#underWay.get(name)?.question === question) this.#underWay.delete(name);
        });
        question.then(() => this.schedule(), (error) => {
            if (isFinal(asFailure(error).code)) return;
            stale.add(id);
            this.#parts.clock.setTimer(TRY_MILLISECONDS, () => this.schedule());
        });
        this.#underWay.set(name, { confirmed, question });
        return question;
    }
}
