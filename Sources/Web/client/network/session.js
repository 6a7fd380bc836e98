import { asFailure, noAnswer } from "./failures.js";

/** @import { Calls } from "./calls.js" */
/** @import { Clock, Store, Tabs } from "../types.js" */

/**
 * The sign-in of this device, as it is stored.
 *
 * `renewal` names the request that replaces the refresh token. It is stored before the request is
 * sent: whoever repeats the request, after a crash or a lost answer, gives the same name, since
 * a second use under another name ends the sign-in.
 *
 * @typedef {{user: string, email: string, accessToken: string, refreshToken: string,
 *   expiresAt: number, renewal?: string}} SignIn
 */

const KEY = "session";
/** Where the last access token stays after a sign-out: it shows that this device was signed in. */
const DEVICE_KEY = "device";
const LOCK = "grapevine-renewal";
/** Milliseconds before its end at which an access token is replaced: a request takes time. */
const EARLY_MILLISECONDS = 30_000;

/** The tokens of the signed-in user, shared by all tabs through the store. */
export class Session {
    /** @type {SignIn | undefined} */
    #signIn;
    #parts;
    /** @type {Promise<void> | undefined} */
    #renewing;

    /**
     * @param {{
     *   store: Store,
     *   tabs: Tabs,
     *   clock: Clock,
     *   calls: Calls,
     *   makeID: () => string,
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

    /** Reads the sign-in again, which another tab may have changed. */
    async restore() {
        this.#signIn = await this.#read();
    }

    /**
     * Stores the tokens of an answer.
     *
     * @param {unknown} body
     * @param {string} email
     */
    async accept(body, email) {
        const tokens = /** @type {{user: string, accessToken: string, refreshToken: string,
            expiresIn: number}} */
            (body);
        const expiresAt = this.#parts.clock.now() + tokens.expiresIn * 1000;
        const { user, accessToken, refreshToken } = tokens;
        // Stored before the access token is used: a used one cannot be renewed without it.
        await this.#write({ user, email, accessToken, refreshToken, expiresAt });
    }

    /**
     * Returns an access token, renewed if need be.
     *
     * @param {string} [refused] a token that a node has refused
     * @returns {Promise<string>}
     * @throws {import("../types.js").Failure} 401 if the sign-in is over
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

    /**
     * Returns the last access token of this device, which has mostly ended.
     *
     * @returns {Promise<string | undefined>}
     */
    async device() {
        const entry = (await this.#parts.store.read(DEVICE_KEY))
            .find(([key]) => key === DEVICE_KEY);
        return /** @type {string | undefined} */ (entry?.[1]);
    }

    /**
     * Has nodes end or replace the sign-in. No tab renews its tokens meanwhile: nodes that have
     * ended it refuse that, and the user would be told that it was ended elsewhere.
     *
     * @param {(session: {accessToken: (refused?: string) => Promise<string>}) => Promise<void>}
     *     action asks the nodes, and calls `end` or `accept`
     */
    async change(action) {
        await this.#parts.tabs.lock(LOCK, async () => {
            await this.restore();
            await action({ accessToken: (refused) => this.#accessTokenHere(refused) });
        });
    }

    /** Forgets the tokens. */
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
     * One tab renews at a time; the others find its tokens in the store.
     *
     * @param {string | undefined} refused
     */
    #renew(refused) {
        return this.#parts.tabs.lock(LOCK, async () => {
            await this.restore();
            if (!this.#isUsable(refused)) await this.#renewHere();
        });
    }

    /**
     * Returns an access token, renewed if need be, to who has the lock.
     *
     * @param {string} [refused]
     */
    async #accessTokenHere(refused) {
        if (!this.#isUsable(refused)) await this.#renewHere();
        if (!this.#signIn) throw { code: 401, message: "You are not signed in" };
        return this.#signIn.accessToken;
    }

    /** Renews the tokens, for who has the lock. */
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
