import { aborted } from "../network/aborted.js";
import { asFailure, noAnswer, pause } from "../network/failures.js";

/** @import { Entries } from "./entries.js" */
/** @import { Clock, Operation, Tabs } from "../types.js" */

/** @typedef {import("./entries.js").Entry} Entry */
/** @typedef {{status: number, body: any, retryAfterSeconds?: number, token?: string}} SendAnswer */

const LOCK = "grapevine-outbox";
/** The most lanes (conversations, action items, profile) with an operation in flight at a time. */
const LANES_MAX = 16;
/** The least milliseconds between two changes of node because of answers. */
const LEAVE_MILLISECONDS = 10_000;
/** Milliseconds before an operation that no node has answered is sent again. */
const REPEAT_MILLISECONDS = 100;

/**
 * The sender of the user's pending operations, active in one browser tab at a time. The operations
 * of a lane (a conversation, the action items or the profile) are sent in order, one at a time.
 */
export class Sender {
    isActive = false;
    #parts;
    #closing = new AbortController();
    /** What ends the pause of a lane that failed temporarily. @type {Map<string, () => void>} */
    #pauses = new Map();
    /** Whether the client has just switched to another node because of an answer. */
    #hasLeft = false;

    /**
     * @param {{
     *   entries: Entries, clock: Clock, tabs: Tabs, isOnline: () => boolean,
     *   send: (operation: Operation) => Promise<SendAnswer>,
     *   onTurn: () => Promise<void>,   onActive: () => void, stamp: (entry: Entry) => Promise<void>,
     *   onAnswer: (entry: Entry, answer: SendAnswer) => void, onUnavailable: () => void,
     * }} parts `onTurn` reads the stored operations before this tab begins to send, and `stamp`
     *   gives an operation its identity and time before it is first sent
     */
    constructor(parts) {
        this.#parts = parts;
    }

    /** Waits for the lock that lets only one tab send operations, and then begins to send them. */
    open() {
        const lock = this.#parts.tabs.lock(LOCK, () => this.#take(), this.#closing.signal);
        lock.catch(() => {/* The tab was closed while waiting for the lock. */});
    }

    /** Stops sending, and releases the lock so that another tab sends the pending operations. */
    close() {
        this.isActive = false;
        this.#closing.abort();
    }

    /** Sends each lane's first operation that is neither in flight nor paused after a failure. */
    pump() {
        const { entries, isOnline } = this.#parts;
        if (!this.isActive || !isOnline()) return;
        const busy = new Set();
        const all = entries.all;
        let count = all.filter(({ isUnderWay }) => isUnderWay).length;
        for (const entry of all) {
            const { lane } = entry.operation;
            if (busy.has(lane)) continue;
            // Only a lane's (such as a chat's) first operation is sent, to keep the user's order.
            busy.add(lane);
            if (entry.isUnderWay || !entry.isStored || this.#pauses.has(lane)) continue;
            if (count >= LANES_MAX) return;
            count += 1;
            this.#send(entry);
        }
    }

    /**
     * Sends a lane's first operation again after a pause, because a node rejected the operation
     * temporarily or did not answer.
     *
     * @param {string} lane @param {SendAnswer} answer
     */
    postpone(lane, answer) {
        const { clock } = this.#parts;
        const milliseconds = answer.status === noAnswer.code
            ? REPEAT_MILLISECONDS
            : pause(answer.retryAfterSeconds);
        this.#pauses.get(lane)?.();
        const end = clock.setTimer(milliseconds, () => {
            this.#pauses.delete(lane);
            this.pump();
        });
        this.#pauses.set(lane, end);
        // The client switches to another node, which may be able to execute the operation. If no
        // node is, the others are not disturbed at each attempt.
        if (answer.status < 500 || this.#hasLeft) return;
        this.#hasLeft = true;
        clock.setTimer(LEAVE_MILLISECONDS, () => this.#hasLeft = false);
        this.#parts.onUnavailable();
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
        /** @type {SendAnswer} */
        let answer;
        try {
            await this.#parts.stamp(entry);
            if (!this.isActive || this.#parts.entries.get(entry.operation.id) !== entry) return;
            answer = await this.#parts.send(entry.operation);
        } catch (error) {
            answer = { status: asFailure(error).code, body: { error: asFailure(error) } };
        }
        entry.isUnderWay = false;
        if (this.isActive) this.#parts.onAnswer(entry, answer);
    }
}
