import { MemoryStore } from "../../Sources/Web/client/store/store.js";
import { WriteAheadLog } from "../../Sources/Web/client/outbox/write-ahead-log.js";
import { assert, assertEquals } from "./assertions.js";
import { ModelBrowser } from "./tabs.js";

/** The log between its steps: what was written, what was removed, who lives. */

/** @typedef {import("../../Sources/Web/client/types.js").Operation} Operation */

/** @param {string} id @returns {Operation} */
function operation(id, text = id) {
    const action = { kind: "send", conversation: "lunch", message: id, type: "text", text };
    return /** @type {Operation} */ ({ id, lane: "lunch", at: "2026-11-25T12:00:00Z", action });
}

/** @param {Operation} operation */
function write(operation) {
    return { key: `operation/${operation.id}`, value: operation };
}

/** A browser with two stores, in which tabs are opened. */
class Device {
    browser = new ModelBrowser();
    entries = /** @type {Map<string, unknown>} */ (new Map());
    texts = /** @type {Map<string, string>} */ (new Map());
    store = new MemoryStore(this.entries);

    /** @param {string} name */
    async open(name) {
        const tabs = this.browser.open();
        const log = new WriteAheadLog({ store: this.store, syncStore: this.texts, tabs });
        await log.open(name);
        return { log, close: () => tabs.close() };
    }

    /** Has another tab take in what is left; returns the ids. */
    async takeIn(user = "alice") {
        const { close, log } = await this.open(`taker ${Math.random()}`);
        const taken = await log.takeIn(user, write);
        close();
        return taken.map(({ id }) => id);
    }

    get stored() {
        return [...this.entries.keys()].filter((key) => key.startsWith("operation/"));
    }
}

Deno.test("a tab that is closed before its transactions loses nothing", async () => {
    const device = new Device();
    const tab = await device.open("a");
    tab.log.add("alice", operation("1"));
    tab.log.add("alice", operation("2"));
    tab.close();
    assertEquals(await device.takeIn(), ["1", "2"]);
    assertEquals(device.stored, ["operation/1", "operation/2"]);
    assertEquals([device.texts.size, await device.takeIn()], [0, []]);
});

Deno.test("what was stored, sent and is over does not come back", async () => {
    const device = new Device();
    const tab = await device.open("a");
    const marks = tab.log.add("alice", operation("1"));
    await device.store.write([write(operation("1")), ...marks]);
    // Another tab has sent it, and the page is closed before it hears of its own transaction.
    await device.store.write([{ key: "operation/1", value: undefined }]);
    tab.log.add("alice", operation("2"));
    tab.close();
    assertEquals(await device.takeIn(), ["2"]);
});

Deno.test("a removal that a failing machine forgets brings nothing back", async () => {
    const device = new Device();
    const tab = await device.open("a");
    tab.log.add("alice", operation("1"));
    const before = new Map(device.texts);
    tab.close();
    assertEquals(await device.takeIn(), ["1"]);
    await device.store.write([{ key: "operation/1", value: undefined }]);
    for (const [key, text] of before) device.texts.set(key, text);
    assertEquals([await device.takeIn(), device.texts.size], [[], 0]);
});

Deno.test("what was stored in the last moment is told to the tabs that live", async () => {
    const device = new Device();
    const tab = await device.open("a");
    await device.store.write([write(operation("1")), ...tab.log.add("alice", operation("1"))]);
    tab.close();
    assertEquals(await device.takeIn(), ["1"]);
});

Deno.test("the log of a living tab is left alone", async () => {
    const device = new Device();
    const tab = await device.open("a");
    tab.log.add("alice", operation("1"));
    assertEquals([await device.takeIn(), device.texts.size], [[], 1]);
    tab.close();
    assertEquals(await device.takeIn(), ["1"]);
});

Deno.test("what another user has left, and what is no operation, is removed", async () => {
    const device = new Device();
    const tab = await device.open("a");
    tab.log.add("bob", operation("1"));
    const [key] = device.texts.keys();
    device.texts.set(`${key}x`, "{");
    tab.close();
    assertEquals([await device.takeIn(), device.texts.size], [[], 0]);
});

Deno.test("a log that is full leaves out what is more, and has room again", async () => {
    const device = new Device();
    const tab = await device.open("a");
    const text = "x".repeat(400_000);
    for (const id of ["1", "2", "3"]) tab.log.add("alice", operation(id, text));
    assertEquals(device.texts.size, 2);
    tab.log.remove("1");
    tab.log.add("alice", operation("4", text));
    const ids = [...device.texts.keys()].map((key) => key.slice(-1));
    assertEquals(ids, ["2", "4"]);
});

Deno.test("a small store that is full throws nothing at the user", async () => {
    const device = new Device();
    const tab = await device.open("a");
    device.texts.set = () => {
        throw new Error("full");
    };
    const warn = console.warn;
    console.warn = () => {};
    const marks = tab.log.add("alice", operation("1"));
    console.warn = warn;
    assert(marks.length === 1, "It has no mark");
});

Deno.test("without a lock nothing is logged", async () => {
    const device = new Device();
    const tabs = device.browser.open();
    tabs.lock = () => Promise.reject(new Error("not allowed here"));
    const log = new WriteAheadLog({ store: device.store, syncStore: device.texts, tabs });
    await log.open("a");
    assertEquals([log.add("alice", operation("1")), device.texts.size], [[], 0]);
});

Deno.test("the marks of a hundred tabs are kept", async () => {
    const device = new Device();
    for (let number = 100; number < 205; number += 1) {
        await device.store.write([{ key: `stored/tab${number}`, value: `${number}` }]);
    }
    await device.open("a");
    const marks = [...device.entries.values()].sort();
    assertEquals([marks.length, marks[0]], [100, "105"]);
});
