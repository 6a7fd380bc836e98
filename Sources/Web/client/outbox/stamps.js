/** @import { Clock, Operation, Store, Write } from "../types.js" */

/** The key under which the local store holds this device's name and last number. */
const KEY = "numbering";
/** Milliseconds by which a node's time may be ahead of another node's. */
const AHEAD_MILLISECONDS = 450;
/** The names of members of nodes' answers that are times at which something has changed. */
const ofTimes = /^(at|edited|[a-z]+At)$/;

/**
 * The identities and times that this device gives to the user's operations, so that an operation
 * which a node executes twice or late changes nothing that is later.
 *
 * An operation gets its stamp before it is first sent, and keeps it. Only the browser tab that
 * sends the operations gives stamps.
 */
export class Stamps {
    #store;
    #clock;
    #makeID;
    #device = "";
    #number = 0;
    /** The time of the last stamp, in milliseconds since 1970. */
    #time = 0;
    /** The latest time that a node has shown. */
    #seen = 0;
    /** The lead of the nodes' clocks over the milliseconds that have elapsed. */
    #lead = 0;

    /** @param {{store: Store, clock: Clock, makeID: () => string}} parts */
    constructor({ clock, makeID, store }) {
        this.#store = store;
        this.#clock = clock;
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

    /** @param {string | undefined} now the time of a node that has just answered */
    onNow(now) {
        const time = Date.parse(now ?? "");
        if (time > 0) this.#lead = time - this.#elapsed;
    }

    /**
     * Whether an operation's time is so far ahead that every node whose clock is right refuses it,
     * for instance because it was taken from a node whose clock was wrong.
     *
     * @param {Operation} operation
     */
    isFarAhead({ stamp = "" }) {
        const time = Date.parse(`${stamp.slice(-30, -7)}Z`);
        return time > this.#now + 2 * AHEAD_MILLISECONDS;
    }

    get #elapsed() {
        return this.#clock.elapsed?.() ?? this.#clock.now();
    }

    /** The nodes' time, in milliseconds since 1970. */
    get #now() {
        return Math.floor(this.#elapsed + this.#lead);
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
     * @param {Operation} operation
     * @returns {[Operation, Write]}
     */
    next(operation) {
        const now = this.#now;
        const latest = now + AHEAD_MILLISECONDS;
        // Times that are further ahead come from a wrong clock: no node would accept a later one.
        const known = [this.#time, this.#seen].filter((time) => time < latest);
        this.#number = Math.max(this.#number + 1, Math.floor(this.#clock.now()));
        this.#time = Math.max(now, ...known.map((time) => time + 1));
        const [device, number, time] = [this.#device, this.#number, this.#time];
        const text = new Date(time).toISOString().replace("Z", "000000Z");
        const stamped = { ...operation, stamp: `${device}.${number}.${text}` };
        return [stamped, { key: KEY, value: { device, number, time } }];
    }

    /** @param {string} text */
    #note(text) {
        const time = Date.parse(text);
        if (time > this.#seen && time < this.#now + AHEAD_MILLISECONDS) this.#seen = time;
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
