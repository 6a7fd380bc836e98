import { parsed } from "../network/node-time.js";

/** @import { NodeTime } from "../network/node-time.js" */
/** @import { Clock, Operation, Store, Write } from "../types.js" */

/** The key under which the local store holds this device's name and last number. */
const KEY = "numbering";
/** Milliseconds by which a node's time may be ahead of another node's. */
const AHEAD_MILLISECONDS = 450;
/** The names of members of nodes' answers that are times at which something has changed. */
const ofTimes = /^(at|edited|sent|[a-z]+(At|Changed|Sent))$/;

/**
 * The identities and times that this device gives to the user's operations, so that an operation
 * which a node executes twice or late changes nothing that is later. An operation gets its stamp
 * before it is first sent, and keeps it. Only the tab that sends the operations gives stamps.
 */
export class Stamps {
    #store;
    #clock;
    #nodeTime;
    #makeID;
    #device = "";
    #number = 0;
    /** The time of the last stamp, in milliseconds since 1970. */
    #time = 0;
    /** The latest time that a node has shown. */
    #seen = 0;

    /** @param {{store: Store, clock: Clock, nodeTime: NodeTime, makeID: () => string}} parts */
    constructor({ clock, makeID, nodeTime, store }) {
        this.#store = store;
        this.#clock = clock;
        this.#nodeTime = nodeTime;
        this.#makeID = makeID;
    }

    /** Reads the device's name and last number, once this tab is the one that sends. */
    async open() {
        const entries = await this.#store.read(KEY);
        const known = /** @type {any} */ (entries.find(([key]) => key === KEY)?.[1]);
        this.#device = known?.device ?? this.#makeID();
        this.#number = known?.number ?? 0;
        this.#time = known?.time ?? 0;
    }

    /**
     * Whether an operation's time is so far ahead that every node with a right clock refuses it,
     * for instance because an earlier node's clock was wrong. The times of this device then begin
     * anew.
     *
     * @param {Operation} operation
     */
    forgets(operation) {
        const time = parsed(timeOf(operation) ?? "");
        const isAhead = time > this.#nodeTime.now + 2 * AHEAD_MILLISECONDS;
        if (isAhead) this.#time = 0;
        return isAhead;
    }

    /**
     * Notes the times of what a node has shown: later operations have later times.
     *
     * @param {unknown} value an event, or the body of an answer
     */
    onShown(value) {
        if (typeof value !== "object" || value === null) return;
        for (const [key, member] of Object.entries(value)) {
            if (typeof member === "object") this.onShown(member);
            else if (typeof member === "string" && ofTimes.test(key)) this.#note(member);
        }
    }

    /**
     * Returns an operation with its stamp, and the write that keeps its number: no number is given
     * twice, and none is given again from a restored copy of the store.
     *
     * @param {Operation} operation @returns {[Operation, Write]}
     */
    next(operation) {
        const { now } = this.#nodeTime;
        // A time that is further ahead comes from a wrong clock: no node would accept a later one.
        const seen = this.#seen < now + AHEAD_MILLISECONDS ? this.#seen : 0;
        this.#number = Math.max(this.#number + 1, Math.floor(this.#clock.now()));
        this.#time = Math.max(now, seen + 1, this.#time + 1);
        const [device, number, time] = [this.#device, this.#number, this.#time];
        // Two devices of one user that act in one millisecond have different times.
        const digits = String(hashOf(device)).padStart(6, "0");
        const text = new Date(time).toISOString().replace("Z", `${digits}Z`);
        const stamped = { ...operation, stamp: `${device}.${number}.${text}` };
        return [stamped, { key: KEY, value: { device, number, time } }];
    }

    /** @param {string} text */
    #note(text) {
        const time = parsed(text);
        if (time > this.#seen && time < this.#nodeTime.now + AHEAD_MILLISECONDS) this.#seen = time;
    }
}

/**
 * Whether an operation gets a stamp: messages and conversations are identified by their ids, and
 * placed by the time of their acceptance.
 *
 * @param {Operation} operation
 */
export function isStamped({ action }) {
    return action.kind !== "send" && action.kind !== "create";
}

/** Returns a stamp's time, with nine digits after the second. @param {Operation} operation */
export function timeOf({ stamp }) {
    return stamp?.slice(-30);
}

/** Returns a number below 10,000 that another name rarely has. @param {string} name */
function hashOf(name) {
    const codes = Array.from(name, (letter) => letter.charCodeAt(0));
    return codes.reduce((hash, code) => (hash * 31 + code) % 10_000, 0);
}
