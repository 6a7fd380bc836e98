import { ConfirmedState } from "../../Sources/Web/client/state/confirmed.js";
import { consequenceOf } from "../../Sources/Web/client/outbox/actions.js";
import * as overlay from "../../Sources/Web/client/views/overlay.js";
import { matcher } from "../../Sources/Web/client/sync/search.js";
import { assert, assertEquals } from "./assertions.js";

/** @typedef {import("../../Sources/Web/client/types.js").Action} Action */
/** @typedef {import("../../Sources/Web/client/types.js").Operation} Operation */

const CHAT = "lunch";

/** @param {number} second */
function time(second) {
    return new Date(Date.UTC(2026, 10, 25, 12, 0, second)).toISOString().replace("Z", "000000Z");
}

/**
 * @param {string} id
 * @param {number} second
 * @param {any} [fields]
 */
function message(id, second, fields = {}) {
    const from = fields.from ?? "alice";
    const event = { kind: "message", conversation: CHAT, by: from, id, from, type: "text" };
    return { ...event, at: time(second), sent: time(second), text: id, ...fields };
}

/**
 * An event about a message.
 *
 * @param {string} kind
 * @param {string} by
 * @param {any} about the event that told of the message
 * @param {number} second
 * @param {any} [fields]
 */
function change(kind, by, { id, sent }, second, fields = {}) {
    return { kind, conversation: CHAT, by, at: time(second), id, sent, ...fields };
}

/** @param {any[]} events */
function confirmed(...events) {
    const state = new ConfirmedState("alice");
    const conversation = state.conversation(CHAT);
    conversation.row = {
        ...{ id: CHAT, title: "Lunch", participants: ["alice", "bob"], createdAt: time(0) },
        ...{ lastText: "", unread: 0 },
    };
    conversation.completeFrom = "";
    for (const event of events) state.apply(event);
    return state;
}

let number = 0;

/**
 * @param {any} action
 * @returns {Operation}
 */
function operation(action) {
    const id = String(number += 1).padStart(9, "0");
    return { id, lane: CHAT, at: time(50), action: { conversation: CHAT, ...action } };
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
    const first = message("a", 1);
    const state = confirmed(first);
    const hidden = operation({ kind: "delete", message: "a" });
    state.apply(message("b", 2, { from: "bob" }));
    state.apply(change("pin", "bob", first, 3));
    assertEquals(texts(state, hidden), ["b"]);
    const [shown] = overlay.messages(state.conversation(CHAT), [], "alice");
    assertEquals([shown.text, shown.pinnedBy], ["a", "bob"]);
});

Deno.test("an accepted message has its place before its event arrives, and after", () => {
    const state = confirmed(message("a", 1), message("z", 3, { from: "bob" }));
    const send = operation({ kind: "send", message: "m", type: "text", text: "m" });
    assertEquals(texts(state, send), ["a", "z", "m…"]);
    state.accept(consequenceOf(send.action, time(2), "alice"));
    assertEquals(texts(state), ["a", "m", "z"]);
    const before = state.conversation(CHAT).messages.get("m");
    state.apply(message("m", 2));
    assertEquals(texts(state), ["a", "m", "z"]);
    assertEquals(state.conversation(CHAT).messages.get("m"), before);
});

Deno.test("a waiting message of which a part is known is shown, and waits", () => {
    const state = confirmed();
    const send = operation({ kind: "send", message: "m", type: "text", text: "m" });
    const pin = { kind: /** @type {const} */ ("pin"), conversation: CHAT, message: "m" };
    state.accept(consequenceOf(pin, time(3), "alice"));
    assertEquals(texts(state, send), ["m…"]);
    state.accept(consequenceOf({ ...pin, kind: "delete" }, time(4), "alice"));
    assertEquals(texts(state, send), []);
});

Deno.test("an accepted change is over where a later one is known", () => {
    const first = message("a", 1);
    const state = confirmed(first, change("unpin", "bob", first, 9));
    const later = { text: "later", edited: time(9), from: "alice", type: "text" };
    state.apply(change("edit", "alice", first, 9, later));
    const edit = operation({ kind: "edit", message: "a", text: "earlier" });
    assertEquals(texts(state, edit), ["earlier"]);
    state.accept(consequenceOf(edit.action, time(8), "alice"));
    const pin = operation({ kind: "pin", message: "a" });
    state.accept(consequenceOf(pin.action, time(8), "alice"));
    assertEquals(texts(state), ["later"]);
    assertEquals(overlay.pins(state.conversation(CHAT), [], "alice"), []);
});

