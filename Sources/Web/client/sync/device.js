/**
 * The lifecycle of a user's data on this device: the data is restored at sign-in, kept when the
 * sign-in ends or expires, and removed when the user signs out or another user signs in.
 */
export class Device {
    #engine;
    /** The user whose data this tab has in memory. @type {string | undefined} */
    #user;

    /** @param {import("./engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    /** Reads the sign-in stored on this device, and connects if a user is signed in. */
    async open() {
        const { push, session } = this.#engine;
        await session.restore();
        await push.open();
        if (session.user !== undefined) await this.#start(session.user);
    }

    /** Starts the chat client after the user has signed in in this browser tab. */
    async onSignedIn() {
        this.tellTabs();
        await this.#start(this.#engine.session.user ?? "");
    }

    /**
     * Disconnects after the cluster has ended the sign-in. The user's pending operations are kept
     * until the same user signs in again.
     *
     * @param {import("../types.js").Failure} reason
     */
    onSessionEnd(reason) {
        this.tellTabs();
        this.#engine.connection.stop("signedOut");
        this.#engine.changes.add({ kind: "ended", reason });
        this.#engine.changes.add({ kind: "session" });
    }

    /** Removes all of the user's data from this device after a sign-out. */
    async forget() {
        const { changes, connection, push, session, store } = this.#engine;
        connection.stop("signedOut");
        await session.end();
        await push.forget();
        await this.#clear();
        await store.write([{ key: "owner", value: undefined }]);
        this.tellTabs();
        changes.add({ kind: "session" });
    }

    /** Notifies the other browser tabs that the stored sign-in has changed. */
    tellTabs() {
        this.#engine.tabs.post({ kind: "session" });
    }

    /** Rereads the stored sign-in after another tab has changed it, and switches to its user. */
    async onPost() {
        const { changes, session } = this.#engine;
        const before = session.user;
        await session.restore();
        const { user } = session;
        if (user === before) return;
        if (user !== undefined) return this.#start(user);
        this.#forgetUser();
        changes.add({ kind: "session" });
    }

    get isOffline() {
        return this.#engine.calls.isCut;
    }

    set isOffline(isOffline) {
        this.#engine.calls.isCut = isOffline;
        if (this.#engine.session.user !== undefined) this.#connect();
    }

    /** @param {string} user */
    async #start(user) {
        const { changes, feed, marks, outbox, persistence, store } = this.#engine;
        if (this.#user !== undefined && this.#user !== user) this.#forgetUser();
        this.#user = user;
        const owner = (await store.read("owner"))[0]?.[1];
        if (owner !== undefined && owner !== user) await this.#clear();
        await store.write([{ key: "owner", value: user }]);
        await outbox.restore();
        await persistence.restore(user);
        await marks.open();
        outbox.open();
        changes.add({ kind: "session" });
        feed.onLoaded();
        this.#connect();
    }

    #connect() {
        const { connection } = this.#engine;
        if (this.isOffline) connection.stop("offline");
        else connection.start();
    }

    /** Removes a user's data from this tab's memory, and ends the user's connection. */
    #forgetUser() {
        const { connection, files, marks, outbox, persistence, screen, session, views } =
            this.#engine;
        connection.stop("signedOut");
        persistence.reset(session.user ?? "");
        for (const part of [views, marks, files, screen, outbox]) part.clear();
    }

    async #clear() {
        const { outbox, persistence, store } = this.#engine;
        this.#forgetUser();
        await outbox.clearStore();
        await persistence.clear();
        for (const prefix of ["read/", "file/"]) {
            const entries = await store.read(prefix);
            await store.write(entries.map(([key]) => ({ key, value: undefined })));
        }
    }
}
