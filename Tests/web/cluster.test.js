/** @import { Answer, Report } from "../../Sources/Web/cluster/types.js" */
import { ClusterModel, proof } from "../../Sources/Web/cluster/model.js";
import { Play } from "../../Sources/Web/cluster/play.js";
import { Timeline } from "../../Sources/Web/cluster/timeline.js";

/** @param {unknown} actual @param {unknown} wanted */
function same(actual, wanted) {
    const [left, right] = [JSON.stringify(actual), JSON.stringify(wanted)];
    if (left !== right) throw new Error(`${left} is not ${right}`);
}

const NAMES = ["n1", "n2", "n3"];

/**
 * A report of a node in a cluster of three, as of a cluster that is whole.
 *
 * @param {string} name
 * @param {{digest?: string, sends?: number, cut?: string[], dead?: string[], behind?: Record<string, number>,
 *   isConverged?: boolean, uptime?: number}} [changes]
 * @returns {Report}
 */
function report(name, changes = {}) {
    const { digest = "d0", sends = 0, cut = [], dead = [], behind = {} } = changes;
    return {
        node: {
            name,
            version: "0",
            uptimeMilliseconds: changes.uptime ?? 5000,
            conversations: 0,
            messages: 0,
            memoryBytes: 0,
            isConverged: changes.isConverged ?? true,
            isSafe: true,
            isDiskFull: false,
            isDamaged: false,
            digest,
        },
        members: NAMES.map((other) => ({
            name: other,
            state: dead.includes(other) ? "dead" : "alive",
            isSelf: other === name,
            behind: behind[other] ?? 0,
            ...(other === name
                ? {}
                : { isConnected: !dead.includes(other), isCut: cut.includes(other) }),
        })),
        shards: [{ id: 0, owners: NAMES, state: "ready", documents: 1, digest }],
        counters: {
            sends,
            requests: 0,
            refused: 0,
            merges: 0,
            pullsBegun: 0,
            pullsDone: 0,
            forwards: 0,
        },
    };
}

/** @param {string} name */
const address = (name) => `http://127.0.0.1:740${name.slice(1)}`;

/** @param {ClusterModel} model @param {Report} report @param {number} [at] */
function answer(model, report, at = 0) {
    model.onAnswer({ address: address(report.node.name), status: "answers", report, at });
}

/** @param {ClusterModel} model @param {string} name @param {"silent"|"stopped"} status */
function fail(model, name, status) {
    model.onAnswer({ address: address(name), status, at: 0 });
}

function whole() {
    const model = new ClusterModel();
    for (const name of NAMES) answer(model, report(name));
    return model;
}

Deno.test("nodes with equal digests that say they are in sync are a proof", () => {
    const model = whole();
    const { isProven, answering, shards } = proof(model.view(0));
    same([isProven, answering, shards], [true, 3, 1]);
    answer(model, report("n2", { isConverged: false }));
    same(proof(model.view(0)).notConverged, ["n2"]);
    answer(model, report("n2", { digest: "d1" }));
    same(proof(model.view(0)).different, 1);
    same(proof(model.view(0)).isProven, false);
});

Deno.test("a silent node prevents the proof, as it runs; a stopped one does not", () => {
    const model = whole();
    fail(model, "n3", "silent");
    same(proof(model.view(0)).isProven, false);
    fail(model, "n3", "stopped");
    same(proof(model.view(0)).isProven, true);
    for (const name of NAMES) fail(model, name, "stopped");
    same(proof(model.view(0)).isProven, false);
});

Deno.test("different digests have different numbers, and equal ones the same", () => {
    const model = whole();
    answer(model, report("n3", { digest: "other" }));
    const [shard] = model.view(0).shards;
    same([...shard.variants], [["n1", 0], ["n2", 0], ["n3", 1]]);
});

Deno.test("a connection is what both of its ends say", () => {
    const model = whole();
    same(model.view(0).links.map((link) => link.state), ["connected", "connected", "connected"]);
    answer(model, report("n1", { cut: ["n2"] }));
    answer(model, report("n3", { dead: ["n1"] }));
    same(model.view(0).links.map((link) => link.state), ["cut", "closed", "connected"]);
});

Deno.test("a node may lack what others do not know to be there, unless its digests are equal", () => {
    const model = whole();
    answer(model, report("n1", { behind: { n3: 2 } }));
    answer(model, report("n2", { behind: { n3: 900 } }));
    same(model.view(0).nodes.map((node) => node.behind), [0, 0, 0]);
    answer(model, report("n3", { digest: "other" }));
    same(model.view(0).nodes.map((node) => node.behind), [0, 0, 900]);
    fail(model, "n3", "stopped");
    same(model.view(0).nodes.map((node) => node.behind), [0, 0, 900]);
});

Deno.test("sends are counted over two seconds, and from zero in another process", () => {
    const model = whole();
    for (const at of [0, 500, 1000, 1500]) answer(model, report("n1", { sends: at }), at);
    same(model.view(1500).sendsPerSecond, 1000);
    answer(model, report("n1", { sends: 5 }), 2000);
    same(model.view(2000).sendsPerSecond, 0);
});

Deno.test("a member that has no address is shown as well", () => {
    const model = new ClusterModel();
    answer(model, report("n1"));
    same(model.view(0).nodes.map((node) => [node.name, node.status]), [
        ["n1", "answers"],
        ["n2", "stopped"],
        ["n3", "stopped"],
    ]);
});

Deno.test("the timeline tells what has changed, once", () => {
    const model = whole();
    const timeline = new Timeline();
    same(timeline.onView(model.view(0)), ["3 nodes agree on 1 shard"]);
    same(timeline.onView(model.view(100)), []);
    answer(model, report("n1", { cut: ["n2"] }));
    same(timeline.onView(model.view(200)), ["The connection between n1 and n2 is cut"]);
    answer(model, report("n1", { digest: "d1", dead: ["n2"] }));
    same(timeline.onView(model.view(1000)), [
        "n1 considers n2 dead",
        "n1 and n2 have no connection",
        "1 shard differs",
    ]);
    for (const name of NAMES) answer(model, report(name, { digest: "d1" }));
    same(timeline.onView(model.view(3500)), [
        "n1 sees all members alive",
        "n1 and n2 are connected",
        "3 nodes agree on 1 shard, after 2.5 s",
    ]);
});

Deno.test("a stopped node is one event, and one that started in between as well", () => {
    const model = whole();
    const timeline = new Timeline();
    timeline.onView(model.view(0));
    fail(model, "n3", "stopped");
    same(timeline.onView(model.view(1)), ["n3 has stopped"]);
    answer(model, report("n3"));
    same(timeline.onView(model.view(2)), [
        "n3 serves",
        "n1 and n3 are connected",
        "n2 and n3 are connected",
    ]);
    answer(model, report("n3", { uptime: 10 }));
    same(timeline.onView(model.view(3)), ["n3 has started"]);
});

Deno.test("orders go to this machine only", () => {
    same(Play.of("#play=http://127.0.0.1:7500/abc_-") === undefined, false);
    for (
        const fragment of [
            "",
            "#",
            "#play=http://evil.example/abc",
            "#play=http://127.0.0.1:7500@evil.example/abc",
            "#play=https://127.0.0.1:7500/abc",
            "#play=http://127.0.0.1:7500/a/b",
            "#play=http://127.0.0.1:7500/",
        ]
    ) same(Play.of(fragment), undefined);
});
