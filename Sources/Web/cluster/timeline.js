/** @import { ClusterView, NodeView } from "./types.js" */
import { proof } from "./model.js";
import { texts } from "./texts.js";

/** The most cluster events that the page shows; older events are removed. */
export const EVENTS_MAX = 200;

/**
 * The list of the cluster's events, derived from the differences between successive states of the
 * cluster as the page sees them.
 */
export class Timeline {
    /** @type {ClusterView | undefined} */
    #before;
    /**
     * The time when the cluster last ceased to be converged; undefined if that has not happened
     * since the page was opened.
     * @type {number | undefined}
     */
    #since;
    #different = 0;
    #isProven = false;

    /**
     * Returns the events that explain how this view of the cluster differs from the previous view.
     *
     * @param {ClusterView} view
     * @returns {string[]}
     */
    onView(view) {
        const before = this.#before;
        this.#before = view;
        const events = before
            ? [...changesOfNodes(before, view), ...changesOfLinks(before, view)]
            : [];
        return [...events, ...this.#changesOfProof(view)];
    }

    /** @param {ClusterView} view */
    #changesOfProof(view) {
        const { answering, shards, different, isProven } = proof(view);
        const events = [];
        if (!isProven && this.#isProven) this.#since = view.at;
        if (different > 0 && this.#different === 0) events.push(texts.events.differ(different));
        if (isProven && !this.#isProven) {
            const seconds = this.#since === undefined ? 0 : (view.at - this.#since) / 1000;
            events.push(texts.events.agreed(answering, shards, seconds));
        }
        this.#different = different;
        this.#isProven = isProven;
        return events;
    }
}

/** @param {ClusterView} before @param {ClusterView} view */
function changesOfNodes(before, view) {
    return view.nodes.flatMap((node) => {
        const past = before.nodes.find((other) => other.name === node.name);
        return [...changesOfStatus(past, node), ...changesOfMembers(past, node)];
    });
}

/** @param {NodeView | undefined} past @param {NodeView} node */
function changesOfStatus(past, node) {
    if (past && past.status !== node.status) return [texts.events[node.status](node.name)];
    const [uptime, pastUptime] = [node, past].map((each) => each?.report?.node.uptimeMilliseconds);
    const isNew = uptime !== undefined && pastUptime !== undefined && uptime < pastUptime;
    return isNew ? [texts.events.started(node.name)] : [];
}

/** @param {NodeView | undefined} past @param {NodeView} node */
function changesOfMembers(past, node) {
    if (!past?.report || !node.report) return [];
    if (past.dead.join() === node.dead.join()) return [];
    if (node.dead.length === 0) return [texts.events.whole(node.name)];
    return [texts.events.dead(node.name, node.dead)];
}

/** @param {ClusterView} before @param {ClusterView} view */
function changesOfLinks(before, view) {
    return view.links.flatMap(({ from, to, state }) => {
        const past = before.links.find((link) => link.from === from && link.to === to);
        if (!past || past.state === state) return [];
        // Lost connections of a stopped node are not reported.
        const ends = view.nodes.filter((node) => node.name === from || node.name === to);
        if (ends.some((node) => node.status === "stopped")) return [];
        return [texts.events[state](from, to)];
    });
}
