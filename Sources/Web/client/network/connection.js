import { noAnswer } from "./failures.js";

/** @import { NodeList } from "./nodes.js" */
/** @import { Clock, Transport } from "../types.js" */

/** @typedef {{status: number, body: any}} SocketAnswer */

/**
 * The start of an event stream: its token, the edit window in milliseconds, and the node's time.
 *
 * @typedef {{token: string, editWindow: number, now: string, node: string}} Watching
 */

/** Milliseconds between two checks for timed-out requests and for a silent node. */
const LOOK_MILLISECONDS = 500;
/** Seconds after which a node sends an event, if there was none. */
const HEARTBEAT_SECONDS = 5;
/** Milliseconds without a message from a node before the client connects to the next node. */
const SILENCE_MILLISECONDS = 8_000;
/** The initial request timeout in milliseconds; a node may delay a response 1 s for replication. */
const PATIENCE_MILLISECONDS = 3_000;
/** The longest request timeout in milliseconds; the timeout doubles when a request times out. */
const PATIENCE_MILLISECONDS_MAX = 48_000;
/** The initial connect timeout in milliseconds; it doubles each time that all nodes have failed. */
const DIAL_MILLISECONDS = 900;
const DIAL_MILLISECONDS_MAX = 15_000;
/** The longest pause between two connection attempts, in milliseconds. */
const PAUSE_MILLISECONDS_MAX = 5_000;
/** Milliseconds after which an open connection is stable: its failure counts as the first one. */
const GOOD_MILLISECONDS = 3_000;
/** The most requests in flight on a WebSocket; a node accepts at most 256. */
const REQUESTS_MAX = 200;
/** The WebSocket close code for an expired access token. */
const TOKEN_OVER = 4401;

/**
 * The client's WebSocket to one node, with failover to the next node. Browsers do not report that
 * the network below a WebSocket is lost, and hide ping frames from the page. So the client asks for
 * heartbeats, and drops the connection when the node is silent, or when a request times out.
 */
export class Connection {
    /** @type {import("../types.js").Connection} */
    status = "signedOut";
    #parts;
    /** @type {import("../types.js").Socket | undefined} */
    #socket;
    #node = "";
    #accessToken = "";
    /** The number of the current WebSocket; callbacks of earlier WebSockets are ignored. */
    #generation = 0;
    #isStarted = false;
    #number = 0;
    /** @type {Map<number, {sentAt: number, settle: (answer: SocketAnswer | undefined) => void}>} */
    #requests = new Map();
    #heardAt = 0;
    #onlineAt = 0;
    #failures = 0;
    #patience = PATIENCE_MILLISECONDS;
    /** @type {() => void} */
    #cancelTimer = () => {};

    /**
     * @param {{
     *   nodes: NodeList, transport: Transport, clock: Clock, random: () => number,
     *   accessToken: (refused?: string) => Promise<string>, verify: () => Promise<unknown>,
     *   since: () => string | undefined, onStatus: () => void, onEvent: (event: any) => void,
     *   onWatching: (watching: Watching, isResumed: boolean) => void,
     * }} parts `verify` sends an HTTP request, which renews an access token that nodes reject
     */
    constructor(parts) {
        this.#parts = parts;
    }

    get isOnline() {
        return this.status === "online";
    }

