import { firstUnread, makeTimeline } from "../../Sources/Web/chat/conversation/timeline.js";
import { canEdit } from "../../Sources/Web/chat/conversation/message-rules.js";
import { parseRoute } from "../../Sources/Web/chat/route.js";
import { ConversationState } from "../../Sources/Web/client/state/conversation.js";
import { withSystemLines } from "../../Sources/Web/chat/conversation/system-lines.js";
import { RowHeights } from "../../Sources/Web/chat/conversation/row-heights.js";

/** @typedef {import("../../Sources/Web/client/types.js").Message} Message */

const noon = Date.parse("2026-11-25T12:00:00Z");
const minute = 60_000;

/**
 * @param {unknown} actual
 * @param {unknown} expected
 */
function assertEqual(actual, expected) {
    const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (found !== wanted) throw new Error(`${found} instead of ${wanted}`);
}

/**
 * @param {string} id
 * @param {string} from
 * @param {number} at
 * @param {Partial<Message>} [rest]
 * @returns {Message}
 */
function message(id, from, at, rest = {}) {
    return {
        id,
        conversation: "lunch",
        from,
        at: new Date(at).toISOString(),
        type: "text",
        text: id,
        deliveredTo: [],
        readBy: [],
        state: "sent",
        isMine: from === "alice",
        ...rest,
    };
}

Deno.test("messages of one sender within five minutes are a group", () => {
    const rows = makeTimeline({
        messages: [
            message("a", "bob", noon),
            message("b", "bob", noon + minute),
            message("c", "bob", noon + 6 * minute),
            message("d", "alice", noon + 6 * minute),
        ],
    });
    assertEqual(rows.map((row) => row.startsGroup), [true, false, true, true]);
    assertEqual(rows.map((row) => row.endsGroup), [false, true, true, true]);
});

Deno.test("who joined and left stands between the messages, as far back as they are loaded", () => {
    const time = (/** @type {number} */ minutes) => new Date(noon + minutes * minute).toISOString();
    const changes = [
        { kind: /** @type {const} */ ("joined"), user: "bob", by: "alice", at: time(-5) },
        { kind: /** @type {const} */ ("joined"), user: "carol", by: "bob", at: time(1) },
        { kind: /** @type {const} */ ("left"), user: "carol", by: "carol", at: time(9) },
    ];
    const messages = [message("a", "bob", noon), message("b", "bob", noon + 2 * minute)];
    const person = (/** @type {string} */ user) => ({ name: user.toUpperCase() });
    const shown = (/** @type {boolean} */ hasEarlier) =>
        withSystemLines({ id: "lunch", messages, changes, hasEarlier, person });
    const lines = ["a", "BOB added CAROL", "b", "CAROL left"];
    assertEqual(shown(true).map(({ text }) => text), lines);
    assertEqual(shown(false).map(({ text }) => text), ["ALICE added BOB", ...lines]);
    assertEqual(shown(true).filter(({ type }) => type === "system").length, 2);
    assertEqual(new Set(shown(false).map(({ id }) => id)).size, 5);
});

Deno.test("the first row of each day has the day", () => {
    const day = 24 * 60 * minute;
    const rows = makeTimeline({
        messages: [
            message("a", "bob", noon),
            message("b", "bob", noon + minute),
            message("c", "bob", noon + day),
        ],
    });
    assertEqual(rows.map((row) => row.day !== undefined), [true, false, true]);
});

Deno.test("the line New stands before the first of the unread messages of others", () => {
    const messages = [
        message("a", "bob", noon),
        message("b", "bob", noon),
        message("c", "alice", noon),
        message("d", "bob", noon),
    ];
    assertEqual(firstUnread(messages, messages[0]), "b");
    assertEqual(firstUnread(messages, messages[1]), "d");
    assertEqual(firstUnread(messages, messages[3]), undefined);
    assertEqual(firstUnread(messages, undefined), "a");
});

Deno.test("a message that was deleted is not one of the unread ones", () => {
    const messages = [
        message("a", "bob", noon),
        message("b", "bob", noon, { deletedForEveryone: true }),
        message("c", "bob", noon),
    ];
    assertEqual(firstUnread(messages, messages[0]), "c");
});

Deno.test("a message is edited for fifteen minutes, and not exactly at their end", () => {
    const sent = message("a", "alice", noon);
    assertEqual(canEdit(sent, noon + 15 * minute - 1, 15 * minute), true);
    assertEqual(canEdit(sent, noon + 15 * minute, 15 * minute), false);
    assertEqual(canEdit(message("a", "bob", noon), noon, 15 * minute), false);
});

Deno.test("an address that makes no sense shows the chats", () => {
    assertEqual(parseRoute("#/chat/a%2Fb/m1"), { view: "chat", chat: "a/b", message: "m1" });
    for (const hash of ["", "#", "#/chat", "#/chat/%", "#/what/is/this"]) {
        assertEqual(parseRoute(hash), { view: "chats" });
    }
});

Deno.test("rows that do not fill the space stand at its end", () => {
    const heights = new RowHeights();
    const rows = [{ key: "a" }, { key: "b" }];
    heights.set("a", 10);
    heights.set("b", 20);
    heights.layOut(rows, 100);
    assertEqual([heights.top(0), heights.top(1), heights.total], [70, 80, 100]);
    heights.layOut(rows, 20);
    assertEqual([heights.top(0), heights.top(1), heights.total], [0, 10, 30]);
    assertEqual(
        [heights.indexAt(-5), heights.indexAt(9), heights.indexAt(10), heights.indexAt(99)],
        [
            0,
            0,
            1,
            1,
        ],
    );
});

Deno.test("initial participants have not joined, whatever events said before the chat was known", () => {
    const time = (/** @type {number} */ minutes) => new Date(noon + minutes * minute).toISOString();
    const state = new ConversationState("lunch");
    const joined = (/** @type {string} */ user, /** @type {number} */ minutes) => (
        { kind: /** @type {const} */ ("joined"), user, by: "alice", at: time(minutes) }
    );
    const add = (/** @type {ReturnType<typeof joined>} */ change) =>
        state.merge({ conversation: "lunch", change });
    add(joined("alice", 0));
    add(joined("bob", 0));
    assertEqual(state.shownChanges, []);
    state.row = /** @type {any} */ ({ id: "lunch", createdAt: time(0) });
    assertEqual(state.shownChanges, []);
    add(joined("carol", 2));
    add(joined("carol", 2));
    assertEqual(state.shownChanges, [joined("carol", 2)]);
    // An answer that is at least as new as the events replaces what they told until then.
    state.takeChanges([joined("dave", 3)], false);
    assertEqual(state.shownChanges, [joined("carol", 2), joined("dave", 3)]);
    add(joined("eve", 4));
    state.takeChanges([joined("dave", 3)], true);
    assertEqual(state.shownChanges, [joined("dave", 3), joined("eve", 4)]);
    // After the chat was hidden, events of before are old; what a node answers is not.
    state.merge({ conversation: "lunch", clearedAt: time(5) });
    state.row = /** @type {any} */ ({ id: "lunch", createdAt: time(0) });
    add(joined("eve", 4));
    assertEqual(state.shownChanges, []);
    state.takeChanges([joined("eve", 4)], true);
    assertEqual(state.shownChanges, [joined("eve", 4)]);
});
