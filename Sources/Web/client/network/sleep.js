/**
 * @param {import("../types.js").Clock} clock @param {number} milliseconds @returns {Promise<void>}
 */
export function sleep(clock, milliseconds) {
    return new Promise((resolve) => clock.setTimer(milliseconds, resolve));
}
