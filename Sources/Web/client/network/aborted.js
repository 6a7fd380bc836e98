/**
 * Waits until a signal is aborted, so that code under a browser lock holds the lock until then.
 *
 * @param {AbortSignal} signal @returns {Promise<void>}
 */
export function aborted(signal) {
    return new Promise((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
    });
}