Deno.test("an edit counts over the first text, also where it is earlier than its message", () => {
    const first = message("a", 5);
    const state = confirmed(first);
    const edit = { kind: /** @type {const} */ ("edit"), conversation: CHAT, message: "a" };
    state.accept(consequenceOf({ ...edit, text: "early" }, time(4), "alice"));
    assertEquals(texts(state), ["early"]);
    // Another node has accepted the message earlier.
    state.apply({ ...first, sent: time(2), at: time(2) });
    assertEquals(texts(state), ["early"]);
    assertEquals(state.conversation(CHAT).messages.get("a")?.at, time(2));
});

Deno.test("of values with equal times the greater holds, in any order", () => {
    const first = message("a", 1);
    const pins = ["alice", "bob"].map((by) => change("pin", by, first, 2));
    // Bytes in UTF-8 and units of UTF-16 order these two differently.
    const edits = ["\u{FFFD}", "\u{1F600}"].map((text) => ({
        ...change("edit", "alice", first, 2, { text, edited: time(2), from: "alice" }),
    }));
    for (const events of [[...pins, ...edits], [...pins, ...edits].reverse()]) {
        const state = confirmed(first, ...events);
        const merged = state.conversation(CHAT).messages.get("a");
        assertEquals([merged?.pinnedBy, merged?.text], ["bob", "\u{1F600}"]);
    }
});

Deno.test("a late answer brings back neither deleted messages nor old texts", () => {
    const [a, b, c, unknown] = ["a", "b", "c", "unknown"].map((id, index) => message(id, index));
    const state = confirmed(a, { ...b, from: "bob" });
    const conversation = state.conversation(CHAT);
    state.apply(change("delete", "alice", a, 9, { for: "me" }));
    state.apply(change("delete", "bob", b, 9, { for: "everyone" }));
    state.apply(change("delete", "alice", unknown, 9, { for: "me" }));
    state.apply({ ...c, kind: "edit", at: time(8), edited: time(8), text: "C" });
    conversation.mergeAnswer([a, { ...b, from: "bob" }, c, unknown], true);
    assertEquals(texts(state), ["[Message deleted]", "C"]);
});

Deno.test("a message that another has deleted for everyone leaves its notice, though unknown", () => {
    const unknown = message("b", 2, { from: "bob" });
    const state = confirmed(message("a", 1), message("c", 3));
    state.apply(change("delete", "bob", unknown, 9, { for: "everyone" }));
    assertEquals(texts(state), ["a", "[Message deleted]", "c"]);
    assertEquals([...state.staleHistories], []);
});

Deno.test("what an older answer told is forgotten where a sure one lacks it", () => {
    const state = confirmed(message("a", 1));
    const conversation = state.conversation(CHAT);
    const older = [message("b", 2), message("gone", 3), message("c", 4)];
    conversation.mergeAnswer(older, false);
    assertEquals(texts(state), ["a", "b", "gone", "c"]);
    state.apply(message("c", 4));
    conversation.mergeAnswer([message("b", 2)], true);
    conversation.dropUnsure(time(2));
    assertEquals(texts(state), ["a", "b", "c"]);
    // What is known before the answer may have gaps then.
    conversation.mergeAnswer([message("old", 0)], false);
    conversation.dropUnsure(time(2));
    assertEquals(texts(state), ["b", "c"]);
    assertEquals(conversation.hasEarlier, true);
});

Deno.test("pins follow their times, whatever arrives first", () => {
    const [a, b] = [message("a", 1), message("b", 2)];
    const state = confirmed(a);
    const conversation = state.conversation(CHAT);
    const pinned = () => overlay.pins(conversation, [], "alice").map(({ id }) => id);
    const pin = { pinnedBy: "bob", pinnedAt: time(5) };
    conversation.mergeAnswer([{ ...a, ...pin }], false);
    assertEquals(pinned(), ["a"]);
    // An unpin of a message that is not known yet, and an answer that was under way.
    state.apply(change("unpin", "bob", b, 6));
    conversation.mergeAnswer([{ ...b, ...pin }], true);
    assertEquals(pinned(), ["a"]);
    state.apply(change("pin", "bob", b, 7));
    conversation.mergeAnswer([{ ...b, unpinnedAt: time(6) }], true);
    assertEquals(pinned(), ["b", "a"]);
    // The pin of an unknown message is shown when the pins have been read again.
    state.apply(change("pin", "bob", message("c", 3), 8));
    assertEquals([pinned(), [...state.stalePins]], [["b", "a"], [CHAT]]);
});

