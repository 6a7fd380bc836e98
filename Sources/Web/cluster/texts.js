/** All user-visible texts of the cluster page, in one file for translation. */

/** @param {number} count @param {string} one @param {string} many */
const plural = (count, one, many) => `${count.toLocaleString()} ${count === 1 ? one : many}`;

export const texts = {
    picture: "Network",
    nodes: "Nodes",
    shards: "Shards",
    rates: "Messages a second",
    timeline: "Timeline",
    aboutShards: "A column is a shard, a row a node. Equal colours are equal digests; where " +
        "digests differ, each has a letter. A dot marks the first owner.",

    legend: {
        connected: "connected",
        cut: "cut",
        closed: "no connection",
        behind: "may lack changes",
    },
    columns: {
        name: "Node",
        status: "State",
        sends: "Sends/s",
        messages: "Messages",
        behind: "May lack",
        rtt: "Round trip",
        memory: "Memory",
        orders: "Actions",
    },
    status: {
        answers: "serves",
        unready: "not ready",
        silent: "silent",
        stopped: "stopped",
        unknown: "no address",
    },
    orders: {
        kill: "Kill",
        pause: "Pause",
        resume: "Resume",
        start: "Start",
        wipe: "Wipe",
        send: "Send 500",
        cut: "Cut off the selected nodes",
        heal: "Heal all",
        /** @param {string} order @param {string} node */
        label: (order, node) => `${order} ${node}`,
        /** @param {string} node */
        select: (node) => `Select ${node}`,
        running: "…",
        selectSome: "Select the nodes to cut off from the others: some, and not all.",
        failed: "cluster/play does not answer; cluster/up --play starts it.",
    },
    none: "–",
    /** @param {number} count */
    changes: (count) => plural(count, "change", "changes"),
    /** @param {number} milliseconds */
    milliseconds: (milliseconds) => milliseconds < 1 ? "< 1 ms" : `${milliseconds} ms`,
    /** @param {number} bytes */
    megabytes: (bytes) => `${(bytes / 1_048_576).toFixed(0)} MB`,
    /** @param {number} rate */
    most: (rate) => `up to ${texts.rate(rate)}`,
    /** @param {number} rate */
    rate: (rate) => Math.round(rate).toLocaleString(),

    proof: {
        waiting: "Waiting for the first answers…",
        /** @param {number} nodes @param {number} shards */
        agreed: (nodes, shards) =>
            [plural(nodes, "node agrees", "nodes agree"), plural(shards, "shard", "shards")]
                .join(" on "),
        /** @param {number} shards */
        differ: (shards) => `${plural(shards, "shard differs", "shards differ")}`,
        /** @param {string[]} nodes */
        notConverged: (nodes) => `not in sync yet: ${nodes.join(", ")}`,
        nobody: "No node answers",
    },
    events: {
        /** @param {string} node */
        answers: (node) => `${node} serves`,
        /** @param {string} node */
        started: (node) => `${node} has started`,
        /** @param {string} node */
        silent: (node) => `${node} is silent`,
        /** @param {string} node */
        stopped: (node) => `${node} has stopped`,
        /** @param {string} node @param {string[]} dead */
        dead: (node, dead) => `${node} considers ${dead.join(", ")} dead`,
        /** @param {string} node */
        whole: (node) => `${node} sees all members alive`,
        /** @param {string} a @param {string} b */
        cut: (a, b) => `The connection between ${a} and ${b} is cut`,
        /** @param {string} a @param {string} b */
        closed: (a, b) => `${a} and ${b} have no connection`,
        /** @param {string} a @param {string} b */
        connected: (a, b) => `${a} and ${b} are connected`,
        /** @param {number} shards */
        differ: (shards) => `${plural(shards, "shard differs", "shards differ")}`,
        /** @param {number} nodes @param {number} shards @param {number} seconds */
        agreed: (nodes, shards, seconds) =>
            `${plural(nodes, "node agrees", "nodes agree")} on ` +
            `${plural(shards, "shard", "shards")}` +
            (seconds > 0 ? `, after ${seconds.toFixed(1)} s` : ""),
    },
    /** @param {import("./types.js").NodeView} node */
    nodeLabel: (node) =>
        `${node.name}, ${texts.status[node.status]}, ` +
        `${texts.rate(node.sendsPerSecond)} sends a second, may lack ${texts.changes(node.behind)}`,
    /** @type {Record<string, string>} */
    cells: {
        none: "not stored here",
        away: "digest not known",
        equal: "equal digests",
        different: "digests differ",
        syncing: "catching up",
        leaving: "leaving this node",
        first: "first owner",
    },
    /** @param {string} node @param {number} shard @param {string} states */
    cell: (node, shard, states) => `shard ${shard} on ${node}: ${states}`,
};
