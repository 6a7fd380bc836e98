import { ConfirmedState } from "../../Sources/Web/client/state/confirmed.js";
import { consequenceOf } from "../../Sources/Web/client/outbox/actions.js";
import { ConversationState } from "../../Sources/Web/client/state/conversation.js";
import { Delivery } from "../../Sources/Web/client/outbox/delivery.js";
import { Outbox } from "../../Sources/Web/client/outbox/outbox.js";
import { storedMessage } from "../../Sources/Web/client/state/message.js";
import { Session } from "../../Sources/Web/client/network/session.js";
import { WriteAheadLog } from "../../Sources/Web/client/outbox/write-ahead-log.js";
import { assert } from "./assertions.js";
import { Run } from "./run.js";

/** Defects that are planted, each of which the model test has to find. */

/** The most runs in which a planted fault has to be found. */
const RUNS_MAX = 12;

/**
 * Replaces a method while an action runs.
 *
 * @param {any} type
 * @param {string} name
 * @param {(original: Function) => Function} replacement
 * @returns {() => void} undoes it
 */
function replace(type, name, replacement) {
    const original = type.prototype[name];
    type.prototype[name] = replacement(original);
    return () => type.prototype[name] = original;
}

/**
 * Runs until the fault is found.
 *
 * @param {string} name
 * @param {RegExp} expected what the model test says then
 * @param {(run: Run) => () => void} plant returns what undoes it
 */
function testFault(name, expected, plant) {
    Deno.test({
        name: `a planted fault is found: ${name}`,
        sanitizeOps: false,
        sanitizeResources: false,
        fn: async () => {
            for (let seed = 1; seed <= RUNS_MAX; seed += 1) {
                const message = await firstFinding(seed, plant);
                if (message === undefined) continue;
                assert(expected.test(message), `Something else was found: ${message}`);
                return;
            }
            throw new Error(`Not found in ${RUNS_MAX} runs`);
        },
    });
}

/**
 * @param {number} seed
 * @param {(run: Run) => () => void} plant
 * @returns {Promise<string | undefined>}
 */
async function firstFinding(seed, plant) {
    const run = new Run(seed);
    const undo = plant(run);
    const log = console.error;
    // Views are looked at from a listener, too, which reports what it finds there.
    console.error = () => {};
    try {
        await run.begin();
        await run.act();
        await run.heal();
        run.checkEnd();
        return undefined;
    } catch (error) {
        return /** @type {Error} */ (error).message;
    } finally {
        console.error = log;
        undo();
        for (const tab of run.tabs) run.close(tab);
    }
}

testFault(
    "a late answer replaces what events have said",
    /reappears|shows/,
    () =>
        replace(
            ConversationState,
            "mergeAnswer",
            () =>
                /** @this {ConversationState} @param {any[]} list */
                function (list) {
                    for (const told of list) this.messages.set(told.id, storedMessage(told));
                    this.version += 1;
                },
        ),
);

testFault("an operation is written into the confirmed state", /shows|reappears|flickers/, () => {
    /** @type {Set<ConversationState>} */
    const states = new Set();
    const undo = [
        replace(
            ConfirmedState,
            "conversation",
            (original) =>
                /** @this {ConfirmedState} @param {string} id */
                function (id) {
                    const state = original.call(this, id);
                    states.add(state);
                    return state;
                },
        ),
        replace(
            Outbox,
            "add",
            (original) =>
                /** @this {Outbox} @param {any} action @param {any} writes */
                function (action, writes) {
                    for (const state of action.kind === "pin" ? states : []) {
                        state.merge(
                            /** @type {any} */ (consequenceOf(action, "2026-11-25T13", "u-alice")),
                        );
                    }
                    return original.call(this, action, writes);
                },
        ),
    ];
    return () => undo.forEach((action) => action());
});

testFault("the outbox is dropped when a page is closed", /flickers|lost|reappears/, (run) => {
    const close = run.close.bind(run);
    run.close = (tab) => {
        close(tab);
        const { entries } = tab.device.disk;
        for (const key of entries.keys()) if (key.startsWith("operation/")) entries.delete(key);
    };
    return () => {};
});

testFault(
    "what is on its way into the store is not in the log",
    /flickers|lost|reappears/,
    (run) => {
        for (const { disk } of run.devices) disk.texts.set = () => disk.texts;
        return () => {};
    },
);

testFault(
    "what the store had is taken in from the log again",
    /was over, and is sent again/,
    () =>
        replace(
            WriteAheadLog,
            "add",
            (original) =>
                /** @this {WriteAheadLog} @param {string} user @param {any} operation */
                function (user, operation) {
                    original.call(this, user, operation);
                    return [];
                },
        ),
);

testFault("both tabs renew the tokens", /signed out|used twice/, (run) => {
    for (const { browser } of run.devices) browser.brokenLock = "grapevine-renewal";
    const restored = new WeakSet();
    return replace(Session, "restore", (original) =>
        /** @this {Session} */
        function () {
            // Only once: the tokens of the other tab are not looked for.
            if (restored.has(this)) return Promise.resolve();
            restored.add(this);
            return original.call(this);
        });
});

testFault("a repetition has another id", /twice|lost|flickers/, (run) => {
    const { transport } = run.cluster;
    let number = 0;
    run.cluster.transport = (line) => {
        const original = transport.call(run.cluster, line);
        return {
            ...original,
            open: (node, accessToken, since, events) => {
                const socket = original.open(node, accessToken, since, events);
                const renamed = (/** @type {string} */ text) => {
                    const message = JSON.parse(text);
                    if (message.method === "POST") message.body.id += `-${number += 1}`;
                    return JSON.stringify(message);
                };
                return { ...socket, send: (text) => socket.send(renamed(text)) };
            },
        };
    };
    return () => {};
});

testFault(
    "an accepted operation ends without its consequence",
    /flickers|reappears|shows/,
    () => replace(ConfirmedState, "accept", () => () => undefined),
);

testFault(
    "an operation ends before its consequence is merged",
    /flickers|reappears/,
    () =>
        replace(
            ConfirmedState,
            "accept",
            (original) =>
                /** @this {ConfirmedState} @param {any} update */
                function (update) {
                    setTimeout(() => original.call(this, update));
                },
        ),
);

testFault(
    "of two values the one that arrives last holds",
    /shows|reappears/,
    () =>
        replace(
            ConversationState,
            "merge",
            (original) =>
                /** @this {ConversationState} @param {any} update */
                function (update) {
                    const known = this.messages.get(update.message?.id);
                    if (known) {
                        this.messages.set(known.id, { ...known, ...update.message, at: known.at });
                    }
                    return original.call(this, update);
                },
        ),
);

testFault("each attempt has another stamp", /misnamed/, () => {
    let number = 0;
    return replace(Delivery, "send", (original) =>
        /** @this {Delivery} @param {any} operation */
        function (operation) {
            const digits = String(number += 1).padStart(6, "0");
            const stamp = operation.stamp?.replace(/\d{6}Z$/, `${digits}Z`);
            return original.call(this, { ...operation, stamp });
        });
});