Deno.test("what a user hid does not come back with older events, and a later hiding counts", () => {
    const state = confirmed(message("a", 1));
    const hide = { kind: "hide", conversation: CHAT, by: "alice", at: time(5) };
    const { epoch } = state;
    state.apply(hide);
    // A message that the node which hid the chat may have lacked stays until an answer lacks it.
    assertEquals([state.epoch, texts(state)], [epoch + 1, ["a"]]);
    assertEquals([...state.staleHistories], [CHAT]);
    state.conversation(CHAT).dropUnsure("");
    assertEquals(texts(state), []);
    state.apply(message("a", 1));
    assertEquals(texts(state), []);
    state.apply(message("b", 6));
    state.apply({ ...hide, at: time(4) });
    assertEquals([state.epoch, texts(state)], [epoch + 1, ["b"]]);
    // Two devices have hidden it: what one of them did not hide was shown by answers.
    state.conversation(CHAT).mergeAnswer([message("a", 1)], true);
    assertEquals(texts(state), ["a", "b"]);
    state.apply(hide);
    state.conversation(CHAT).dropUnsure("");
    assertEquals([state.epoch, texts(state)], [epoch + 2, ["b"]]);
});

Deno.test("a deleted message does not come back when its chat is hidden", () => {
    const [a, b] = [message("a", 1, { from: "bob" }), message("b", 2)];
    const state = confirmed(a, b);
    state.apply(change("delete", "alice", a, 3, { for: "me" }));
    state.apply(change("delete", "alice", b, 3, { for: "everyone" }));
    state.apply({ kind: "hide", conversation: CHAT, by: "alice", at: time(5) });
    state.conversation(CHAT).mergeAnswer([a, b], true);
    assertEquals(texts(state), []);
});

Deno.test("a chat that was hidden is in no list until something arrives in it", () => {
    const state = confirmed(message("a", 1));
    const conversation = state.conversation(CHAT);
    const row = { ...conversation.row };
    state.apply({ kind: "hide", conversation: CHAT, by: "alice", at: time(5) });
    // The row is to be read again: an answer that was under way does not count.
    state.mergeRow(row, true);
    assertEquals(conversation.row, undefined);
    state.staleRows.clear();
    state.mergeRow({ ...row, hidden: true }, true);
    assertEquals(conversation.row, undefined);
    state.mergeRow(row, true);
    assertEquals(conversation.row?.id, CHAT);
});

Deno.test("a row from before a deletion of its last message is read again", () => {
    const sent = message("b", 2, { from: "bob" });
    const state = confirmed(message("a", 1), sent);
    const conversation = state.conversation(CHAT);
    const row = { ...conversation.row, last: "b", lastAt: time(2), unread: 1 };
    const earlier = { ...row, last: "a", lastAt: time(1), unread: 0 };
    conversation.row = /** @type {any} */ (earlier);
    // The row that tells of the message was asked for before the message was deleted.
    state.apply(change("delete", "bob", sent, 3, { for: "everyone" }));
    assertEquals([...state.staleRows], []);
    state.mergeRow(row, true);
    assertEquals([...state.staleRows], [CHAT]);
    state.staleRows.clear();
    state.mergeRow(earlier, true);
    assertEquals([...state.staleRows], []);
});

Deno.test("after an accepted hiding only rows count that include it", () => {
    const state = confirmed(message("a", 1));
    const conversation = state.conversation(CHAT);
    const row = { ...conversation.row };
    const hide = { kind: /** @type {const} */ ("hide"), conversation: CHAT, through: time(1) };
    state.token = "E";
    state.accept(consequenceOf(hide, time(5), "alice"), "W");
    assertEquals([state.tokens(CHAT), state.tokens()], ["E, W", "E"]);
    assertEquals([...state.staleRows], [CHAT]);
    state.staleRows.clear();
    state.mergeRow(row, true);
    assertEquals(conversation.row, undefined);
    conversation.written = undefined;
    state.mergeRow(row, true);
    assertEquals(conversation.row?.id, CHAT);
    // Its event came first: the row that was read since then counts.
    state.accept(consequenceOf(hide, time(5), "alice"), "W");
    assertEquals([conversation.row?.id, conversation.written], [CHAT, undefined]);
});

Deno.test("a hidden chat is read again when a message from before turns up", () => {
    const state = confirmed();
    const row = { ...state.conversation(CHAT).row };
    state.apply({ kind: "hide", conversation: CHAT, by: "alice", at: time(10) });
    state.staleRows.clear();
    state.mergeRow({ ...row, hidden: true }, true);
    state.apply(message("m", 5, { from: "bob" }));
    assertEquals([...state.staleRows], [CHAT]);
});

