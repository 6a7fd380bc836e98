import { asFailure, noAnswer } from "./failures.js";

/** @import { Calls } from "./calls.js" */
/** @import { Clock, Store, Tabs } from "../types.js" */

/**
 * The user's sign-in as this device stores it. `renewal` is the idempotency id of the request that
 * replaces the refresh token. The id is stored before the request is sent, so that a retry after a
 * crash or a lost response sends the same id: nodes end the sign-in if a refresh token is used
 * again with a different id.
 *
 * @typedef {{user: string, email: string, accessToken: string, refreshToken: string,
 *   expiresAt: number, renewal?: string}} SignIn
 */

const KEY = "session";
/**
 * The key of the last access token that this device received. The next sign-in sends the token,
 * even if it has expired, so that nodes recognize the device.
 */
const DEVICE_KEY = "device";
const LOCK = "grapevine-renewal";
/** Milliseconds before its expiry at which an access token is renewed, since requests take time. */
const EARLY_MILLISECONDS = 30_000;

/** The signed-in user's tokens, shared by all browser tabs through the key-value store. */
export class Session {
    /** @type {SignIn | undefined} */
    #signIn;
    #parts;
    /** @type {Promise<void> | undefined} */
    #renewing;

    /**
     * @param {{
     *   store: Store, tabs: Tabs, clock: Clock, calls: Calls, makeID: () => string,
     *   onEnd: (reason: import("../types.js").Failure) => void,
     * }} parts
     */
    constructor(parts) {
        this.#parts = parts;
    }

    get user() {
        return this.#signIn?.user;
    }

    get email() {
        return this.#signIn?.email;
    }

    /** Rereads the user's tokens from the local store, since another tab may have changed them. */
    async restore() {
        this.#signIn = await this.#read();
    }

    /** Stores the tokens of a sign-in or a renewal. @param {unknown} body @param {string} email */
    async accept(body, email) {
        const tokens = /** @type {{user: string, accessToken: string, refreshToken: string,
            expiresIn: number}} */
            (body);
        const expiresAt = this.#parts.clock.now() + tokens.expiresIn * 1000;
        const { user, accessToken, refreshToken } = tokens;
        // The refresh token is stored before the access token is used. If it were lost, the expired
        // access token could not be renewed.
        await this.#write({ user, email, accessToken, refreshToken, expiresAt });
    }

    /**
     * Returns an access token, renewed first if it is about to expire or a node has rejected it.
     *
     * @param {string} [refused] an access token that a node has rejected
     * @returns {Promise<string>}
     * @throws {import("../types.js").Failure} 401 if the sign-in has ended
     */
    async accessToken(refused) {
        if (!this.#isUsable(refused)) {
            this.#renewing ??= this.#renew(refused).finally(() => this.#renewing = undefined);
            await this.#renewing;
        }
        const signIn = this.#signIn;
        if (!signIn) throw { code: 401, message: "You are not signed in" };
        return signIn.accessToken;
    }

    /** Returns the last access token, usually expired. @returns {Promise<string | undefined>} */
    async device() {
        const entry = (await this.#parts.store.read(DEVICE_KEY))
            .find(([key]) => key === DEVICE_KEY);
        return /** @type {string | undefined} */ (entry?.[1]);
    }

    /**
     * Runs a request that ends or replaces the sign-in, while holding the lock for renewing tokens.
     * Without the lock, another tab could send a renewal meanwhile. Nodes would reject it, and the
     * page would report that the sign-in was ended elsewhere.
     *
     * @param {(session: {accessToken: (refused?: string) => Promise<string>}) => Promise<void>}
     *     action sends the request, and calls `end` or `accept`
     */
    async change(action) {
        await this.#parts.tabs.lock(LOCK, async () => {
            await this.restore();
            await action({ accessToken: (refused) => this.#accessTokenHere(refused) });
        });
    }

    /** Removes the user's tokens from memory and from the local store. */
    async end() {
        this.#signIn = undefined;
        await this.#parts.store.write([{ key: KEY, value: undefined }]);
    }

    /** @param {string | undefined} refused */
    #isUsable(refused) {
        const signIn = this.#signIn;
        return signIn === undefined || signIn.accessToken !== refused &&
                this.#parts.clock.now() < signIn.expiresAt - EARLY_MILLISECONDS;
    }

    /**
     * Renews the user's tokens in one tab at a time; other tabs read the new tokens from the store.
     *
     * @param {string | undefined} refused
     */
    #renew(refused) {
        return this.#parts.tabs.lock(LOCK, async () => {
            await this.restore();
            if (!this.#isUsable(refused)) await this.#renewHere();
        });
    }

    /** Returns an access token; the caller holds `LOCK`. @param {string} [refused] */
    async #accessTokenHere(refused) {
        if (!this.#isUsable(refused)) await this.#renewHere();
        if (!this.#signIn) throw { code: 401, message: "You are not signed in" };
        return this.#signIn.accessToken;
    }

    /** Renews the user's tokens; the caller holds `LOCK`. */
    async #renewHere() {
        const signIn = /** @type {SignIn} */ (this.#signIn);
        const id = signIn.renewal ?? this.#parts.makeID();
        await this.#write({ ...signIn, renewal: id });
        try {
            const answer = await this.#parts.calls.send({
                method: "POST",
                path: "/v1/sessions/refresh",
                body: { refreshToken: signIn.refreshToken, id },
            });
            await this.accept(answer.body, signIn.email);
        } catch (error) {
            const failed = asFailure(error);
            if (failed.code !== 401 && failed.code !== 403) throw noAnswer;
            await this.end();
            this.#parts.onEnd(failed);
        }
    }

    /** @returns {Promise<SignIn | undefined>} */
    async #read() {
        const entry = (await this.#parts.store.read(KEY)).find(([key]) => key === KEY);
        return /** @type {SignIn | undefined} */ (entry?.[1]);
    }

    /** @param {SignIn} signIn */
    async #write(signIn) {
        await this.#parts.store.write([
            { key: KEY, value: signIn },
            { key: DEVICE_KEY, value: signIn.accessToken },
        ]);
        this.#signIn = signIn;
    }
}
