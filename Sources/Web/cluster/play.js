import { texts } from "./texts.js";

/**
 * The time limit of a command, in milliseconds. The limit exceeds the 30 s for which the command
 * `start` waits until the node serves requests.
 */
const ORDER_MILLISECONDS_MAX = 45_000;

/**
 * @typedef {"kill"|"start"|"pause"|"resume"|"wipe"|"send"|"partition"|"heal"} Order
 */

/** The client of `cluster/play`, which executes commands on the nodes of this machine. */
export class Play {
    #address;

    /**
     * @param {string} address the URL of `cluster/play`. The URL contains a secret token, which
     *     appears in no HTTP header and no log
     */
    constructor(address) {
        this.#address = address;
    }

    /**
     * Returns the client for the URL of `cluster/play` in the page's fragment, such as
     * `#play=http://127.0.0.1:7500/…`; undefined if the fragment has no such URL.
     *
     * @param {string} fragment
     * @returns {Play | undefined}
     */
    static of(fragment) {
        const address = new URLSearchParams(fragment.replace(/^#/, "")).get("play");
        const isLocal = /^http:\/\/127\.0\.0\.1:\d{4,5}\/[\w-]+$/.test(address ?? "");
        return address && isLocal ? new Play(address) : undefined;
    }

    /**
     * Sends a command, and returns the text that describes its result.
     *
     * @param {Order} order
     * @param {string[]} words
     * @returns {Promise<string>}
     */
    async give(order, ...words) {
        try {
            const response = await fetch([this.#address, order, ...words].join("/"), {
                method: "POST",
                signal: AbortSignal.timeout(ORDER_MILLISECONDS_MAX),
            });
            /** @type {{said: string}} */
            const { said } = await response.json();
            return said;
        } catch {
            return texts.orders.failed;
        }
    }
}
