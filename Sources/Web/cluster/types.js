/**
 * The types of a node's JSON report, and of the page's views derived from the reports.
 *
 * @typedef {{
 *   name: string, version: string, cluster?: string, uptimeMilliseconds: number,
 *   conversations: number, messages: number, memoryBytes: number, isConverged: boolean,
 *   isSafe: boolean, unready?: string, clockMilliseconds?: number, leavingShards?: number,
 *   isDiskFull: boolean, isDamaged: boolean, digest: string,
 * }} NodeReport
 *
 * @typedef {{
 *   name: string, state: "alive"|"suspect"|"dead"|"evicted"|"left", isSelf: boolean,
 *   behind: number, isConnected?: boolean, isCut?: boolean, queuedBytes?: number,
 *   rttMilliseconds?: number,
 * }} MemberReport
 *
 * @typedef {{
 *   id: number, owners: string[], state?: "ready"|"syncing"|"leaving", documents?: number,
 *   digest?: string,
 * }} ShardReport
 *
 * @typedef {{
 *   sends: number, requests: number, refused: number, merges: number, pullsBegun: number,
 *   pullsDone: number, forwards: number,
 * }} Counters
 *
 * The response to `GET /cluster.json`.
 * @typedef {{
 *   node: NodeReport, members: MemberReport[], shards: ShardReport[], counters: Counters,
 * }} Report
 *
 * The result of requesting a node's report: a `silent` node accepts the connection but does not
 * answer in time, for example while its process is paused; the port of a `stopped` node is closed.
 * @typedef {{address: string, status: "answers", report: Report, at: number}
 *   | {address: string, status: "silent"|"stopped", at: number}} Answer
 *
 * The data about a node that the cluster page shows.
 * @typedef {{
 *   name: string, address?: string, status: "answers"|"silent"|"stopped", report?: Report,
 *   sendsPerSecond: number, behind: number, dead: string[],
 * }} NodeView
 *
 * @typedef {{
 *   from: string, to: string, state: "connected"|"cut"|"closed", rttMilliseconds?: number,
 * }} Link
 *
 * The data about a shard that the page shows. `variants` has a number for each node; nodes with
 * equal digests of the shard have the same number.
 * @typedef {{
 *   id: number, owners: string[], variants: Map<string, number>, states: Map<string, string>,
 *   isEqual: boolean,
 * }} ShardView
 *
 * @typedef {{
 *   at: number, nodes: NodeView[], links: Link[], shards: ShardView[], sendsPerSecond: number,
 *   notConverged: string[],
 * }} ClusterView
 */

export {};