    start() {
        if (this.#isStarted) return this.retry();
        this.#isStarted = true;
        this.#setStatus("connecting");
        this.#dial();
    }

    /** @param {import("../types.js").Connection} status the connection status after the stop */
    stop(status) {
        this.#isStarted = false;
        this.#drop();
        this.#setStatus(status);
    }

    /** Connects to a node at once if no WebSocket is open, for example when the network returns. */
    retry() {
        if (!this.#isStarted || this.#socket) return;
        this.#failures = 0;
        this.#dial();
    }

    /** Closes the WebSocket to the current node and connects to the next node. */
    giveUp() {
        if (this.#socket) this.#fail();
    }

    /**
     * @param {string} method @param {string} path @param {unknown} [body]
     * @param {string} [operation] the identity and the time of a write
     * @returns {Promise<SocketAnswer>}
     * @throws {import("../types.js").Failure} if the client is offline, if too many requests are in
     *     flight, or if the connection ends before the response
     */
    async request(method, path, body, operation) {
        if (!this.isOnline || this.#requests.size >= REQUESTS_MAX) throw noAnswer;
        const answer = await this.#send(method, path, body, operation);
        if (!answer) throw noAnswer;
        return answer;
    }

    /**
     * Sends a request without waiting for its response. The request is dropped while the client is
     * offline or too many requests are in flight.
     *
     * @param {string} method @param {string} path @param {unknown} [body]
     */
    post(method, path, body) {
        if (this.isOnline && this.#requests.size < REQUESTS_MAX) this.#send(method, path, body);
    }

    async #dial() {
        this.#drop();
        const generation = this.#generation;
        /** @type {string} */
        let accessToken;
        try {
            accessToken = await this.#parts.accessToken();
        } catch {
            if (generation === this.#generation) this.#fail();
            return;
        }
        if (generation !== this.#generation) return;
        this.#node = this.#parts.nodes.current;
        this.#accessToken = accessToken;
        const round = Math.floor(this.#failures / this.#parts.nodes.count);
        const patience = Math.min(DIAL_MILLISECONDS * 2 ** round, DIAL_MILLISECONDS_MAX);
        this.#setTimer(patience, () => this.#fail());
        const check = (/** @type {() => void} */ action) => {
            if (generation === this.#generation) action();
        };
        this.#socket = this.#parts.transport.open(this.#node, accessToken, undefined, {
            onOpen: () => check(() => this.#watch(this.#parts.since())),
            onText: (text) => check(() => this.#onText(text)),
            onClose: (code) => check(() => this.#onClose(code)),
        });
    }

    /** @param {string | undefined} since @returns {Promise<void>} */
    async #watch(since) {
        this.#heardAt = this.#parts.clock.elapsed();
        this.#look();
        const generation = this.#generation;
        const query = since === undefined ? "" : `&since=${encodeURIComponent(since)}`;
        const path = exactly(`/v1/events?heartbeat=${HEARTBEAT_SECONDS}${query}`);
        const answer = await this.#send("GET", path);
        if (generation !== this.#generation || !answer) return;
        // The node rejected the token of the last event, so the client subscribes without it.
        if (answer.status === 400 && since !== undefined) return this.#watch(undefined);
        if (answer.status !== 200) return this.#fail();
        this.#onlineAt = this.#parts.clock.elapsed();
        this.#parts.onWatching({ ...answer.body, node: this.#node }, since !== undefined);
        this.#setStatus("online");
    }

    /** @param {string} text */
    #onText(text) {
        this.#heardAt = this.#parts.clock.elapsed();
        /** @type {any} */
        let message;
        try {
            message = JSON.parse(text);
        } catch {
            return this.#fail();
        }
        if (message.event) return this.#parts.onEvent(message.event);
        const request = this.#requests.get(message.id);
        if (!request) return;
        this.#requests.delete(message.id);
        if (this.#heardAt - request.sentAt < PATIENCE_MILLISECONDS / 2) {
            this.#patience = PATIENCE_MILLISECONDS;
        }
        request.settle({ ...message, retryAfterSeconds: message.retryAfter });
    }

    /** @param {number} code */
    async #onClose(code) {
        if (code !== TOKEN_OVER) return this.#fail();
        this.#drop();
        this.#setStatus("connecting");
        const generation = this.#generation;
        await this.#parts.accessToken(this.#accessToken).catch(() => {});
        if (generation === this.#generation && this.#isStarted) this.#dial();
    }

    /** Closes the WebSocket if a request on it has timed out, or if the node has been silent. */
    #look() {
        const now = this.#parts.clock.elapsed();
        for (const { sentAt } of this.#requests.values()) {
            if (now >= sentAt + this.#patience) {
                this.#patience = Math.min(this.#patience * 2, PATIENCE_MILLISECONDS_MAX);
                return this.#fail();
            }
        }
        if (now >= this.#heardAt + SILENCE_MILLISECONDS) return this.#fail();
        this.#setTimer(LOOK_MILLISECONDS, () => this.#look());
    }

    /**
     * @param {string} method @param {string} path @param {unknown} [body]
     * @param {string} [operation]
     * @returns {Promise<SocketAnswer | undefined>} undefined if the connection ends first
     */
    #send(method, path, body, operation) {
        const id = this.#number += 1;
        return new Promise((settle) => {
            this.#requests.set(id, { sentAt: this.#parts.clock.elapsed(), settle });
            this.#socket?.send(JSON.stringify({ id, method, path, operation, body }));
        });
    }

    /** Connects to the next node: at once after one failure, then with exponential backoff. */
    #fail() {
        const now = this.#parts.clock.elapsed();
        const wasGood = this.isOnline && now >= this.#onlineAt + GOOD_MILLISECONDS;
        if (wasGood) this.#failures = 0;
        this.#drop();
        this.#parts.nodes.leave(this.#node);
        this.#failures += 1;
        const isRoundOver = this.#failures % this.#parts.nodes.count === 0;
        const isOffline = this.#failures >= this.#parts.nodes.count;
        this.#setStatus(isOffline ? "offline" : "connecting");
        const spread = 0.5 + this.#parts.random() / 2;
        const pause = this.#failures === 1
            ? 0
            : Math.min(100 * 2 ** Math.min(this.#failures - 2, 10), PAUSE_MILLISECONDS_MAX) *
                spread;
        // Browsers hide why a node rejected a WebSocket, so an HTTP request tests the access token.
        if (isRoundOver) this.#parts.verify().catch(() => {});
        this.#setTimer(pause, () => this.#dial());
    }

    #drop() {
        this.#generation += 1;
        this.#cancelTimer();
        this.#socket?.close();
        this.#socket = undefined;
        const requests = [...this.#requests.values()];
        this.#requests.clear();
        for (const request of requests) request.settle(undefined);
    }

    /** @param {number} milliseconds @param {() => void} action */
    #setTimer(milliseconds, action) {
        this.#cancelTimer();
        this.#cancelTimer = this.#parts.clock.setTimer(milliseconds, action);
    }

    /** @param {import("../types.js").Connection} status */
    #setStatus(status) {
        if (status === this.status) return;
        this.status = status;
        this.#parts.onStatus();
    }
}

/** Returns the path of a request whose answer has exact times. @param {string} path */
export function exactly(path) {
    return `${path}${path.includes("?") ? "&" : "?"}times=exact`;
}
