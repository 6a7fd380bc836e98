import { assert } from "./assertions.js";

/** What tests at three real nodes share, which `Tests/web/run` starts. */

const ports = Number(Deno.env.get("GRAPEVINE_PORTS") ?? "0");
/** Whether there are no nodes to test at. */
export const ignore = ports === 0 || Deno.env.get("GRAPEVINE_STATE") === undefined;
export const nodes = [1, 2, 3].map((index) => `http://127.0.0.1:${ports + 200 + index}`);
export const password = "walnut-lantern";

/** @param {string} name */
export function address(name) {
    return `${name}-${crypto.randomUUID()}@example.org`;
}

/** @param {number} milliseconds */
export function sleep(milliseconds) {
    return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/**
 * @param {() => unknown} condition
 * @param {string} what
 * @param {number} [milliseconds]
 * @returns {Promise<number>} the milliseconds that it took
 */
export async function until(condition, what, milliseconds = 5_000) {
    const start = performance.now();
    while (!condition()) {
        assert(performance.now() < start + milliseconds, `In ${milliseconds} ms: not ${what}`);
        await sleep(5);
    }
    return performance.now() - start;
}
