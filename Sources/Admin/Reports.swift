import CRDT
import Chat
import LineProtocol
import Membership
import Node
import Replication
import Wire

extension Admin {
    /// Answers a request about the node itself, or about what a connection has done.
    package func report(_ request: Request, to connection: ConnectionState) -> [UInt8] {
        var writer = ReplyWriter()
        switch request {
        case .token: token(of: connection, &writer)
        case .help(let words): help(words, &writer)
        case .ping: writer.ok(word: "pong")
        case .status: status(&writer)
        case .ready: ready(&writer)
        case .metrics: metrics(&writer)
        case .members: members(&writer)
        case .shards: shards(&writer)
        case .owners(let conversation): owners(of: conversation, &writer)
        case .digest(let shard): digest(shard, &writer)
        case .vector(let shard): vector(shard, &writer)
        case .files(let shard): files(shard, &writer)
        case .subscribers(let shard): subscribers(shard, &writer)
        case .shutdown:
            node.assumeIsolated { $0.shutDown() }
            writer.ok()
        default:
            preconditionFailure("answered elsewhere")
        }
        return writer.removeAll()
    }

    private func help(_ words: String?, _ writer: inout ReplyWriter) {
        if words?.lowercased() == "limits" {
            for limit in allLimits { writer.limit(limit) }
            return writer.ok()
        }
        do throws(LineError) {
            for verb in try Verb.matching(words) { writer.verb(verb) }
            writer.ok()
        } catch {
            writer.error(error)
        }
    }

    private func status(_ writer: inout ReplyWriter) {
        let report = node.assumeIsolated { $0.report() }
        writer.line("NODE") {
            $0.pair("name", report.name)
            $0.pair("version", Node.version)
            $0.pair("protocol", 1)
            $0.pair("cluster", report.cluster)
            $0.pair("uptime", report.uptimeMilliseconds / 1_000)
            $0.pair("members", report.living, of: report.members)
            $0.pair("shards", report.shards)
            $0.pair("conversations", report.conversations)
            $0.pair("messages", report.messages)
            $0.pair("rss", report.residentBytes)
            $0.flag("converged", report.isConverged)
            $0.flag("safe", report.isSafe)
            $0.pair("clock", report.clockOffsetMilliseconds.map { "\($0)ms" })
            $0.pair("leaving", report.leavingShards)
            $0.pair("digest", report.digest)
            $0.pair("disk", report.isLocked ? "locked" : report.isDiskFull ? "full" : nil)
            $0.pair("damage", report.loss)
        }
        writer.ok()
    }

    private func ready(_ writer: inout ReplyWriter) {
        guard let reason = unreadiness() else { return writer.ok() }
        writer.error(reason)
    }

    /// Returns why the node should get no requests; nil if it should.
    package func unreadiness() -> LineError? {
        node.assumeIsolated({ $0.unreadiness }).map { LineError($0) }
    }

    private func metrics(_ writer: inout ReplyWriter) {
        writer.raw(metricsText())
        writer.ok()
    }

    /// The figures of the node in the format of Prometheus.
    package func metricsText() -> [UInt8] {
        MetricsText(of: node.assumeIsolated { $0.metrics() }).bytes
    }

    private func members(_ writer: inout ReplyWriter) {
        for report in node.assumeIsolated({ $0.memberReports() }) {
            writer.line("MEMBER") {
                $0.pair("name", report.member.name)
                // An evicted member is out of the ring and so has left it, too.
                $0.pair("state", report.state == .evicted ? "left" : report.state.description)
                // Until it is forgotten, other nodes wait for what it may hold.
                $0.flag("evicted", report.state == .evicted)
                $0.flag("self", report.isSelf)
                $0.pair("gossip", report.member.gossip)
                $0.pair("admin", report.member.admin)
                $0.pair("incarnation", report.member.incarnation)
                $0.pair("rtt", report.rttMilliseconds.map { Duration.milliseconds($0) })
                $0.pair("behind", report.behind)
            }
        }
        writer.ok()
    }

    private func shards(_ writer: inout ReplyWriter) {
        for report in node.assumeIsolated({ $0.shardReports() }) { writer.shard(report) }
        writer.ok()
    }

    private func owners(of conversation: ConversationID, _ writer: inout ReplyWriter) {
        let reports = node.assumeIsolated { $0.shardReports() }
        guard let count = UInt16(exactly: reports.count), count > 0 else {
            return writer.error(LineError(.notReady))
        }
        writer.shard(reports[Int(ShardID(of: conversation.text, count: count).number)])
        writer.ok()
    }

    private func digest(_ shard: ShardID?, _ writer: inout ReplyWriter) {
        let all = node.assumeIsolated { $0.digests() }
        let reports = shard.map { shard in all.filter { $0.shard == shard } } ?? all
        guard shard == nil || !reports.isEmpty else { return writer.error(.shardNotHeld) }
        for report in reports {
            writer.line("DIGEST") {
                $0.pair("shard", report.shard)
                $0.pair("entities", report.documents)
                $0.pair("hash", report.hash)
            }
        }
        writer.ok { $0.pair("digest", Node.digest(over: reports)) }
    }

    private func vector(_ id: ShardID, _ writer: inout ReplyWriter) {
        guard let shard = node.assumeIsolated({ $0.shard(id) }) else {
            return writer.error(.shardNotHeld)
        }
        for entry in shard.assumeIsolated({ $0.stored.vector }).entries {
            var ranges = entry.seqs.ranges[...]
            let first = ranges.first.flatMap { $0.lowerBound == 1 ? $0.upperBound : nil }
            if first != nil { ranges.removeFirst() }
            let above = ranges.map { range in
                range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
            }
            writer.line("VECTOR") {
                $0.pair("replica", entry.replica)
                $0.pair("seq", first ?? 0)
                $0.pair("above", above.isEmpty ? nil : above.joined(separator: ","))
            }
        }
        writer.ok()
    }
}

extension ReplyWriter {
    /// Writes the data line of a shard.
    mutating func shard(_ report: ShardReport) {
        line("SHARD") {
            $0.pair("id", report.shard)
            $0.list("owners", report.owners)
            $0.flag("here", report.held != nil)
            $0.pair("state", report.held?.state)
            $0.pair("entities", report.held?.documents)
            $0.pair("digest", report.held?.hash)
        }
    }
}
