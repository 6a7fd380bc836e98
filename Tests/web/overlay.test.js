import { ConfirmedState } from "../../Sources/Web/client/store/confirmed.js";
import * as overlay from "../../Sources/Web/client/outbox/overlay.js";
import { storedMessage } from "../../Sources/Web/client/views/message.js";
import { matcher } from "../../Sources/Web/client/sync/search.js";
import { assert, assertEquals } from "./assertions.js";

/** @typedef {import("../../Sources/Web/client/types.js").Action} Action */
/** @typedef {import("../../Sources/Web/client/types.js").Operation} Operation */

const CHAT = "lunch";

/** @param {number} second */
function time(second) {
    return new Date(Date.UTC(2026, 10, 25, 12, 0, second)).toISOString();
}

/**
 * @param {string} id
 * @param {number} second
 * @param {any} [fields]
 */
function message(id, second, fields = {}) {
    const from = fields.from ?? "alice";
    const event = { kind: "message", conversation: CHAT, by: from, id, from, type: "text" };
    return { ...event, at: time(second), text: id, ...fields };
}

/** @param {any[]} events */
function confirmed(...events) {
    const state = new ConfirmedState("alice");
    state.conversation(CHAT).row = {
        ...{ id: CHAT, title: "Lunch", participants: ["alice", "bob"], createdAt: time(0) },
        ...{ lastText: "", unread: 0 },
    };
    for (const event of events) state.apply(event);
    return state;
}

let number = 0;

/**
 * @param {any} action
 * @param {string} [acknowledgedAt]
 * @returns {Operation}
 */
function operation(action, acknowledgedAt) {
    const acknowledged = acknowledgedAt ? { at: acknowledgedAt } : undefined;
    const id = String(number += 1).padStart(9, "0");
    return {
        id,
        lane: CHAT,
        at: time(50),
        action: { conversation: CHAT, ...action },
        acknowledged,
    };
}

/**
 * @param {ConfirmedState} state
 * @param {Operation[]} operations
 */
function texts(state, ...operations) {
    return overlay.messages(state.conversation(CHAT), operations, "alice")
        .map(({ state, text }) => state === "waiting" ? `${text}…` : text);
}

Deno.test("a pending change is laid over, and leaves the state as it is", () => {
    const state = confirmed(message("a", 1), message("b", 2));
    const before = structuredClone([...state.conversation(CHAT).messages]);
    const operations = [
        operation({ kind: "edit", message: "a", text: "A" }),
        operation({ kind: "delete", message: "b" }),
        operation({ kind: "send", message: "c", type: "text", text: "c" }),
        operation({ kind: "edit", message: "c", text: "C" }),
    ];
    assertEquals(texts(state, ...operations), ["A", "C…"]);
    assertEquals([...state.conversation(CHAT).messages], before);
    assertEquals(texts(state), ["a", "b"]);
});

Deno.test("a change that is taken back leaves what arrived meanwhile", () => {
    const state = confirmed(message("a", 1));
    const hidden = operation({ kind: "delete", message: "a" });
    state.apply(message("b", 2, { from: "bob" }));
    state.apply({ kind: "pin", conversation: CHAT, by: "bob", at: time(3), id: "a" });
    assertEquals(texts(state, hidden), ["b"]);
    const [first] = overlay.messages(state.conversation(CHAT), [], "alice");
    assertEquals([first.text, first.pinnedBy], ["a", "bob"]);
});

Deno.test("the echo has the place of the message that was acknowledged", () => {
    const state = confirmed(message("a", 1), message("z", 3, { from: "bob" }));
    const send = { kind: "send", message: "m", type: "text", text: "m" };
    assertEquals(texts(state, operation(send)), ["a", "z", "m…"]);
    assertEquals(texts(state, operation(send, time(2))), ["a", "m", "z"]);
    state.apply(message("m", 2));
    assertEquals(texts(state, operation(send, time(2))), ["a", "m", "z"]);
    assertEquals(texts(state), ["a", "m", "z"]);
});

Deno.test("a late answer brings back neither deleted messages nor old texts", () => {
    const state = confirmed(message("a", 1), message("b", 2, { from: "bob" }));
    const conversation = state.conversation(CHAT);
    const question = { asked: state.events, epoch: conversation.epoch, isSure: true };
    const deletion = { kind: "delete", conversation: CHAT, at: time(9) };
    state.apply({ ...deletion, by: "alice", id: "a", for: "me" });
    state.apply({ ...deletion, by: "bob", id: "b", for: "everyone" });
    state.apply({ ...deletion, by: "alice", id: "unknown", for: "me" });
    state.apply({ ...message("c", 4), kind: "edit", at: time(8), edited: time(8), text: "C" });
    const late = ["a", "b", "c", "unknown"].map((id, index) => message(id, index + 1));
    assert(conversation.mergeAnswer(late, question), "The answer was of no use");
    assertEquals(texts(state), ["[Message deleted]", "C"]);
});

Deno.test("what an older answer told is forgotten where a sure one lacks it", () => {
    const state = confirmed(message("a", 1));
    const conversation = state.conversation(CHAT);
    const question = { asked: state.events, epoch: conversation.epoch };
    const older = [message("b", 2), message("gone", 3), message("c", 4)];
    conversation.mergeAnswer(older, { ...question, isSure: false });
    assertEquals(texts(state), ["a", "b", "gone", "c"]);
    state.apply(message("c", 4));
    conversation.mergeAnswer([message("b", 2)], { ...question, isSure: true });
    conversation.dropUnsure(storedMessage(message("c", 4), 0));
    assertEquals(texts(state), ["a", "b", "gone", "c"]);
    conversation.dropUnsure(storedMessage(message("b", 2), 0));
    assertEquals(texts(state), ["a", "b", "c"]);
});

