const KEY = "push";

/** The push registration of this device, and its reports of the conversation on screen. */
export class Push {
    #engine;
    /** The id of this device's push registration, if there is one. @type {string | undefined} */
    #device;
    /** The browser's push subscription as JSON (the push token). @type {string | undefined} */
    #token;

    /** @param {import("../sync/engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    async open() {
        const entry = (await this.#engine.store.read(KEY)).find(([key]) => key === KEY);
        this.#device = /** @type {string | undefined} */ (entry?.[1]);
    }

    /**
     * Returns the cluster's public key (VAPID) for push subscriptions; undefined if it sends none.
     *
     * @returns {Promise<string | undefined>}
     */
    async key() {
        const { calls, session } = this.#engine;
        try {
            const { body } = await calls.send({ method: "GET", path: "/v1/push" }, session);
            return /** @type {{key: string}} */ (body).key;
        } catch (error) {
            if (/** @type {import("../types.js").Failure} */ (error).code === 404) return undefined;
            throw error;
        }
    }

    /** @param {unknown} subscription a `PushSubscription`, or its JSON */
    async enable(subscription) {
        const { calls, makeID, session, store } = this.#engine;
        const device = this.#device ?? makeID();
        await store.write([{ key: KEY, value: device }]);
        const token = JSON.stringify(subscription);
        const call = { method: "PUT", path: `/v1/devices/${device}`, body: { token } };
        await calls.send(call, session);
        this.#device = device;
        this.#token = token;
    }

    /**
     * Registers this device for push notifications again after the user has changed the password or
     * the e-mail address: the cluster then ends the old sign-in and removes its registration.
     */
    async renew() {
        if (this.#token) await this.enable(JSON.parse(this.#token));
    }

    /** Removes the stored device id after the end of this device's push registration. */
    async forget() {
        await this.#engine.store.write([{ key: KEY, value: undefined }]);
        this.#device = this.#token = undefined;
    }

    async disable() {
        if (!this.#device) return;
        const { calls, session } = this.#engine;
        await calls.send({ method: "DELETE", path: `/v1/devices/${this.#device}` }, session);
        await this.forget();
    }

    /** @param {string | undefined} conversation the conversation on screen */
    setViewing(conversation) {
        if (!this.#device) return;
        this.#engine.connection.post("PUT", `/v1/devices/${this.#device}/viewing`, {
            conversation,
        });
    }
}