Deno.test("what a node tells that lacks a leaving is read again at the event", () => {
    const state = confirmed();
    const conversation = state.conversation(CHAT);
    const row = { ...conversation.row };
    const leave = { kind: /** @type {const} */ ("leave"), conversation: CHAT };
    state.accept(consequenceOf(leave, time(10), "alice"));
    conversation.written = undefined;
    state.staleRows.clear();
    state.mergeRow(row, true);
    const left = { kind: "member", change: "left", user: "alice", by: "alice", at: time(10) };
    state.apply({ ...left, conversation: CHAT });
    assertEquals([conversation.row, [...state.staleRows]], [undefined, [CHAT]]);
});

Deno.test("an older answer brings nothing back that the user has hidden", () => {
    const state = confirmed(message("a", 1));
    const conversation = state.conversation(CHAT);
    const row = { ...conversation.row };
    state.apply({ kind: "hide", conversation: CHAT, by: "alice", at: time(10) });
    state.staleRows.clear();
    conversation.dropUnsure("");
    conversation.mergeAnswer([message("a", 1), message("b", 11)], false);
    state.mergeRow(row, false);
    assertEquals([texts(state), conversation.row], [["b"], undefined]);
});

Deno.test("whether nodes have told of an action is judged by the times of its values", () => {
    const first = message("a", 1);
    const state = confirmed(first, change("pin", "bob", first, 5));
    const includes = (/** @type {any} */ action, /** @type {number} */ second) =>
        state.includes(consequenceOf({ conversation: CHAT, ...action }, time(second), "alice"));
    for (const kind of ["pin", "unpin"]) {
        assertEquals([5, 6].map((at) => includes({ kind, message: "a" }, at)), [true, false]);
    }
    assertEquals(includes({ kind: "edit", message: "a", text: "A" }, 5), false);
    state.apply({ ...first, kind: "edit", at: time(7), edited: time(7), text: "A" });
    assertEquals(includes({ kind: "edit", message: "a", text: "B" }, 6), true);
    assertEquals(includes({ kind: "hide", through: "" }, 5), false);
    state.apply({ kind: "hide", conversation: CHAT, by: "alice", at: time(9) });
    assertEquals(includes({ kind: "hide", through: "" }, 9), true);
    state.merge({ item: { id: "i", title: "milk", titleChanged: time(3), doneChanged: time(3) } });
    const item = { item: "i", conversation: undefined };
    assertEquals(includes({ ...item, kind: "completeItem", isDone: true }, 3), true);
    assertEquals(includes({ ...item, kind: "completeItem", isDone: true }, 4), false);
    assertEquals(includes({ ...item, kind: "deleteItem" }, 3), false);
});

Deno.test("events that are told twice, or late, change nothing", () => {
    const first = message("a", 1);
    const state = confirmed(first);
    const pin = change("pin", "bob", first, 2);
    const restore = { ...first, kind: "restore", at: time(3) };
    const hide = change("delete", "alice", first, 4, { for: "me" });
    for (const event of [pin, change("unpin", "bob", first, 3), hide, restore, pin]) {
        state.apply(event);
    }
    assertEquals(texts(state), []);
    assertEquals(overlay.pins(state.conversation(CHAT), [], "alice"), []);
    // Nothing undoes a deletion for everyone.
    state.apply({ ...hide, at: time(6), for: "everyone" });
    state.apply({ ...restore, at: time(7) });
    state.apply({ ...first, kind: "edit", edited: time(8), at: time(8) });
    assertEquals(texts(state), []);
});