Deno.test("pins are told by events and by sure answers", () => {
    const pin = { pinnedBy: "bob", pinnedAt: time(5) };
    const state = confirmed(message("a", 1));
    const conversation = state.conversation(CHAT);
    const question = { asked: state.events, epoch: conversation.epoch };
    const pinned = () => overlay.pins(conversation, [], "alice").map(({ id }) => id);
    conversation.mergeAnswer([message("a", 1, pin)], { ...question, isSure: false });
    assertEquals(pinned(), []);
    conversation.mergeAnswer([message("a", 1, pin)], { ...question, isSure: true });
    assertEquals(pinned(), ["a"]);
    // An unpin of a message that is not known yet, and an answer that was under way.
    state.apply({ kind: "unpin", conversation: CHAT, by: "bob", at: time(6), id: "b" });
    conversation.mergeAnswer([message("b", 2, pin)], { ...question, isSure: true });
    assertEquals(pinned(), ["a"]);
    // The events that the token does not stand for are not in a list of pins.
    state.apply({ kind: "pin", conversation: CHAT, by: "bob", at: time(7), id: "b" });
    conversation.mergePins([], { asked: state.events, covered: 1, epoch: conversation.epoch });
    assertEquals(pinned(), ["b"]);
});

Deno.test("an answer that was asked for before a chat was hidden is void", () => {
    const state = confirmed(message("a", 1));
    const conversation = state.conversation(CHAT);
    const question = { asked: state.events, epoch: conversation.epoch, isSure: true };
    state.apply({ kind: "hide", conversation: CHAT, by: "alice", at: time(5) });
    assertEquals(conversation.mergeAnswer([message("a", 1)], question), false);
    assertEquals(texts(state), []);
});

Deno.test("a chat that was hidden is in no list until something arrives in it", () => {
    const state = confirmed(message("a", 1));
    const conversation = state.conversation(CHAT);
    const row = { ...conversation.row };
    state.apply({ kind: "hide", conversation: CHAT, by: "alice", at: time(5) });
    assertEquals(state.mergeRow({ ...row, hidden: true }, state.events), true);
    assertEquals(conversation.row, undefined);
    assertEquals(state.mergeRow(row, state.events), true);
    assertEquals(conversation.row?.id, CHAT);
});

Deno.test("events that are told twice, or late, change nothing", () => {
    const state = confirmed(message("a", 1));
    const pin = { kind: "pin", conversation: CHAT, by: "bob", at: time(2), id: "a" };
    const restore = { ...message("a", 1), kind: "restore", at: time(3) };
    const hide = {
        kind: "delete",
        conversation: CHAT,
        by: "alice",
        at: time(4),
        id: "a",
        for: "me",
    };
    for (const event of [pin, { ...pin, kind: "unpin", at: time(3) }, hide, restore, pin]) {
        state.apply(event);
    }
    assertEquals(texts(state), []);
    assertEquals(overlay.pins(state.conversation(CHAT), [], "alice"), []);
    // Nothing undoes a deletion for everyone.
    state.apply({ ...hide, at: time(6), for: "everyone" });
    state.apply({ ...restore, at: time(7) });
    state.apply({ ...message("a", 1), kind: "edit", edited: time(8), at: time(8) });
    assertEquals(texts(state), []);
});

Deno.test("the list shows what the conversation shows", () => {
    const state = confirmed(message("a", 1, { from: "bob" }), message("b", 2, { from: "bob" }));
    const conversation = state.conversation(CHAT);
    conversation.isLoaded = true;
    const chat = (/** @type {Operation[]} */ operations, /** @type {string} */ read = "") => {
        const list = overlay.messages(conversation, operations, "alice");
        return overlay.chat(conversation, operations, "alice", list, read);
    };
    assertEquals([chat([])?.lastText, chat([])?.unread], ["b", 2]);
    assertEquals(chat([operation({ kind: "delete", message: "b" })])?.lastText, "a");
    assertEquals([chat([], "a")?.unread, chat([], "b")?.unread], [1, 0]);
    assertEquals(chat([operation({ kind: "archive" })])?.isArchived, true);
    assertEquals(chat([operation({ kind: "leave" })]), undefined);
    const hide = operation({ kind: "hide", through: time(2) });
    assertEquals(chat([hide]), undefined);
    state.apply(message("c", 3, { from: "bob" }));
    assertEquals([chat([hide])?.lastText, chat([hide])?.unread], ["c", 1]);
});

Deno.test("a message is read when all others have read it", () => {
    const state = confirmed(message("a", 1), message("b", 2));
    const mark = { conversation: CHAT, by: "bob", at: time(9) };
    const states = () =>
        overlay.messages(state.conversation(CHAT), [], "alice").map(({ state }) => state);
    state.apply({ ...mark, kind: "delivered", id: "b" });
    assertEquals(states(), ["delivered", "delivered"]);
    state.apply({ ...mark, kind: "read", id: "a" });
    assertEquals(states(), ["read", "delivered"]);
});

Deno.test("words are found anywhere, without regard to case and accents", () => {
    assert(matcher("STRASSE cafe")("Das Café in der Straße"), "Not found");
    assert(!matcher("street")("Das Café in der Straße"), "Found");
    assert(!matcher("  ")("anything"), "Nothing finds everything");
});
