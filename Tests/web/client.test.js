import { assert, assertEquals, assertRefused } from "./assertions.js";
import { Run } from "./run.js";

/** Single cases at the model of a cluster, in virtual time. */

const CHAT = "lunch";

/**
 * @param {string} name
 * @param {(run: Run, clients: import("../../Sources/Web/client/client.js").Client[])
 *   => Promise<void>} fn
 */
function test(name, fn) {
    Deno.test({
        name,
        sanitizeOps: false,
        sanitizeResources: false,
        fn: async () => {
            const run = new Run(7);
            await run.begin();
            run.cluster.isCalm = true;
            const clients = run.tabs.map(({ client }) => client);
            await fn(run, /** @type {any} */ (clients));
            for (const tab of run.tabs) run.close(tab);
        },
    });
}

/** @param {import("../../Sources/Web/client/client.js").Client} client */
function texts(client) {
    return client.conversation(CHAT).messages.map(({ text }) => text);
}

test("a thousand toggles of the network lose nothing", async (run, [alice]) => {
    const tab = run.tabs[0];
    for (let count = 0; count < 1_000; count += 1) {
        tab.line.isUp = !tab.line.isUp;
        if (count % 2 === 0) alice.debugOffline = !alice.debugOffline;
        if (count % 20 === 0) run.sent.set(alice.send(CHAT, `text ${count}`), `text ${count}`);
        await run.clock.pass(run.random() * 400, () => run.checkAll());
    }
    alice.debugOffline = false;
    await run.heal();
    run.checkEnd();
    assertEquals(texts(alice), [...run.sent.values()]);
});

test("a burst of one millisecond is shown as it was sent, back to its beginning", async (run) => {
    const [{ client }] = run.tabs;
    const sent = Array.from({ length: 800 }, (_, number) => `burst ${number}`);
    const now = run.clock.now();
    for (const text of sent) {
        const id = `m${Math.floor(run.random() * 1e15)}`;
        const fields = { kind: "message", by: "u-bob", conversation: CHAT, id, text };
        run.cluster.nodes[0].accept(fields, now);
    }
    run.cluster.replicate();
    await run.clock.pass(5_000);
    for (let pages = 0; pages < 40 && client?.conversation(CHAT).hasEarlier; pages += 1) {
        client.loadEarlier(CHAT);
        await run.clock.pass(2_000);
    }
    assertEquals(texts(/** @type {any} */ (client)), sent);
});

test("after an hour offline a client catches up, and notifies of nothing old", async (run) => {
    const [alice, , bob] = run.tabs;
    alice.line.isUp = false;
    run.tabs[1].line.isUp = false;
    alice.client?.send(CHAT, "from the train");
    let notices = 0;
    alice.client?.closeConversation(CHAT);
    alice.client?.subscribe(({ kind }) => notices += kind === "notify" ? 1 : 0);
    for (let minute = 0; minute < 60; minute += 1) {
        bob.client?.send(CHAT, `minute ${minute}`);
        run.cluster.replicate();
        await run.clock.pass(60_000);
    }
    assertEquals(alice.client?.connection, "offline");
    alice.line.isUp = run.tabs[1].line.isUp = true;
    await run.heal();
    run.checkEnd();
    assertEquals(alice.client?.conversation(CHAT).messages.length, 61);
    // Only the message of the last minute is news.
    assert(notices <= 1, `${notices} notifications of old messages`);
});

test("a refusal takes the change back, and keeps what arrived meanwhile", async (run, all) => {
    const [alice, , bob] = all;
    // The model refuses pins of ids that begin so.
    let id = "";
    while (id.charCodeAt(0) % 3 !== 0) id = bob.send(CHAT, `text ${id}`);
    await run.clock.pass(2_000);
    // Each node fetches from another one that is drawn by lot.
    for (let count = 0; count < 20 && texts(alice).length < texts(bob).length; count += 1) {
        run.cluster.replicate();
        await run.clock.pass(500);
    }
    /** @type {any[]} */
    const refusals = [];
    alice.subscribe((change) => change.kind === "refused" && refusals.push(change.error.code));
    const pinned = alice.pin(CHAT, id);
    assertEquals(alice.conversation(CHAT).pins.length, 1);
    bob.send(CHAT, "meanwhile");
    const refused = assertRefused(pinned, 409);
    for (let count = 0; count < 20; count += 1) {
        run.cluster.replicate();
        await run.clock.pass(500);
    }
    await refused;
    assertEquals([alice.conversation(CHAT).pins.length, refusals], [0, [409]]);
    assertEquals(texts(alice).at(-1), "meanwhile");
});

test("an echo is told to no listener", async (run, [alice]) => {
    /** @type {number[]} */
    const told = [];
    const id = alice.send(CHAT, "once");
    alice.subscribe((change) => {
        const [message] = alice.conversation(CHAT).messages;
        if (change.kind === "conversation") told.push(message.state === "waiting" ? 0 : 1);
    });
    await run.clock.pass(5_000);
    assertEquals(told, [0, 1], "Waiting and sent are told once each");
    assertEquals(alice.conversation(CHAT).messages[0].id, id);
});

test("a silent node is given up", async (run, [alice]) => {
    const node = run.cluster.nodes.find((_, index) => alice.node === `http://n${index}`);
    assert(node, "No node in use");
    // It keeps its connections, and answers nothing.
    node.isUp = false;
    alice.send(CHAT, "anybody there?");
    await run.clock.pass(6_000);
    assertEquals(alice.connection, "online");
    assertEquals(alice.conversation(CHAT).messages[0].state, "sent");
});

