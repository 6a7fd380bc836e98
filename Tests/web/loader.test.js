import { ConfirmedState } from "../../Sources/Web/client/state/confirmed.js";
import { Loader } from "../../Sources/Web/client/sync/loader.js";
import { assertEquals, assertRefused } from "./assertions.js";
import { VirtualClock } from "./clock.js";

const fails = () => Promise.reject({ code: 0, message: "No node answers" });

/** @param {(path: string) => Promise<any>} readSince */
function scene(readSince) {
    const parts = { clock: new VirtualClock(), confirmed: new ConfirmedState("alice") };
    const loader = new Loader({
        clock: parts.clock,
        confirmed: () => parts.confirmed,
        isOnline: () => true,
        request: fails,
        readSince,
        isOpen: () => true,
        onChange: () => {},
    });
    /** @param {number} milliseconds */
    const pass = async (milliseconds) => {
        // Chains of promises settle between small steps.
        for (let time = 0; time < milliseconds; time += 50) await parts.clock.pass(50);
    };
    return Object.assign(parts, { loader, pass });
}

/** @param {number} number */
function message(number) {
    const at = new Date(Date.UTC(2026, 10, 25, 12, 0, number)).toISOString()
        .replace("Z", "000000Z");
    return { id: `m${number}`, at, from: "bob", type: "text", text: `${number}` };
}

Deno.test("whoever waits for messages that are not loaded is told of it", async () => {
    const { loader } = scene(fails);
    await assertRefused(loader.loadConversation("lunch"), 0);
    await assertRefused(loader.loadPins("lunch"), 0);
    await assertRefused(loader.loadLists(), 0);
    // It is asked again, not answered with the failure before.
    const [first, second] = [loader.loadPins("lunch"), loader.loadPins("lunch")];
    assertEquals(first === second, true);
    await assertRefused(second, 0);
});

Deno.test("lists that lack a part are asked for again after a while", async () => {
    let count = 0;
    const { loader, pass } = scene((path) => {
        if (path.startsWith("/v1/chats")) count += 1;
        return Promise.resolve({ body: { chats: [], items: [], partial: true } });
    });
    loader.loadLists();
    await pass(12_000);
    assertEquals(count, 3);
});

Deno.test("earlier messages that arrive after a chat was closed leave no gap", async () => {
    /** @type {(answer: any) => void} */
    let answer = () => {};
    const { confirmed, loader, pass } = scene((path) =>
        path.includes("before=") ? new Promise((resolve) => answer = resolve) : fails()
    );
    const conversation = confirmed.conversation("lunch");
    const known = Array.from({ length: 900 }, (_, index) => message(index + 100));
    conversation.mergeAnswer(known, true);
    conversation.completeFrom = known[0].at;
    loader.loadEarlier("lunch");
    await pass(50);
    conversation.trim();
    answer({ body: { messages: Array.from({ length: 50 }, (_, index) => message(index + 50)) } });
    await pass(1_000);
    assertEquals(conversation.stretch.map(({ id }) => id), known.slice(400).map(({ id }) => id));
});

Deno.test("an open chat is loaded into the state that replaces another one", async () => {
    /** @type {((answer: any) => void)[]} */
    const answers = [];
    const parts = scene(() => new Promise((resolve) => answers.push(resolve)));
    parts.loader.loadConversation("lunch");
    await parts.pass(50);
    const before = answers.splice(0);
    parts.confirmed = new ConfirmedState("alice");
    parts.loader.loadConversation("lunch");
    await parts.pass(50);
    assertEquals([before.length, answers.length], [4, 4]);
    const body = { messages: [message(1)], marks: [], changes: [] };
    for (const answer of [...before, ...answers]) answer({ body });
    await parts.pass(50);
    assertEquals(parts.confirmed.conversation("lunch").stretch.length, 1);
});

Deno.test("after a hiding the messages that an answer leaves out are earlier ones", async () => {
    const answered = Array.from({ length: 50 }, (_, index) => message(index + 100));
    const { confirmed, loader, pass } = scene((path) =>
        Promise.resolve({
            body: { messages: path.includes("limit=50") ? answered : [], marks: [], changes: [] },
        })
    );
    const conversation = confirmed.conversation("lunch");
    conversation.mergeAnswer([message(1)], true);
    conversation.completeFrom = "";
    const { at } = message(500);
    confirmed.apply({ kind: "hide", conversation: "lunch", by: "alice", at });
    conversation.removeThrough(at);
    loader.loadConversation("lunch");
    await pass(1_000);
    assertEquals([conversation.stretch.length, conversation.hasEarlier], [50, true]);
});
