/** @import { Calls } from "../network/calls.js" */
/** @import { Changes } from "./changes.js" */
/** @import { Connection } from "../network/connection.js" */
/** @import { Feed } from "./feed.js" */
/** @import { Files } from "./files.js" */
/** @import { Marks } from "./marks.js" */
/** @import { Outbox } from "../outbox/outbox.js" */
/** @import { Persistence } from "../store/persistence.js" */
/** @import { Push } from "./push.js" */
/** @import { Screen } from "./screen.js" */
/** @import { Session } from "../network/session.js" */
/** @import { Store, Tabs } from "../types.js" */
/** @import { Views } from "../views/views.js" */

/**
 * The lifecycle of a user's data on this device: the data is restored at sign-in, kept when the
 * sign-in ends or expires, and removed when the user signs out or another user signs in.
 */
export class Device {
    #parts;
    #isStarted = false;

    /**
     * @param {{
     *   store: Store,
     *   tabs: Tabs,
     *   calls: Calls,
     *   changes: Changes,
     *   connection: Connection,
     *   feed: Feed,
     *   files: Files,
     *   marks: Marks,
     *   outbox: Outbox,
     *   persistence: Persistence,
     *   push: Push,
     *   screen: Screen,
     *   session: Session,
     *   views: Views,
     * }} parts
     */
    constructor(parts) {
        this.#parts = parts;
    }

    /** Reads the sign-in stored on this device, and connects if a user is signed in. */
    async open() {
        const { push, session } = this.#parts;
        await session.restore();
        await push.open();
        if (session.user !== undefined) await this.#start(session.user);
    }

    /** Starts the chat client after the user has signed in in this browser tab. */
    async onSignedIn() {
        this.tellTabs();
        await this.#start(this.#parts.session.user ?? "");
    }

    /**
     * Disconnects after the cluster has ended the sign-in. The user's pending operations are kept
     * until the same user signs in again.
     *
     * @param {import("../types.js").Failure} reason
     */
    onSessionEnd(reason) {
        this.tellTabs();
        this.#parts.connection.stop("signedOut");
        this.#parts.changes.add({ kind: "ended", reason });
        this.#parts.changes.add({ kind: "session" });
    }

    /** Removes all of the user's data from this device after a sign-out. */
    async forget() {
        const { changes, connection, push, session, store } = this.#parts;
        connection.stop("signedOut");
        await session.end();
        await push.forget();
        await this.#clear();
        await store.write([{ key: "owner", value: undefined }]);
        this.tellTabs();
        changes.add({ kind: "session" });
    }

    /**
     * Notifies the other browser tabs that the stored sign-in has changed, so that they reread it.
     */
    tellTabs() {
        this.#parts.tabs.post({ kind: "session" });
    }

    /** Rereads the stored sign-in after another tab has changed it, and switches to its user. */
    async onPost() {
        const { changes, connection, persistence, session, views } = this.#parts;
        const before = session.user;
        await session.restore();
        const { user } = session;
        if (user === before) return;
        if (user !== undefined) return this.#start(user);
        connection.stop("signedOut");
        persistence.reset("");
        views.clear();
        changes.add({ kind: "session" });
    }

    /** Whether the client sends no requests, to simulate a missing network. */
    get isOffline() {
        return this.#parts.calls.isCut;
    }

    set isOffline(isOffline) {
        this.#parts.calls.isCut = isOffline;
        if (this.#parts.session.user !== undefined) this.#connect();
    }

    /** @param {string} user */
    async #start(user) {
        const { changes, feed, marks, outbox, persistence, store } = this.#parts;
        const owner = (await store.read("owner"))[0]?.[1];
        if (owner !== undefined && owner !== user) await this.#clear();
        await store.write([{ key: "owner", value: user }]);
        const isFirst = !this.#isStarted;
        this.#isStarted = true;
        if (isFirst) await outbox.restore();
        await persistence.restore(user);
        await marks.open();
        if (isFirst) outbox.open();
        changes.add({ kind: "session" });
        feed.onLoaded();
        this.#connect();
    }

    #connect() {
        const { connection } = this.#parts;
        if (this.isOffline) connection.stop("offline");
        else connection.start();
    }

    async #clear() {
        const { files, marks, outbox, persistence, screen, session, store, views } = this.#parts;
        persistence.reset(session.user ?? "");
        for (const part of [views, marks, files, screen]) part.clear();
        await outbox.clear();
        await persistence.clear();
        for (const prefix of ["read/", "file/"]) {
            const entries = await store.read(prefix);
            await store.write(entries.map(([key]) => ({ key, value: undefined })));
        }
    }
}
