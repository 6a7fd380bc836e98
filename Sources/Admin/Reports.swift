import CRDT
import Chat
import LineProtocol
import Membership
import Node
import Replication
import Wire

extension Admin {
    /// Answers a request about the node itself, or about the writes and reads of a connection.
    package func report(_ request: Request, to connection: ConnectionState) -> Response {
        switch request {
        case .token: return token(of: connection)
        case .help(let words): return help(words)
        case .ping: return .report(.pong)
        case .status: return .report(.node(node.assumeIsolated { $0.report() }))
        case .ready: return unreadiness().map { .failed($0) } ?? .done
        case .metrics: return .report(.metrics(metricsText()))
        case .members: return .report(.members(node.assumeIsolated { $0.memberReports() }))
        case .shards: return .report(.shards(node.assumeIsolated { $0.shardReports() }))
        case .owners(let conversation): return owners(of: conversation)
        case .digest(let shard): return digest(shard)
        case .vector(let shard): return vector(shard)
        case .files(let shard): return files(shard)
        case .subscribers(let shard): return subscribers(shard)
        case .shutdown:
            node.assumeIsolated { $0.shutDown() }
            return .done
        default:
            preconditionFailure("answered elsewhere")
        }
    }

    private func help(_ words: String?) -> Response {
        guard words?.lowercased() != "limits" else { return .report(.limits(allLimits)) }
        do throws(LineError) {
            return .report(.verbs(try Verb.matching(words)))
        } catch {
            return .failed(error)
        }
    }

    /// Returns the reason why clients should send this node no requests; nil if they should.
    package func unreadiness() -> LineError? {
        node.assumeIsolated({ $0.unreadiness }).map { LineError($0) }
    }

    /// Returns the metrics of the node in the format of Prometheus.
    package func metricsText() -> [UInt8] {
        MetricsText(of: node.assumeIsolated { $0.metrics() }).bytes
    }

    private func owners(of conversation: ConversationID) -> Response {
        let reports = node.assumeIsolated { $0.shardReports() }
        guard let count = UInt16(exactly: reports.count), count > 0 else {
            return .failed(LineError(ShardFailure.notReady))
        }
        let shard = ShardID(of: conversation.text, count: count)
        return .report(.shards([reports[Int(shard.number)]]))
    }

    private func digest(_ shard: ShardID?) -> Response {
        let all = node.assumeIsolated { $0.digests() }
        let reports = shard.map { shard in all.filter { $0.shard == shard } } ?? all
        guard shard == nil || !reports.isEmpty else { return .failed(.shardNotHeld) }
        return .report(.digests(reports))
    }

    private func vector(_ id: ShardID) -> Response {
        guard let shard = node.assumeIsolated({ $0.shard(id) }) else {
            return .failed(.shardNotHeld)
        }
        let entries = shard.assumeIsolated { $0.stored.vector }.entries
        return .report(
            .vector(
                entries.map { entry in
                    var ranges = entry.seqs.ranges[...]
                    let first = ranges.first.flatMap { $0.lowerBound == 1 ? $0.upperBound : nil }
                    if first != nil { ranges.removeFirst() }
                    return ReplicaChanges(
                        replica: entry.replica, seq: first ?? 0, above: Array(ranges))
                }))
    }
}
