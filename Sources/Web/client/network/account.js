import { asFailure } from "./failures.js";

/** @import { Calls } from "./calls.js" */
/** @import { Session } from "./session.js" */

/** The HTTP requests for the user's account: sign-up, sign-in, password, e-mail and blocks. */
export class Account {
    #calls;
    #session;

    /**
     * @param {Calls} calls
     * @param {Session} session
     */
    constructor(calls, session) {
        this.#calls = calls;
        this.#session = session;
    }

    /**
     * @param {string} email
     * @param {string} password
     */
    async signUp(email, password) {
        try {
            await this.#accept("POST", "/v1/accounts", { email, password }, email);
        } catch (error) {
            if (asFailure(error).code !== 409) throw error;
            // A 409 (the e-mail address is in use) may mean that an earlier sign-up succeeded but
            // its response was lost; in this case, signing in succeeds.
            await this.signIn(email, password).catch(() => {
                throw error;
            });
        }
    }

    /**
     * @param {string} email
     * @param {string} password
     */
    async signIn(email, password) {
        const device = await this.#session.device();
        await this.#accept("POST", "/v1/sessions", { email, password, device }, email);
    }

    /**
     * @param {{accessToken: () => Promise<string>}} session
     * @param {boolean} everywhere
     */
    async signOut(session, everywhere) {
        const path = everywhere ? "/v1/sessions" : "/v1/sessions/current";
        await this.#calls.send({ method: "DELETE", path }, session);
    }

    /**
     * @param {{accessToken: () => Promise<string>}} session
     * @param {string} password
     * @param {string} newPassword
     */
    changePassword(session, password, newPassword) {
        const body = { password, newPassword };
        const email = this.#session.email ?? "";
        return this.#accept("PUT", "/v1/account/password", body, email, session);
    }

    /**
     * @param {{accessToken: () => Promise<string>}} session
     * @param {string} password
     * @param {string} email
     */
    changeEmail(session, password, email) {
        const body = { password, email };
        return this.#accept("PUT", "/v1/account/email", body, email, session);
    }

    /**
     * @param {{accessToken: () => Promise<string>}} session
     * @param {string} password
     */
    async deleteAccount(session, password) {
        const call = { method: "POST", path: "/v1/account/delete", body: { password } };
        await this.#calls.send(call, session);
    }

    /** @param {string} user */
    async block(user) {
        await this.#calls.send({ method: "PUT", path: blockPath(user) }, this.#session);
    }

    /** @param {string} user */
    async unblock(user) {
        await this.#calls.send({ method: "DELETE", path: blockPath(user) }, this.#session);
    }

    /**
     * @returns {Promise<string[]>} the ids of the users blocked by the signed-in user, at most 500
     */
    async blocked() {
        const { body } = await this.#calls.send(
            { method: "GET", path: "/v1/blocks" },
            this.#session,
        );
        return /** @type {any} */ (body).blocks.map((/** @type {any} */ { other }) => other);
    }

    /**
     * @param {string} method
     * @param {string} path
     * @param {unknown} body
     * @param {string} email
     * @param {{accessToken: () => Promise<string>}} [session]
     */
    async #accept(method, path, body, email, session) {
        const answer = await this.#calls.send({ method, path, body }, session);
        await this.#session.accept(answer.body, email);
    }
}

/** @param {string} user */
function blockPath(user) {
    return `/v1/blocks/${encodeURIComponent(user)}`;
}
