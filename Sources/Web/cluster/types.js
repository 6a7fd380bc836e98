/**
 * What a node says of itself, and what the page makes of it.
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
 * The answer to `GET /cluster.json`.
 * @typedef {{
 *   node: NodeReport, members: MemberReport[], shards: ShardReport[], counters: Counters,
 * }} Report
 *
 * What came of asking a node: `silent` is one whose port takes the question and gives no answer in
 * time, as a paused process does; `stopped` is one whose port is closed.
 * @typedef {{address: string, status: "answers", report: Report, at: number}
 *   | {address: string, status: "silent"|"stopped", at: number}} Answer
 *
 * A node as the page shows it.
 * @typedef {{
 *   name: string, address?: string, status: "answers"|"silent"|"stopped", report?: Report,
 *   sendsPerSecond: number, behind: number, dead: string[],
 * }} NodeView
 *
 * @typedef {{
 *   from: string, to: string, state: "connected"|"cut"|"closed", rttMilliseconds?: number,
 * }} Link
 *
 * A shard: for each node that holds it a letter, the same for equal digests.
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
