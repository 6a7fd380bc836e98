/** @typedef {import("../types.js").Tabs} Tabs */

/** Tab coordination in a browser by `navigator.locks` and `BroadcastChannel`. @implements {Tabs} */
export class BrowserTabs {
    #channel;

    /** @param {string} name */
    constructor(name) {
        this.#channel = new BroadcastChannel(name);
    }

    /**
     * @template T @param {string} name @param {() => Promise<T>} action
     * @param {AbortSignal} [signal] @returns {Promise<T>}
     */
    lock(name, action, signal) {
        return Promise.resolve(navigator.locks.request(name, { signal }, action));
    }

    /** @param {string} name @param {() => Promise<void>} action */
    async tryLock(name, action) {
        await navigator.locks.request(name, { ifAvailable: true }, (lock) => lock && action());
    }

    /** @param {unknown} message */
    post(message) {
        this.#channel.postMessage(message);
    }

    /** @param {(message: unknown) => void} action */
    onPost(action) {
        this.#channel.onmessage = (event) => action(event.data);
    }

    close() {
        this.#channel.close();
    }
}

/**
 * Tab coordination for a single tab: a lock excludes only other callers in this tab, and messages
 * are dropped.
 *
 * @implements {Tabs}
 */
export class SingleTab {
    /** @type {Map<string, Promise<unknown>>} */
    #locks = new Map();

    /** @template T @param {string} name @param {() => Promise<T>} action @returns {Promise<T>} */
    lock(name, action) {
        const before = this.#locks.get(name) ?? Promise.resolve();
        const result = before.then(action, action);
        this.#locks.set(name, result.catch(() => {}));
        return result;
    }

    /** @param {string} _name @param {() => Promise<void>} action */
    tryLock(_name, action) {
        return action();
    }

    post() {}

    onPost() {}

    close() {}
}
