/** @import { Answer, Report } from "./types.js" */

/** The timeout of a request to a node, in milliseconds, after which the node counts as silent. */
const ANSWER_MILLISECONDS_MAX = 1500;
/** The pause between two requests to a node, in milliseconds. */
const PAUSE_MILLISECONDS = 400;

/**
 * Returns the addresses of the nodes, including the one that serves this page.
 *
 * @param {string} own the origin of the page
 * @returns {Promise<string[]>}
 */
export async function loadAddresses(own) {
    const response = await fetch(`${own}/nodes.json`);
    /** @type {{nodes: string[]}} */
    const { nodes } = await response.json();
    return nodes.includes(own) ? nodes : [own, ...nodes];
}

/**
 * Requests a node's report on itself and the cluster.
 *
 * @param {string} address
 * @returns {Promise<Answer>}
 */
export async function ask(address) {
    const signal = AbortSignal.timeout(ANSWER_MILLISECONDS_MAX);
    try {
        const response = await fetch(`${address}/cluster.json`, { signal, cache: "no-store" });
        /** @type {Report} */
        const report = await response.json();
        return { address, status: "answers", report, at: performance.now() };
    } catch {
        const status = signal.aborted ? "silent" : "stopped";
        return { address, status, at: performance.now() };
    }
}

/**
 * Polls all nodes, each in a loop of its own, so that a silent node does not delay the others.
 *
 * @param {string[]} addresses
 * @param {(answer: Answer) => void} onAnswer
 */
export function poll(addresses, onAnswer) {
    for (const address of addresses) void askForEver(address, onAnswer);
}

/** @param {string} address @param {(answer: Answer) => void} onAnswer */
async function askForEver(address, onAnswer) {
    for (;;) {
        onAnswer(await ask(address));
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
    }
}
