/**
 * Waits until `signal` is aborted. Code that runs under a browser lock awaits the returned promise
 * to hold the lock until the abort.
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
