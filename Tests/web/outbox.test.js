import { assertEquals } from "./assertions.js";
import { MemoryStore } from "../../Sources/Web/client/store/store.js";
import { NodeTime } from "../../Sources/Web/client/network/node-time.js";
import { Outbox } from "../../Sources/Web/client/outbox/outbox.js";
import { SingleTab } from "../../Sources/Web/client/sync/tabs.js";
import { Stamps } from "../../Sources/Web/client/outbox/stamps.js";
import { VirtualClock } from "./clock.js";

/** An outbox of one tab, whose device's clock a test sets. */
class Scene {
    clock = new VirtualClock();
    /** Milliseconds by which the device's time is set forward. */
    shift = 0;
    /** @type {any[]} */
    accepted = [];
    /** @type {any[]} */
    refused = [];
    /** What nodes have told of operations. @type {boolean | undefined} */
    isIncluded = false;
    isKnown = false;
    unavailable = 0;
    #number = 0;

    /** @param {(operation: any) => Promise<any>} send */
    constructor(send) {
        const store = new MemoryStore();
        const elapsed = this.clock.elapsed;
        const clock = {
            elapsed,
            now: () => elapsed() + this.shift,
            setTimer: this.clock.setTimer,
        };
        const makeID = () => `id${this.#number += 1}-xxxxxxxx`;
        const nodeTime = new NodeTime(clock);
        this.outbox = new Outbox({
            ...{
                store,
                syncStore: new Map(),
                tabs: new SingleTab(),
                clock,
                makeID,
                nodeTime,
                send,
            },
            stamps: new Stamps({ store, clock, nodeTime, makeID }),
            user: () => "alice",
            isOnline: () => true,
            isIncluded: () => this.isIncluded,
            isKnown: () => this.isKnown,
            onChange: () => {},
            onAccepted: (consequence) => this.accepted.push(consequence),
            onRefused: (_, failure) => this.refused.push(failure.code),
            onUnavailable: () => this.unavailable += 1,
            onOver: (writes) => store.write(writes),
            onSender: () => Promise.resolve(),
        });
    }

    async open() {
        await this.outbox.restore();
        this.outbox.open();
        await this.pass(500);
    }

    /** @param {any} action */
    add(action) {
        this.outbox.add({ conversation: "c", ...action }).catch(() => {});
    }

    /** @param {number} milliseconds */
    async pass(milliseconds) {
        for (let time = 0; time < milliseconds; time += 50) await this.clock.pass(50);
    }
}

Deno.test("a pause ends, though the device's clock is set back meanwhile", async () => {
    const statuses = [503, 200];
    const scene = new Scene(() => Promise.resolve({ status: statuses.shift(), body: {} }));
    await scene.open();
    scene.add({ kind: "archive" });
    await scene.pass(200);
    scene.shift = -3_600_000;
    await scene.pass(5_000);
    assertEquals([statuses.length, scene.accepted.length], [0, 1]);
});

Deno.test("an expired operation that was executed is accepted, and not executed anew", async () => {
    /** @type {string[]} */
    const stamps = [];
    const expired = { status: 408, body: { error: { reason: "operation_expired" } } };
    const scene = new Scene(({ stamp }) => {
        stamps.push(stamp);
        return Promise.resolve(expired);
    });
    await scene.open();
    scene.isIncluded = undefined;
    scene.add({ kind: "hide", through: "" });
    await scene.pass(3_000);
    assertEquals([scene.accepted.length, new Set(stamps).size], [0, 1]);
    scene.isIncluded = true;
    await scene.pass(2_000);
    assertEquals(scene.accepted.map(({ clearedAt }) => clearedAt), [stamps[0].slice(-30)]);
});

Deno.test("an expired operation that nobody has executed gets another stamp", async () => {
    /** @type {Set<string>} */
    const stamps = new Set();
    const expired = { status: 408, body: { error: { reason: "operation_expired" } } };
    const scene = new Scene(({ stamp }) => {
        stamps.add(stamp);
        return Promise.resolve(stamps.size < 2 ? expired : { status: 200, body: {} });
    });
    await scene.open();
    scene.add({ kind: "archive" });
    await scene.pass(3_000);
    assertEquals([scene.accepted.length, stamps.size], [1, 2]);
});

Deno.test("a node that does not have the message yet refuses nothing", async () => {
    let misses = 0;
    const scene = new Scene(() => {
        misses += 1;
        return Promise.resolve({ status: misses < 40 ? 404 : 200, body: {} });
    });
    await scene.open();
    scene.isKnown = true;
    scene.add({ kind: "edit", message: "m", text: "x" });
    await scene.pass(50_000);
    assertEquals([scene.accepted.length, scene.refused], [1, []]);
    misses = -100;
    scene.add({ kind: "edit", message: "m", text: "y" });
    await scene.pass(10_000);
    assertEquals([scene.accepted.length, scene.refused], [1, []]);
    // An event tells that the message is gone.
    scene.isKnown = false;
    await scene.pass(2_000);
    assertEquals([scene.accepted.length, scene.refused], [1, [404]]);
});

Deno.test("an operation that no node can execute does not disturb the connection each time", async () => {
    const scene = new Scene(() => Promise.resolve({ status: 503, body: {} }));
    await scene.open();
    scene.add({ kind: "archive" });
    await scene.pass(25_000);
    assertEquals(scene.unavailable, 3);
});
