import { aborted } from "../network/aborted.js";
import { asFailure, noAnswer, pause } from "../network/failures.js";

/** @import { Entries } from "../sync/entries.js" */
/** @import { Clock, Operation, Tabs } from "../types.js" */

/** @typedef {import("../sync/entries.js").Entry} Entry */
/** @typedef {{status: number, body: any, retryAfterSeconds?: number}} SendAnswer */

const LOCK = "grapevine-outbox";
/** The most lanes in which operations are under way at once. */
const LANES_MAX = 16;
/** Milliseconds before an operation is repeated that no node has answered. */
const REPEAT_MILLISECONDS = 100;

/** The sending of operations by one tab: those of one lane in their order, one at a time. */
export class Sender {
    /** Whether this tab is the one that sends. */
    isActive = false;
    #parts;
    #closing = new AbortController();
    /** Until when lanes wait after a refusal that may pass. @type {Map<string, number>} */
    #pauses = new Map();

    /**
     * @param {{
     *   entries: Entries,
     *   clock: Clock,
     *   tabs: Tabs,
     *   isOnline: () => boolean,
     *   send: (operation: Operation) => Promise<SendAnswer>,
     *   onTurn: () => Promise<void>,
     *   onActive: () => void,
     *   onSending: (entry: Entry) => void,
     *   onAnswer: (entry: Entry, answer: SendAnswer) => void,
     *   onUnavailable: () => void,
     * }} parts `onTurn` finds what there is to send, before this tab is the one that sends
     */
    constructor(parts) {
        this.#parts = parts;
    }

    /** Waits until no other tab sends. */
    open() {
        const lock = this.#parts.tabs.lock(LOCK, () => this.#take(), this.#closing.signal);
        lock.catch(() => {/* Closed while it waited. */});
    }

    /** Leaves the sending to another tab. */
    close() {
        this.isActive = false;
        this.#closing.abort();
    }

    /** Sends what can be sent. */
    pump() {
        const { clock, entries, isOnline } = this.#parts;
        if (!this.isActive || !isOnline()) return;
        const busy = new Set();
        const all = entries.all;
        let count = all.filter(({ isUnderWay }) => isUnderWay).length;
        for (const entry of all) {
            const { lane } = entry.operation;
            if (entry.phase === "acknowledged" || busy.has(lane)) continue;
            // Only the first of a lane: its order is that in which the user acted.
            busy.add(lane);
            const isPaused = clock.now() < (this.#pauses.get(lane) ?? 0);
            if (entry.isUnderWay || entry.phase === "added" || isPaused) continue;
            if (count >= LANES_MAX) return;
            count += 1;
            this.#send(entry);
        }
    }

    /**
     * Repeats the first operation of a lane after a while.
     *
     * @param {string} lane
     * @param {SendAnswer} answer
     */
    postpone(lane, answer) {
        const { clock } = this.#parts;
        const milliseconds = answer.status === noAnswer.code
            ? REPEAT_MILLISECONDS
            : pause(answer.retryAfterSeconds);
        this.#pauses.set(lane, clock.now() + milliseconds);
        clock.setTimer(milliseconds, () => {
            const until = this.#pauses.get(lane) ?? 0;
            if (until <= clock.now()) this.#pauses.delete(lane);
            this.pump();
        });
        // Another node may be able to.
        if (answer.status >= 500) this.#parts.onUnavailable();
    }

    async #take() {
        const { signal } = this.#closing;
        await this.#parts.onTurn();
        if (signal.aborted) return;
        this.isActive = true;
        this.#parts.onActive();
        this.pump();
        await aborted(signal);
    }

    /** @param {Entry} entry */
    async #send(entry) {
        entry.isUnderWay = true;
        entry.phase = "sent";
        this.#parts.onSending(entry);
        /** @type {SendAnswer} */
        let answer;
        try {
            answer = await this.#parts.send(entry.operation);
        } catch (error) {
            answer = { status: asFailure(error).code, body: { error: asFailure(error) } };
        }
        entry.isUnderWay = false;
        if (this.isActive) this.#parts.onAnswer(entry, answer);
    }
}
