/** @typedef {import("../../Sources/Web/client/types.js").Tabs} Tabs */
/** @typedef {{tab: ModelTab, begin: () => void}} Turn */

/** The tabs of one browser, which share locks and hear each other. */
export class ModelBrowser {
    /** @type {Set<ModelTab>} */
    tabs = new Set();
    /** Who holds a lock, and who waits for it. @type {Map<string, Turn[]>} */
    queues = new Map();
    /** A lock that does not exclude: a planted fault. */
    brokenLock = "";

    open() {
        const tab = new ModelTab(this);
        this.tabs.add(tab);
        return tab;
    }

    /** @param {string} name */
    queue(name) {
        const queue = this.queues.get(name) ?? [];
        this.queues.set(name, queue);
        return queue;
    }

    /**
     * @param {string} name
     * @param {Turn} turn
     */
    leave(name, turn) {
        const queue = this.queue(name);
        const place = queue.indexOf(turn);
        if (place >= 0) queue.splice(place, 1);
        if (place === 0) queue[0]?.begin();
    }

    /**
     * Ends a tab, and all locks that it holds or waits for.
     *
     * @param {ModelTab} tab
     */
    end(tab) {
        this.tabs.delete(tab);
        for (const [name, queue] of this.queues) {
            for (const turn of queue.filter((turn) => turn.tab === tab)) this.leave(name, turn);
        }
    }
}

/** @implements {Tabs} */
class ModelTab {
    /** @type {(message: unknown) => void} */
    #action = () => {};
    #browser;

    /** @param {ModelBrowser} browser */
    constructor(browser) {
        this.#browser = browser;
    }

    /**
     * @template T
     * @param {string} name
     * @param {() => Promise<T>} action
     * @param {AbortSignal} [signal]
     * @returns {Promise<T>}
     */
    async lock(name, action, signal) {
        if (name === this.#browser.brokenLock) return action();
        // A page that is gone does not go on.
        if (!this.#browser.tabs.has(this)) return new Promise(() => {});
        const queue = this.#browser.queue(name);
        /** @type {Turn} */
        const turn = { tab: this, begin: () => {} };
        await new Promise((resolve, reject) => {
            turn.begin = () => resolve(undefined);
            queue.push(turn);
            if (queue[0] === turn) turn.begin();
            signal?.addEventListener("abort", () => {
                if (queue.indexOf(turn) <= 0) return;
                this.#browser.leave(name, turn);
                reject(new Error("aborted"));
            });
        });
        try {
            return await action();
        } finally {
            this.#browser.leave(name, turn);
        }
    }

    /**
     * @param {string} name
     * @param {() => Promise<void>} action
     */
    async tryLock(name, action) {
        if (this.#browser.queue(name).length === 0) await this.lock(name, action);
    }

    /** @param {unknown} message */
    post(message) {
        const copy = structuredClone(message);
        for (const tab of this.#browser.tabs) {
            if (tab !== this) queueMicrotask(() => tab.#hear(copy));
        }
    }

    /** @param {(message: unknown) => void} action */
    onPost(action) {
        this.#action = action;
    }

    close() {
        this.#browser.end(this);
    }

    /** @param {unknown} message */
    #hear(message) {
        if (this.#browser.tabs.has(this)) this.#action(message);
    }
}
