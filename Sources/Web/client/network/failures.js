/** @typedef {import("../types.js").Failure} Failure */

/** The statuses of answers that would be the same if the request were repeated. */
const finalCodes = new Set([400, 403, 404, 405, 409, 413]);

/** Seconds until a request is repeated where the answer does not say. */
const RETRY_SECONDS = 1;

/**
 * The longest wait before a request is repeated, in seconds, even if the node asks for a longer one.
 */
const RETRY_SECONDS_MAX = 60;

/** The failure of a request that no node has answered. */
export const noAnswer = Object.freeze({ code: 0, message: "No node answers" });

/**
 * Whether a failure is the cluster's last word: the same request would be answered the same way.
 *
 * @param {number} code
 */
export function isFinal(code) {
    return finalCodes.has(code);
}

/**
 * Returns the failure that the body of an answer tells.
 *
 * @param {number} status
 * @param {unknown} body
 * @returns {Failure}
 */
export function failure(status, body) {
    const error = /** @type {{error?: Failure} | undefined} */ (body)?.error;
    return { code: status, message: error?.message ?? `The node answered ${status}` };
}

/**
 * @param {unknown} error
 * @returns {Failure}
 */
export function asFailure(error) {
    const { code, message } = /** @type {Failure} */ (error ?? {});
    return typeof code === "number" && typeof message === "string" ? { code, message } : noAnswer;
}

/**
 * @param {number | undefined} retryAfterSeconds as the answer says
 * @returns {number} milliseconds to wait
 */
export function pause(retryAfterSeconds) {
    return Math.min(retryAfterSeconds ?? RETRY_SECONDS, RETRY_SECONDS_MAX) * 1000;
}