Deno.test("parts of the state may be merged in any order, and twice", () => {
    const [a, b] = [message("a", 1), message("b", 2, { from: "bob" })];
    const parts = [
        ...[a, b, change("pin", "bob", a, 3), change("unpin", "alice", a, 4)],
        ...[change("pin", "bob", b, 5), change("delete", "alice", b, 6, { for: "me" })],
        { ...b, kind: "restore", at: time(7) },
        { ...a, kind: "edit", at: time(8), edited: time(8), text: "A" },
        change("delete", "bob", b, 9, { for: "everyone" }),
        { kind: "archive", conversation: CHAT, by: "alice", at: time(3) },
        { kind: "unarchive", conversation: CHAT, by: "alice", at: time(4) },
        change("read", "bob", a, 9),
        change("read", "bob", b, 8),
        { kind: "action", id: "i", title: "milk", titleChanged: time(3), doneChanged: time(3) },
        {
            kind: "action",
            id: "i",
            title: "milk",
            titleChanged: time(3),
            done: true,
            doneChanged: time(4),
        },
        { kind: "action", id: "j", title: "eggs", titleChanged: time(3) },
        { kind: "action", id: "j", deleted: true },
        { kind: "profile", user: "bob", name: "Bob", nameChanged: time(2) },
        { kind: "profile", user: "bob", name: "Bobby", nameChanged: time(3) },
    ];
    const seen = new Set();
    let random = 1;
    for (let round = 0; round < 200; round += 1) {
        const state = confirmed();
        const order = [...parts, ...parts.slice(round % parts.length)].map((part) => {
            random = random * 48_271 % 2_147_483_647;
            return { part, random };
        });
        order.sort((a, b) => a.random - b.random);
        for (const { part } of order) state.apply({ ...part });
        const conversation = state.conversation(CHAT);
        const sorted = [...conversation.messages.values()].sort((a, b) => a.id < b.id ? -1 : 1);
        const marks = [...conversation.marks.values()];
        seen.add(JSON.stringify([
            ...[sorted.map((message) => Object.entries(message).sort()), marks],
            ...[conversation.isArchived, Object.entries(state.items.get("i") ?? {}).sort()],
            ...[state.items.get("j"), Object.entries(state.profiles.get("bob") ?? {}).sort()],
        ]));
    }
    assertEquals(seen.size, 1);
});

Deno.test("a chat's row is asked for only where the messages do not tell it", () => {
    const state = confirmed(message("a", 1, { from: "bob" }), message("b", 2, { from: "bob" }));
    const conversation = state.conversation(CHAT);
    assertEquals([...state.staleRows], []);
    // Of a chat that is not loaded, the row counts up to its last message.
    const row = { ...conversation.row, lastAt: time(2), last: "b", lastText: "b", unread: 2 };
    conversation.completeFrom = undefined;
    state.mergeRow(row, true);
    state.apply(message("c", 3, { from: "bob" }));
    const chat = () => {
        const list = overlay.messages(conversation, [], "alice");
        return overlay.chat(conversation, [], "alice", list);
    };
    assertEquals([chat()?.unread, chat()?.lastText, [...state.staleRows]], [3, "c", []]);
    // What changes among the counted ones is asked for.
    state.apply(change("delete", "bob", message("a", 1), 9, { for: "everyone" }));
    assertEquals([...state.staleRows], [CHAT]);
    state.staleRows.clear();
    state.apply(change("read", "alice", message("c", 3), 10));
    assertEquals([chat()?.unread, [...state.staleRows]], [0, []]);
});

Deno.test("the list shows what the conversation shows", () => {
    const state = confirmed(message("a", 1, { from: "bob" }), message("b", 2, { from: "bob" }));
    const conversation = state.conversation(CHAT);
    const chat = (/** @type {Operation[]} */ operations, /** @type {string} */ read = "") => {
        const list = overlay.messages(conversation, operations, "alice");
        return overlay.chat(conversation, operations, "alice", list, read);
    };
    assertEquals([chat([])?.lastText, chat([])?.unread], ["b", 2]);
    assertEquals(chat([operation({ kind: "delete", message: "b" })])?.lastText, "a");
    assertEquals([chat([], time(1))?.unread, chat([], time(2))?.unread], [1, 0]);
    assertEquals(chat([operation({ kind: "archive" })])?.isArchived, true);
    assertEquals(chat([operation({ kind: "leave" })]), undefined);
    const hide = operation({ kind: "hide", through: time(2) });
    assertEquals(chat([hide]), undefined);
    state.apply(message("c", 3, { from: "bob" }));
    assertEquals([chat([hide])?.lastText, chat([hide])?.unread], ["c", 1]);
    const send = operation({ kind: "send", message: "own", type: "text", text: "own" });
    assertEquals([chat([hide, send])?.lastText, chat([hide, send])?.unread], ["own", 1]);
});

Deno.test("a message is read when all others have read it", () => {
    const state = confirmed(message("a", 1), message("b", 2));
    const states = () =>
        overlay.messages(state.conversation(CHAT), [], "alice").map(({ state }) => state);
    state.apply(change("delivered", "bob", message("b", 2), 9));
    assertEquals(states(), ["delivered", "delivered"]);
    state.apply(change("read", "bob", message("a", 1), 9));
    assertEquals(states(), ["read", "delivered"]);
});

Deno.test("words are found anywhere, without regard to case and accents", () => {
    assert(matcher("STRASSE cafe")("Das Café in der Straße"), "Not found");
    assert(!matcher("street")("Das Café in der Straße"), "Found");
    assert(!matcher("  ")("anything"), "Nothing finds everything");
});