test("a node that stood still executes what is over, and changes nothing", async (run, [alice]) => {
    const id = alice.send(CHAT, "a message");
    await run.clock.pass(2_000);
    for (let count = 0; count < 20; count += 1) run.cluster.replicate();
    const index = run.cluster.nodes.findIndex((_, index) => alice.node === `http://n${index}`);
    run.cluster.stop(index);
    const deleted = alice.deleteForMe(CHAT, id);
    await run.clock.pass(20_000);
    await deleted;
    const restored = alice.restore(CHAT, id);
    await run.clock.pass(5_000);
    await restored;
    run.cluster.goOn(index);
    await run.heal();
    run.checkEnd();
    const executed = run.cluster.nodes[index].log.filter(({ kind, node }) =>
        kind === "delete" && node === index
    );
    assertEquals(executed.length, 1, "The node has executed the deletion");
    assertEquals(texts(alice), ["a message"]);
});

test("too many waiting changes are refused", async (run, [alice]) => {
    alice.debugOffline = true;
    for (let count = 0; count < 1_000; count += 1) alice.send(CHAT, `${count}`);
    let code = 0;
    try {
        alice.send(CHAT, "one more");
    } catch (error) {
        code = /** @type {any} */ (error).code;
    }
    assertEquals(code, 429);
    await run.clock.pass(0);
});

test("a file is told of until it is stored", async (run, [alice]) => {
    run.tabs[0].line.isUp = false;
    assert(!alice.isStoringFiles, "Nothing is to be stored");
    alice.sendFile(CHAT, new Blob(["a photo"], { type: "image/png" }), { type: "image" });
    assert(alice.isStoringFiles, "The file is not in the store yet");
    await run.clock.pass(1_000);
    assert(!alice.isStoringFiles, "The file is in the store");
    alice.send(CHAT, "a text is in the log at once");
    assert(!alice.isStoringFiles, "A text is no file");
});

test("what waits when a user signs out in another tab is not sent as the next user", async (run) => {
    const [one, two] = run.tabs;
    one.line.isUp = two.line.isUp = false;
    await run.clock.pass(20_000);
    one.client?.send(CHAT, "of alice");
    await pass(run, 1_000);
    two.client?.signOut();
    await pass(run, 100_000);
    one.line.isUp = two.line.isUp = true;
    two.client?.signUp("bob@example.org", "walnut-lantern");
    await pass(run, 10_000);
    assertEquals([one.client?.user, two.client?.user], ["u-bob", "u-bob"]);
    assertEquals([one.client?.connection, texts(/** @type {any} */ (one.client))], ["online", []]);
    const told = run.cluster.nodes.flatMap(({ log }) => log).filter(({ text }) => text);
    assertEquals(told, []);
});

test("what is sent during a reconnect is shown, though the lists are not loaded", async (run) => {
    const [tab, second] = run.tabs;
    run.close(second);
    run.close(tab);
    tab.device.disk.entries.clear();
    const { cluster } = run;
    let isPartial = true;
    const answer = cluster.answer.bind(cluster);
    cluster.answer = (node, user, method, path, ...rest) => {
        const told = answer(node, user, method, path, ...rest);
        const partial = isPartial && user === "u-alice" && path.startsWith("/v1/chats?");
        return partial ? { ...told, body: { ...told.body, partial } } : told;
    };
    const client = await run.open(tab);
    client.signUp("alice@example.org", "walnut-lantern");
    await pass(run, 3_000);
    client.openConversation(CHAT);
    await pass(run, 2_000);
    say(run, "m1");
    await pass(run, 2_000);
    tab.line.isUp = false;
    await pass(run, 20_000);
    say(run, "m2");
    tab.line.isUp = true;
    await pass(run, 20_000);
    say(run, "m3");
    await pass(run, 2_000);
    isPartial = false;
    await pass(run, 20_000);
    assertEquals(texts(client), ["m1", "m2", "m3"]);
});

test("a stream that begins anew shows what nodes tell, in the list, too", async (run) => {
    const [tab, second] = run.tabs;
    run.cluster.create("other", ["u-alice", "u-bob"]);
    await pass(run, 3_000);
    run.close(second);
    run.close(tab);
    const client = await run.open(tab);
    await pass(run, 3_000);
    const list = () => client.chats().map(({ id, lastText }) => `${id}: ${lastText}`).sort();
    assertEquals(list(), ["lunch: No messages yet", "other: No messages yet"]);
    tab.line.isUp = false;
    await pass(run, 20_000);
    say(run, "news", "other");
    run.cluster.refusesTokens = true;
    tab.line.isUp = true;
    await pass(run, 30_000);
    assertEquals(list(), ["lunch: No messages yet", "other: news"]);
});

/**
 * Has time pass in small steps, between which chains of promises settle.
 *
 * @param {Run} run
 * @param {number} milliseconds
 */
async function pass(run, milliseconds) {
    for (let time = 0; time < milliseconds; time += 100) await run.clock.pass(100);
}

/**
 * Has bob send a message that all nodes have.
 *
 * @param {Run} run
 * @param {string} text
 */
function say(run, text, conversation = CHAT) {
    const fields = { kind: "message", by: "u-bob", conversation, id: text, text };
    const [first, ...others] = run.cluster.nodes;
    const change = first.accept(fields, run.clock.now());
    for (const node of others) node.receive(change);
}
