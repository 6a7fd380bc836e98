import { asFailure } from "./failures.js";

/** The user's account: sign-up, sign-in, sign-out, password, e-mail address and blocked users. */
export class Account {
    #engine;

    /** @param {import("../sync/engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    /** @param {string} email @param {string} password */
    async signUp(email, password) {
        try {
            await this.#accept("POST", "/v1/accounts", { email, password }, email);
        } catch (error) {
            // A 409 (the e-mail address is in use) may mean that an earlier sign-up succeeded but
            // its response was lost; in this case, signing in succeeds.
            const isSignedUp = asFailure(error).code === 409 &&
                await this.#signIn(email, password).then(() => true, () => false);
            if (!isSignedUp) throw error;
        }
        await this.#engine.device.onSignedIn();
    }

    /** @param {string} email @param {string} password */
    async signIn(email, password) {
        await this.#signIn(email, password);
        await this.#engine.device.onSignedIn();
    }

    /**
     * Signs out, and removes all data that this device has stored. Without a network, the nodes do
     * not learn of the sign-out and accept the user's tokens until the tokens expire.
     *
     * @param {{everywhere?: boolean}} [options]
     */
    async signOut({ everywhere = false } = {}) {
        const { calls, device, session } = this.#engine;
        await session.change(async (signedIn) => {
            const path = everywhere ? "/v1/sessions" : "/v1/sessions/current";
            const sent = calls.send({ method: "DELETE", path }, signedIn);
            await (everywhere ? sent : sent.catch(() => {}));
            await device.forget();
        });
    }

    /** @param {string} password @param {string} newPassword */
    async changePassword(password, newPassword) {
        const { email = "" } = this.#engine.session;
        await this.#change("/v1/account/password", { password, newPassword }, email);
    }

    /** @param {string} password @param {string} email */
    async changeEmail(password, email) {
        await this.#change("/v1/account/email", { password, email }, email);
        this.#engine.changes.add({ kind: "session" });
    }

    /** @param {string} password */
    async deleteAccount(password) {
        const { calls, device, session } = this.#engine;
        await session.change(async (signedIn) => {
            const call = { method: "POST", path: "/v1/account/delete", body: { password } };
            await calls.send(call, signedIn);
            await device.forget();
        });
    }

    /** Blocks a user, whose later messages are not shown. @param {string} user */
    async block(user) {
        await this.#send("PUT", blockPath(user));
    }

    /**
     * Unblocks a user. Messages that the user sent during the block are then shown if they are
     * among the newest 1,000 messages of their chat.
     *
     * @param {string} user
     */
    async unblock(user) {
        await this.#send("DELETE", blockPath(user));
        await this.#engine.loader.reload();
    }

    /** @returns {Promise<string[]>} the ids of the blocked users, at most 500 */
    async blocked() {
        const body = await this.#send("GET", "/v1/blocks");
        return body.blocks.map((/** @type {any} */ { other }) => other);
    }

    /** @param {string} method @param {string} path @returns {Promise<any>} */
    async #send(method, path) {
        const { calls, session } = this.#engine;
        return (await calls.send({ method, path }, session)).body;
    }

    /** @param {string} email @param {string} password */
    async #signIn(email, password) {
        const device = await this.#engine.session.device();
        await this.#accept("POST", "/v1/sessions", { email, password, device }, email);
    }

    /** @param {string} path @param {unknown} body @param {string} email */
    async #change(path, body, email) {
        const { device, push, session } = this.#engine;
        await session.change((signedIn) => this.#accept("PUT", path, body, email, signedIn));
        await push.renew().catch(() => {});
        device.tellTabs();
    }

    /**
     * @param {string} method @param {string} path @param {unknown} body @param {string} email
     * @param {{accessToken: () => Promise<string>}} [signedIn]
     */
    async #accept(method, path, body, email, signedIn) {
        const { calls, session } = this.#engine;
        const answer = await calls.send({ method, path, body }, signedIn);
        await session.accept(answer.body, email);
    }
}

/** @param {string} user */
function blockPath(user) {
    return `/v1/blocks/${encodeURIComponent(user)}`;
}
