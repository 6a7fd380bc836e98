/** @typedef {import("../types.js").Failure} Failure */

/** The HTTP status codes of permanent failures: a repeated request fails the same way. */
const finalCodes = new Set([400, 403, 404, 405, 409, 413]);

/** Seconds before a failed request is sent again if the response has no `Retry-After`. */
const RETRY_SECONDS = 1;

/** The longest wait before a failed request is sent again, in seconds; it caps `Retry-After`. */
const RETRY_SECONDS_MAX = 60;

/** The failure of a request that no node answered. */
export const noAnswer = Object.freeze({ code: 0, message: "No node answers" });

/** Whether a repeated request would fail the same way. @param {number} code */
export function isFinal(code) {
    return finalCodes.has(code);
}

/** Returns a response's error. @param {number} status @param {unknown} body @returns {Failure} */
export function failure(status, body) {
    const error = /** @type {{error?: Failure} | undefined} */ (body)?.error;
    return { message: `The node answered ${status}`, ...error, code: status };
}

/** @param {unknown} error @returns {Failure} */
export function asFailure(error) {
    const failure = /** @type {Failure} */ (error ?? {});
    const { code, message } = failure;
    return typeof code === "number" && typeof message === "string" ? failure : noAnswer;
}

/** @param {number | undefined} retryAfterSeconds @returns {number} milliseconds to wait */
export function pause(retryAfterSeconds) {
    return Math.min(retryAfterSeconds ?? RETRY_SECONDS, RETRY_SECONDS_MAX) * 1000;
}
