import { setImmediate } from "node:timers";

/**
 * A clock whose time passes only when a test says so.
 *
 * @implements {Clock}
 */
export class VirtualClock {
    #now = Date.parse("2026-11-25T12:00:00Z");
    #number = 0;
    /** @type {Map<number, {at: number, action: () => void}>} */
    #timers = new Map();

    now = () => this.#now;
    elapsed = () => this.#now;

    /** @type {(milliseconds: number, action: () => void) => () => void} */
    setTimer = (milliseconds, action) => {
        const number = this.#number += 1;
        this.#timers.set(number, { at: this.#now + Math.max(0, milliseconds), action });
        return () => this.#timers.delete(number);
    };

    /**
     * Has time pass.
     *
     * @param {number} milliseconds
     * @param {() => void} [check] called after each moment at which something has happened
     */
    async pass(milliseconds, check = () => {}) {
        const end = this.#now + milliseconds;
        await settle();
        while (true) {
            const next = this.#next();
            if (!next || next[1].at > end) break;
            this.#timers.delete(next[0]);
            this.#now = Math.max(this.#now, next[1].at);
            next[1].action();
            await settle();
            check();
        }
        this.#now = end;
    }

    #next() {
        /** @type {[number, {at: number, action: () => void}] | undefined} */
        let first;
        for (const timer of this.#timers) {
            if (!first || timer[1].at < first[1].at) first = timer;
        }
        return first;
    }
}

/** @typedef {import("../../Sources/Web/client/types.js").Clock} Clock */

/** Waits until all promises that can settle have settled. */
export function settle() {
    return new Promise((resolve) => setImmediate(() => resolve(undefined)));
}

/**
 * A source of random numbers between 0 and 1 that a seed determines (mulberry32).
 *
 * @param {number} seed
 */
export function seededRandom(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let value = Math.imul(state ^ (state >>> 15), state | 1);
        value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
        return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
    };
}
