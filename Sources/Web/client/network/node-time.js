/** Milliseconds that an answer may be under way; a time that is further back is another clock's. */
const SLOW_MILLISECONDS = 5_000;

/**
 * The time by the clocks of the nodes. An answer that was under way for long shows an old time, so
 * the answer that shows the latest time counts.
 */
export class NodeTime {
    #clock;
    /** The lead of the nodes' clocks over the milliseconds that have elapsed. */
    #lead;
    #isTold = false;

    /** @param {import("../types.js").Clock} clock */
    constructor(clock) {
        this.#clock = clock;
        this.#lead = clock.now() - this.#elapsed;
    }

    /** @param {string | undefined} now the time of a node that has just answered */
    onNow(now) {
        const lead = parsed(now ?? "") - this.#elapsed;
        const isLate = this.#isTold && lead < this.#lead && lead > this.#lead - SLOW_MILLISECONDS;
        if (Number.isNaN(lead) || isLate) return;
        this.#lead = lead;
        this.#isTold = true;
    }

    /**
     * Notes the time that a node has given to what it has just accepted: the node's own time is no
     * earlier, though what it has told before may have been under way for long.
     *
     * @param {string} at
     */
    onAccepted(at) {
        const lead = parsed(at) - this.#elapsed;
        if (lead > this.#lead && lead < this.#lead + SLOW_MILLISECONDS) this.#lead = lead;
    }

    /** @param {string | undefined} now the time of a node that has refused a time of this device */
    onRefusal(now) {
        this.#isTold = false;
        this.onNow(now);
    }

    /** The time in milliseconds since 1970; before a node has told its own, this device's time. */
    get now() {
        return Math.floor(this.#elapsed + this.#lead);
    }

    get #elapsed() {
        return this.#clock.elapsed();
    }
}

/**
 * Returns a time in milliseconds since 1970; NaN if the text is none. Digits beyond the millisecond
 * are removed, since not every browser reads them.
 *
 * @param {string} time a time in RFC 3339 in UTC
 */
export function parsed(time) {
    return Date.parse(time.replace(/(\.\d{3})\d+Z$/, "$1Z"));
}
