import { Client } from "../../Sources/Web/client/client.js";
import { MemoryStore } from "../../Sources/Web/client/store/store.js";
import { SingleTab } from "../../Sources/Web/client/sync/tabs.js";
import { assert, assertEquals, assertRefused } from "./assertions.js";
import { address, ignore, nodes, password, sleep, until } from "./real-nodes.js";

/** Tests of the client at three real nodes. */

/**
 * @param {string} script
 * @param {string} node
 */
async function cluster(script, node) {
    const path = new URL(`../../cluster/${script}`, import.meta.url).pathname;
    const { success } = await new Deno.Command(path, { args: [node], stdout: "null" }).output();
    assert(success, `cluster/${script} ${node} failed`);
}

/** @param {string[]} order */
function open(order, store = new MemoryStore()) {
    return Client.open({ nodes: order, store, tabs: new SingleTab() });
}

/**
 * Runs a test with two users and their conversation, each at a node of their own.
 *
 * @param {(users: {alice: Client, bob: Client, chat: string, email: string, store: MemoryStore})
 *   => Promise<void>} test
 */
function withTwoUsers(test) {
    return async () => {
        const store = new MemoryStore();
        const alice = await open(nodes, store);
        const bob = await open([nodes[1], nodes[2], nodes[0]]);
        const [email, bobs] = [address("alice"), address("bob")];
        await alice.signUp(email, password);
        await bob.signUp(bobs, password);
        await until(() => alice.connection === "online" && bob.connection === "online", "online");
        const chat = await alice.createConversation({ title: "Lunch", emails: [bobs] });
        await until(() => bob.chats().length === 1, "the chat at bob's");
        await Promise.all([alice.openConversation(chat), bob.openConversation(chat)]);
        try {
            await test({ alice, bob, chat, email, store });
        } finally {
            alice.close();
            bob.close();
        }
    };
}

/**
 * @param {Client} client
 * @param {string} chat
 */
function texts(client, chat) {
    return client.conversation(chat).messages.map(({ text }) => text);
}

/** @param {string} name @param {() => Promise<void>} fn */
function test(name, fn) {
    Deno.test({ name, fn, ignore });
}

test(
    "two users write, edit, pin, delete and restore",
    withTwoUsers(async ({ alice, bob, chat }) => {
        const id = alice.send(chat, "noodles?");
        assertEquals(alice.conversation(chat).messages[0].state, "waiting");
        await until(() => texts(bob, chat)[0] === "noodles?", "the message at bob's");
        await until(() => alice.conversation(chat).messages[0].state === "read", "read");
        await alice.edit(chat, id, "rice?");
        await until(() => texts(bob, chat)[0] === "rice?", "the edit at bob's");
        assertEquals((await bob.edits(chat, id)).map(({ text }) => text), ["noodles?", "rice?"]);
        await bob.pin(chat, id);
        await until(() => alice.conversation(chat).pins.length === 1, "the pin at alice's");
        await bob.deleteForMe(chat, id);
        assertEquals(texts(bob, chat), []);
        await bob.restore(chat, id);
        await until(() => texts(bob, chat).length === 1, "the restored message");
        await assertRefused(bob.deleteForEveryone(chat, id), 403);
        await alice.deleteForEveryone(chat, id);
        assertEquals(texts(alice, chat), []);
        await until(() => texts(bob, chat)[0] === "[Message deleted]", "the deletion at bob's");
        assertEquals(bob.conversation(chat).pins, []);
    }),
);

test(
    "a node is killed, and its client goes on within a second",
    withTwoUsers(async ({ alice, bob, chat }) => {
        await sleep(100);
        assertEquals(alice.node, nodes[0]);
        alice.send(chat, "before");
        await until(() => texts(bob, chat).length === 1, "the first message at bob's");
        const sent = ["before"];
        const send = (/** @type {string} */ text) => {
            sent.push(text);
            return alice.send(chat, text);
        };
        let [lostAt, onlineAt, seenAt, first] = [0, 0, 0, ""];
        const stops = [
            alice.subscribe(() => {
                if (lostAt === 0 && alice.connection !== "online") lostAt = performance.now();
                if (lostAt === 0 || onlineAt > 0 || alice.connection !== "online") return;
                onlineAt = performance.now();
                queueMicrotask(() => first = send("online again"));
            }),
            bob.subscribe(() => {
                const { messages } = bob.conversation(chat);
                if (seenAt > 0 || !messages.some(({ id }) => id === first)) return;
                seenAt = performance.now();
            }),
        ];
        const killed = cluster("kill", "n1");
        for (let count = 0; count < 20; count += 1) {
            send(`${count}`);
            await sleep(20);
        }
        await killed;
        await until(() => seenAt > 0, "seen at another node");
        for (const stop of stops) stop();
        const sentence = `The node was lost; online after ${Math.round(onlineAt - lostAt)} ms, ` +
            `seen by others after ${Math.round(seenAt - lostAt)} ms`;
        console.log(sentence);
        assert(seenAt - lostAt < 1_000, sentence);
        assert(alice.node !== nodes[0], "The killed node is still in use");
        await until(() => texts(bob, chat).length === sent.length, "all messages");
        assertEquals(texts(bob, chat), sent);
        assertEquals(texts(alice, chat), sent);
        await cluster("start", "n1");
    }),
);

