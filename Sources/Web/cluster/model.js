/**
 * @import { Answer, ClusterView, Link, MemberReport, NodeView, Report, ShardView } from "./types.js"
 */

/** The seconds over which the rate of sent messages is averaged. */
const RATE_SECONDS = 2;
/** The most samples kept of a node's counter of sent messages, enough for `RATE_SECONDS`. */
const COUNTS_MAX = 16;

/**
 * The model of the cluster: the result of the last request to each node for its report, and samples
 * of each node's count of sent messages.
 */
export class ClusterModel {
    /** @type {Map<string, Answer>} */
    #answers = new Map();
    /** Node names by address, kept for nodes that stop answering. @type {Map<string, string>} */
    #names = new Map();
    /** @type {Map<string, {at: number, sends: number}[]>} */
    #counts = new Map();

    /** @param {Answer} answer */
    onAnswer(answer) {
        this.#answers.set(answer.address, answer);
        if (answer.status !== "answers") {
            this.#counts.delete(answer.address);
            return;
        }
        const { node, counters } = answer.report;
        this.#names.set(answer.address, node.name);
        const counts = this.#counts.get(answer.address) ?? [];
        // A smaller count of sends means that the node's process was restarted.
        if (counters.sends < (counts.at(-1)?.sends ?? 0)) counts.length = 0;
        counts.push({ at: answer.at, sends: counters.sends });
        if (counts.length > COUNTS_MAX) counts.shift();
        this.#counts.set(answer.address, counts);
    }

    /** @param {number} now @returns {ClusterView} */
    view(now) {
        const reports = this.#reports();
        const views = shards(reports);
        const nodes = this.#nodes(reports, views, now);
        return {
            at: now,
            nodes,
            links: links(nodes),
            shards: views,
            sendsPerSecond: nodes.reduce((sum, node) => sum + node.sendsPerSecond, 0),
            notConverged: reports.filter((report) => !report.node.isConverged)
                .map((report) => report.node.name),
        };
    }

    #reports() {
        return [...this.#answers.values()].flatMap((answer) =>
            answer.status === "answers" ? [answer.report] : []
        );
    }

    /** @param {Report[]} reports @param {ShardView[]} shards @param {number} now @returns {NodeView[]} */
    #nodes(reports, shards, now) {
        /** @type {Map<string, NodeView>} */
        const nodes = new Map();
        for (const answer of this.#answers.values()) {
            const name = this.#names.get(answer.address) ?? new URL(answer.address).host;
            const report = answer.status === "answers" ? answer.report : undefined;
            nodes.set(name, {
                name,
                address: answer.address,
                status: answer.status,
                report,
                sendsPerSecond: rate(this.#counts.get(answer.address) ?? [], now),
                behind: behind(name, reports, shards),
                dead: dead(report?.members ?? []),
            });
        }
        for (const name of members(reports)) {
            if (nodes.has(name)) continue;
            nodes.set(name, {
                name,
                status: "stopped",
                sendsPerSecond: 0,
                behind: behind(name, reports, shards),
                dead: [],
            });
        }
        return [...nodes.values()].sort((a, b) => a.name.localeCompare(b.name, "en"));
    }
}

/** @param {{at: number, sends: number}[]} counts @param {number} now */
function rate(counts, now) {
    const last = counts.at(-1);
    const first = counts.find((count) => count.at >= now - RATE_SECONDS * 1000);
    if (!first || !last || last.at <= first.at) return 0;
    return (last.sends - first.sends) * 1000 / (last.at - first.at);
}

/**
 * Returns an estimate of the number of changes that node `name` lacks.
 *
 * Each other node reports how many changes on its own disk node `name` has not confirmed as stored.
 * The estimate is the greatest of these numbers, or 0 if all nodes that report digests of the
 * shards of node `name` report equal digests.
 *
 * @param {string} name
 * @param {Report[]} reports
 * @param {ShardView[]} shards
 */
function behind(name, reports, shards) {
    const held = shards.filter((shard) => shard.variants.has(name));
    if (held.length > 0 && held.every((shard) => shard.isEqual)) return 0;
    const counts = reports.flatMap((report) =>
        report.members.filter((member) => member.name === name).map((member) => member.behind)
    );
    return Math.max(0, ...counts);
}

/** @param {MemberReport[]} members */
function dead(members) {
    return members.filter((member) => member.state === "dead").map((member) => member.name);
}

/** @param {Report[]} reports */
function members(reports) {
    const names = reports.flatMap((report) =>
        report.members.filter((member) => member.state !== "left").map((member) => member.name)
    );
    return new Set(names);
}

/**
 * Returns the state of the connection between each pair of nodes, from the reports of both.
 *
 * @param {NodeView[]} nodes
 * @returns {Link[]}
 */
export function links(nodes) {
    return nodes.flatMap((from, index) =>
        nodes.slice(index + 1).map((to) => {
            const views = [seen(to, from), seen(from, to)];
            const said = views.filter((view) => view !== undefined);
            const isOpen = said.length === 2 && said.every((view) => view.isConnected);
            const isCut = said.some((view) => view.isCut);
            const state = isCut ? "cut" : isOpen ? "connected" : "closed";
            const rtt = said.map((view) => view.rttMilliseconds).find((value) =>
                value !== undefined
            );
            return { from: from.name, to: to.name, state, rttMilliseconds: rtt };
        })
    );
}

/** Returns the report of node `by` on node `other`. @param {NodeView} other @param {NodeView} by */
function seen(other, by) {
    return by.report?.members.find((member) => member.name === other.name);
}

/**
 * Returns the shards, with the digests that the answering nodes report.
 *
 * @param {Report[]} reports
 * @returns {ShardView[]}
 */
export function shards(reports) {
    /** @type {Map<number, {owners: string[], digests: Map<string, string>, states: Map<string, string>}>} */
    const found = new Map();
    for (const report of reports) {
        for (const shard of report.shards) {
            const { id, owners } = shard;
            const entry = found.get(id) ?? { owners, digests: new Map(), states: new Map() };
            found.set(id, entry);
            if (shard.digest === undefined || shard.state === undefined) continue;
            entry.digests.set(report.node.name, shard.digest);
            entry.states.set(report.node.name, shard.state);
        }
    }
    return [...found].sort(([a], [b]) => a - b).map(([id, { owners, digests, states }]) => {
        const distinct = [...new Set(digests.values())].sort();
        const variants = new Map(
            [...digests].map(([node, digest]) => [node, distinct.indexOf(digest)]),
        );
        return { id, owners, variants, states, isEqual: distinct.length <= 1 };
    });
}

/**
 * Returns the evidence of whether the cluster has converged, by the criterion of
 * `cluster/converged`: all running nodes have equal digests of every shard, and report that they
 * are in sync. `isProven` is true if the cluster has converged.
 *
 * @param {ClusterView} view
 */
export function proof(view) {
    const answering = view.nodes.filter((node) => node.status === "answers").length;
    const silent = view.nodes.filter((node) => node.status === "silent").map((node) => node.name);
    const different = view.shards.filter((shard) => !shard.isEqual).length;
    const held = view.shards.filter((shard) => shard.variants.size > 0).length;
    const notConverged = [...view.notConverged, ...silent].sort();
    return {
        answering,
        shards: held,
        different,
        notConverged,
        isProven: answering > 0 && held > 0 && different === 0 && notConverged.length === 0,
    };
}
