import JSON
import LineProtocol
import Membership
import Node
import Replication
import Wire

extension Admin {
    /// Returns the state of the node for the operators' web page: the content of `STATUS`,
    /// `MEMBERS` and `SHARDS`, and counters.
    ///
    /// Any client of the port for operations can read this state, so it contains no data of users
    /// and no addresses of nodes.
    package func clusterJSON() -> [UInt8] {
        let metrics = node.assumeIsolated { $0.metrics() }
        let reason = unreadiness()?.sentence
        var writer = JSONWriter(reserving: 16 << 10)
        writer.object { object in
            object.object("node") { $0.writeNode(metrics.node, unready: reason) }
            object.list("members") { list in
                for member in node.assumeIsolated({ $0.memberReports() }) {
                    let peer = metrics.peers.first { $0.name == member.member.name }
                    list.object { $0.writeMember(member, peer) }
                }
            }
            object.list("shards") { list in
                for shard in node.assumeIsolated({ $0.shardReports() }) {
                    list.object { $0.writeShard(shard) }
                }
            }
            object.object("counters") { $0.writeCounters(metrics) }
        }
        return writer.bytes
    }
}

extension JSONWriter {
    mutating func writeNode(_ report: NodeReport, unready reason: String?) {
        pair("name", report.name.text)
        pair("version", Node.version)
        if let cluster = report.cluster { pair("cluster", cluster.text) }
        pair("uptimeMilliseconds", report.uptimeMilliseconds)
        pair("alive", report.living)
        pair("members", report.members)
        pair("conversations", report.conversations)
        pair("messages", report.messages)
        pair("memoryBytes", report.residentBytes)
        pair("isConverged", report.isConverged)
        pair("isSafe", report.isSafe)
        if let reason { pair("unready", reason) }
        if let offset = report.clockOffsetMilliseconds { pair("clockMilliseconds", offset) }
        if let shards = report.leavingShards { pair("leavingShards", shards) }
        pair("isDiskFull", report.isDiskFull)
        pair("isDamaged", report.loss != nil)
        pair("digest", report.digest.description)
    }

    mutating func writeMember(_ report: MemberReport, _ peer: PeerMetrics?) {
        pair("name", report.member.name.text)
        pair("state", report.state.description)
        pair("isSelf", report.isSelf)
        pair("behind", report.behind)
        guard let peer else { return }
        pair("isConnected", peer.isConnected)
        pair("isCut", peer.isCut)
        pair("queuedBytes", peer.queuedBytes)
        if let rtt = peer.rttMilliseconds { pair("rttMilliseconds", rtt) }
    }

    mutating func writeShard(_ report: ShardReport) {
        pair("id", report.shard.number)
        list("owners") { list in for owner in report.owners { list.write(owner.text) } }
        guard let held = report.held else { return }
        pair("state", held.state.rawValue)
        pair("documents", held.documents)
        pair("digest", held.hash.description)
    }

    /// Writes counters, which have counted since the start of the process.
    mutating func writeCounters(_ metrics: NodeMetrics) {
        let answered = metrics.requests.byVerb
        let send = Verb.all.firstIndex { $0.name == "SEND" }
        pair("sends", answered.first { $0.verb == send && $0.code == nil }?.count ?? 0)
        pair("requests", answered.reduce(0) { $0 + $1.count })
        pair("refused", answered.reduce(0) { $0 + ($1.code == nil ? 0 : $1.count) })
        pair("merges", metrics.copies.changingMerges)
        pair("pullsBegun", metrics.copies.pullsBegun)
        pair("pullsDone", metrics.copies.pullsDone)
        pair("forwards", metrics.forwards.answered)
    }
}
