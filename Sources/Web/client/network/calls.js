import { failure, noAnswer, pause } from "./failures.js";
import { sleep } from "./sleep.js";

/** @import { NodeList } from "./nodes.js" */
/** @import { Clock, Transport } from "../types.js" */

/** @typedef {import("../types.js").Answer} Answer */
/** @typedef {import("../types.js").Call} Call */

/** The most milliseconds until a request over HTTP is answered; then another node gets it. */
const ANSWER_MILLISECONDS = 8_000;
/** The most milliseconds of a transfer of a file: 25 MiB over a slow line. */
const FILE_MILLISECONDS = 120_000;
/** How often each node is tried before a request has failed. */
const ROUNDS = 2;
/** The milliseconds before a node is tried again. */
const PAUSE_MILLISECONDS = 150;

/**
 * Requests over HTTP, each repeated at the next node until one answers. All requests of the client
 * may be repeated: they carry ids, or change nothing.
 */
export class Calls {
    #nodes;
    #transport;
    #clock;
    /** The milliseconds by which the nodes' clocks are ahead of this device's. */
    #ahead = 0;
    /** No request leaves while this holds. */
    isCut = false;

    /**
     * @param {NodeList} nodes
     * @param {Transport} transport
     * @param {Clock} clock
     */
    constructor(nodes, transport, clock) {
        this.#nodes = nodes;
        this.#transport = transport;
        this.#clock = clock;
    }

    /** The time of the nodes, by the latest answer; without one, that of this device. */
    get now() {
        return this.#clock.now() + this.#ahead;
    }

    /**
     * Sends a request until a node answers it.
     *
     * @param {Call} call
     * @param {{accessToken: (refused?: string) => Promise<string>}} [session] signs the request in
     * @param {number} [triesMax]
     * @returns {Promise<Answer>} an answer of 200 or 304
     * @throws {import("../types.js").Failure} a refusal, or no answer of any node
     */
    async send(call, session, triesMax = this.#nodes.count * ROUNDS) {
        /** @type {string | undefined} */
        let refused;
        let last = /** @type {import("../types.js").Failure} */ (noAnswer);
        for (let tries = 0; tries < triesMax; tries += 1) {
            if (tries > 0) await sleep(this.#clock, PAUSE_MILLISECONDS * tries);
            const accessToken = session && await session.accessToken(refused);
            const node = this.#nodes.current;
            const answer = await this.#attempt(node, { ...call, accessToken });
            if (!answer) {
                this.#nodes.leave(node);
                continue;
            }
            if (answer.status < 400) return answer;
            last = failure(answer.status, answer.body);
            if (answer.status === 401 && accessToken && !refused) {
                refused = accessToken;
            } else if (answer.status === 429 || answer.status === 503) {
                await sleep(this.#clock, pause(answer.retryAfterSeconds));
                if (answer.status === 503) this.#nodes.leave(node);
            } else if (answer.status >= 500) {
                this.#nodes.leave(node);
            } else {
                throw last;
            }
        }
        throw last;
    }

    /**
     * @param {string} node
     * @param {Call} call
     * @returns {Promise<Answer | undefined>} undefined for no answer
     */
    async #attempt(node, call) {
        if (this.isCut) return undefined;
        const isFile = call.blob !== undefined || call.wantsBlob;
        const patience = isFile ? FILE_MILLISECONDS : ANSWER_MILLISECONDS;
        try {
            const answer = await this.#transport.fetch(node, call, patience);
            // An answer out of a cache has a time that is over.
            if (!isFile && answer.at) this.#ahead = answer.at - this.#clock.now();
            return answer;
        } catch {
            // Whatever the network says, the consequence is the same: another node is tried.
            return undefined;
        }
    }
}
