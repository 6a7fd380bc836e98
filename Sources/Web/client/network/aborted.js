/**
 * Waits until a signal is given, for as long as a lock is to be held.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function aborted(signal) {
    return new Promise((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
    });
}