test(
    "a client that was offline catches up, and sends what waited",
    withTwoUsers(async ({ alice, bob, chat }) => {
        const first = bob.send(chat, "first");
        await until(() => texts(alice, chat).length === 1, "the first message");
        alice.debugOffline = true;
        assertEquals(alice.connection, "offline");
        alice.send(chat, "from alice");
        const deleted = alice.deleteForMe(chat, first);
        bob.send(chat, "from bob");
        await bob.edit(chat, first, "first, edited");
        assertEquals(texts(alice, chat), ["from alice"]);
        alice.debugOffline = false;
        await deleted;
        await until(() => texts(alice, chat).length === 2, "bob's message at alice's");
        await until(() => texts(bob, chat).length === 3, "alice's message at bob's");
        assertEquals(texts(bob, chat), ["first, edited", "from bob", "from alice"]);
    }),
);

test(
    "the outbox survives the closing of the page",
    withTwoUsers(async ({ alice, bob, chat, store }) => {
        alice.debugOffline = true;
        const id = alice.send(chat, "written in the train");
        await sleep(10);
        alice.close();
        const again = await open(nodes, store);
        assertEquals(texts(again, chat), ["written in the train"]);
        await until(() => texts(bob, chat).length === 1, "the message at bob's");
        await until(() => again.conversation(chat).messages[0].state !== "waiting", "sent");
        assertEquals(again.conversation(chat).messages[0].id, id);
        again.close();
    }),
);

test(
    "files are sent and read, and a voice message needs no text",
    withTwoUsers(async ({ alice, bob, chat }) => {
        const file = new Blob([crypto.getRandomValues(new Uint8Array(60_000))]);
        const preview = new Blob([crypto.getRandomValues(new Uint8Array(900))]);
        alice.sendFile(chat, file, { type: "voice", preview });
        await until(() => bob.conversation(chat).messages.length === 1, "the message at bob's");
        const [message] = bob.conversation(chat).messages;
        const copy = await bob.file(chat, message.blob ?? "");
        assertEquals([...await copy.bytes()], [...await file.bytes()]);
        assertEquals((await bob.file(chat, message.preview ?? "")).size, 900);
    }),
);

test(
    "items, profiles, typing, the archive, and hiding",
    withTwoUsers(async ({ alice, bob, chat }) => {
        const item = alice.addItem({ title: "reserve a table", priority: "high", chat });
        await alice.setItemDone(item, true);
        await alice.editItem(item, { priority: null });
        assertEquals(alice.items().map(({ isDone, priority }) => [isDone, priority]), [
            [true, undefined],
        ]);
        await alice.deleteItem(item);
        assertEquals(alice.items(), []);
        await alice.setProfile({ name: "Alice A." });
        await until(() => bob.profile(alice.user ?? "")?.name === "Alice A.", "the name at bob's");
        alice.setTyping(chat, true);
        await until(() => bob.conversation(chat).typing.length === 1, "typing at bob's");
        alice.send(chat, "typed");
        await until(() => bob.conversation(chat).typing.length === 0, "no typing at bob's");
        await until(() => texts(bob, chat).length === 1, "the message at bob's");
        await bob.archive(chat);
        assertEquals([bob.chats().length, bob.chats({ archived: true }).length], [0, 1]);
        await bob.unarchive(chat);
        bob.closeConversation(chat);
        await bob.hide(chat);
        assertEquals(bob.chats(), []);
        alice.send(chat, "again");
        await until(() => bob.chats().length === 1, "the chat at bob's");
        await bob.openConversation(chat);
        assertEquals(texts(bob, chat), ["again"]);
        await assertRefused(
            alice.createConversation({ title: "", emails: [address("nobody")] }),
            404,
        );
        assertEquals(alice.chats().length, 1);
    }),
);

test(
    "an access token that is over is renewed, and an ended sign-in signs out",
    withTwoUsers(async ({ alice, chat, email, store }) => {
        alice.close();
        const [[, signIn]] = await store.read("session");
        const old = { .../** @type {any} */ (signIn), accessToken: "expired", expiresAt: 0 };
        await store.write([{ key: "session", value: old }]);
        const again = await open(nodes, store);
        await until(() => again.connection === "online", "online");
        const other = await open(nodes);
        await other.signIn(email, password);
        await until(() => other.chats().length === 1, "the chats of the other device");
        await other.openConversation(chat);
        await other.signOut({ everywhere: true });
        assertEquals(other.connection, "signedOut");
        await until(() => again.connection === "signedOut", "signed out elsewhere", 10_000);
        again.close();
        other.close();
    }),
);
