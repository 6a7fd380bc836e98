import { failure, noAnswer, pause } from "./failures.js";
import { sleep } from "./sleep.js";

/** @import { NodeList } from "./nodes.js" */
/** @import { Clock, Transport } from "../types.js" */

/** @typedef {import("../types.js").Answer} Answer */
/** @typedef {import("../types.js").Call} Call */

/** Milliseconds to wait for an HTTP response before the request is sent to the next node. */
const ANSWER_MILLISECONDS = 8_000;
/** Milliseconds to wait for a file transfer: enough for 25 MiB over a slow link. */
const FILE_MILLISECONDS = 120_000;
/** The number of attempts per node of the cluster after which an HTTP request fails. */
const ROUNDS = 2;
/** Milliseconds between the first two attempts; each further pause is longer by as much. */
const PAUSE_MILLISECONDS = 150;

/**
 * The sender of HTTP requests to one node after another until a node answers. A request whose
 * response is lost can be repeated at another node, because all requests are idempotent.
 */
export class Calls {
    #nodes;
    #transport;
    #clock;
    /** Whether all HTTP requests fail without being sent, to simulate a missing network. */
    isCut = false;

    /** @param {NodeList} nodes @param {Transport} transport @param {Clock} clock */
    constructor(nodes, transport, clock) {
        this.#nodes = nodes;
        this.#transport = transport;
        this.#clock = clock;
    }

    /**
     * Sends a request until a node answers or all attempts have failed.
     *
     * @param {Call} call @param {{accessToken: (refused?: string) => Promise<string>}} [session]
     * @param {number} [triesMax] @returns {Promise<Answer>} a response with a status below 400
     * @throws {import("../types.js").Failure} the node's error, or `noAnswer` if no node answered
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

    /** @param {string} node @param {Call} call @returns {Promise<Answer | undefined>} */
    async #attempt(node, call) {
        if (this.isCut) return undefined;
        const isFile = call.blob !== undefined || call.wantsBlob;
        const patience = isFile ? FILE_MILLISECONDS : ANSWER_MILLISECONDS;
        try {
            return await this.#transport.fetch(node, call, patience);
        } catch {
            // Every network error is handled the same way: the caller tries another node.
            return undefined;
        }
    }
}
