import { equal } from "../../Sources/Web/client/views/views.js";

/**
 * @param {unknown} condition
 * @param {string} message
 * @returns {asserts condition}
 */
export function assert(condition, message) {
    if (!condition) throw new Error(message);
}

/**
 * @param {unknown} actual
 * @param {unknown} expected
 * @param {string} [message]
 */
export function assertEquals(actual, expected, message = "Values differ") {
    if (equal(actual, expected)) return;
    throw new Error(
        `${message}\n  actual: ${Deno.inspect(actual)}\nexpected: ${Deno.inspect(expected)}`,
    );
}

/**
 * @param {Promise<unknown>} promise
 * @param {number} code
 */
export async function assertRefused(promise, code) {
    /** @type {any} */
    let failure;
    await promise.catch((error) => failure = error);
    assertEquals(failure?.code, code, "Another refusal, or none");
}
