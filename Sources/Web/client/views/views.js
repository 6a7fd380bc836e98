import { ITEMS, PROFILE } from "../outbox/lanes.js";
import * as overlay from "./overlay.js";

/** @typedef {import("../types.js").Message} Message */
/** @typedef {import("../types.js").Chat} Chat */
/** @typedef {import("../types.js").Operation} Operation */
/** @typedef {import("../state/conversation.js").ConversationState} ConversationState */
/**
 * @typedef {{state: ConversationState, key: string, messages: Message[], pins: Message[],
 *   chat: Chat | undefined}} View
 */

/**
 * The chats, messages and action items as the user sees them: confirmed data with pending
 * operations. An unchanged value is the same object, so that a page detects changes with `===`.
 */
export class Views {
    #engine;
    /** @type {Map<string, View>} */
    #views = new Map();
    /** The views last reported to listeners, by kind of change. @type {Map<string, unknown>} */
    #told = new Map();
    /** @type {{version: number, lanes: Map<string, Operation[]>} | undefined} */
    #lanes;

    /** @param {import("../sync/engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    /** @param {string} id @returns {View} */
    conversation(id) {
        const { marks, outbox, persistence: { confirmed } } = this.#engine;
        const { user } = confirmed;
        const state = confirmed.conversation(id);
        const operations = this.#lane(id);
        const read = marks.lastRead(id)?.at;
        const own = operations.length > 0 ? outbox.version : "";
        const key = `${state.version} ${state.completeFrom} ${own} ${read}`;
        const before = this.#views.get(id);
        if (before?.state === state && before.key === key) return before;
        const messages = same(before?.messages, overlay.messages(state, operations, user));
        const view = {
            state,
            key,
            messages,
            pins: same(before?.pins, overlay.pins(state, operations, user)),
            chat: sameOne(before?.chat, overlay.chat(state, operations, user, messages, read)),
        };
        this.#views.set(id, view);
        return view;
    }

    /** Returns all chats, the chat with the latest message first. */
    chats() {
        const ids = new Set(this.#engine.persistence.confirmed.conversations.keys());
        for (const lane of this.#allLanes().keys()) ids.add(lane);
        const chats = [];
        for (const id of ids) {
            const chat = this.conversation(id).chat;
            if (chat) chats.push(chat);
        }
        const latest = (/** @type {Chat} */ chat) => chat.lastAt ?? chat.createdAt;
        return chats.sort((a, b) =>
            latest(a) === latest(b) ? (a.id < b.id ? -1 : 1) : latest(a) < latest(b) ? 1 : -1
        );
    }

    /**
     * Returns the message of an action as the user sees it; undefined if the user sees none.
     *
     * @param {import("../types.js").Action} action
     */
    message(action) {
        if (!("conversation" in action) || !("message" in action)) return undefined;
        const { messages, pins } = this.conversation(action.conversation);
        return [...messages, ...pins].find(({ id }) => id === action.message);
    }

    /** Returns the loaded messages of all conversations. */
    messages() {
        return [...this.#engine.persistence.confirmed.conversations.keys()]
            .flatMap((id) => this.conversation(id).messages);
    }

    items() {
        return overlay.items(this.#engine.persistence.confirmed.items.values(), this.#lane(ITEMS));
    }

    /** @param {string} user @returns {import("../types.js").Profile | undefined} */
    profile(user) {
        const confirmed = this.#engine.persistence.confirmed;
        const operations = user === confirmed.user ? this.#lane(PROFILE) : [];
        return overlay.profile(confirmed.profiles.get(user), operations, user);
    }

    /**
     * Whether a view has changed since the listeners were last notified; true for a change without
     * a view. An event that only confirms the user's own change does not alter the view.
     *
     * @param {import("../types.js").Change} change
     */
    isNews(change) {
        const value = this.#shown(change);
        const name = JSON.stringify(change);
        const isNews = value === undefined || !equal(this.#told.get(name), value);
        if (value !== undefined) this.#told.set(name, value);
        return isNews;
    }

    clear() {
        this.#views.clear();
        this.#told.clear();
    }

    /** @param {import("../types.js").Change} change */
    #shown(change) {
        if (change.kind === "chats") return this.chats();
        if (change.kind === "items") return this.items();
        if (change.kind !== "conversation") return undefined;
        const state = this.#engine.persistence.confirmed.conversation(change.conversation);
        const { chat, messages, pins } = this.conversation(change.conversation);
        const marks = [...state.marks.values()];
        return [chat, messages, pins, state.completeFrom, marks, state.shownChanges];
    }

    /** @param {string} lane */
    #lane(lane) {
        return this.#allLanes().get(lane) ?? [];
    }

    /** @returns {Map<string, Operation[]>} */
    #allLanes() {
        const { version, operations } = this.#engine.outbox;
        const known = this.#lanes;
        if (known && known.version === version) return known.lanes;
        const lanes = Map.groupBy(operations, ({ lane }) => lane);
        this.#lanes = { version, lanes };
        return lanes;
    }
}

/**
 * Returns `list` with equal elements replaced by those of `before`, so that `===` detects changes.
 *
 * @template {{id: string}} T @param {T[] | undefined} before @param {T[]} list @returns {T[]}
 */
function same(before, list) {
    if (!before) return list;
    const known = new Map(before.map((element) => [element.id, element]));
    const result = list.map((element) => sameOne(known.get(element.id), element));
    const isEqual = result.length === before.length &&
        result.every((element, index) => element === before[index]);
    return isEqual ? before : result;
}

/** @template T @param {T | undefined} before @param {T} value @returns {T} */
function sameOne(before, value) {
    return before !== undefined && equal(before, value) ? before : value;
}

/** Whether two values are deeply equal. @param {any} a @param {any} b @returns {boolean} */
export function equal(a, b) {
    if (a === b) return true;
    if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => equal(a[key], b[key]));
}
