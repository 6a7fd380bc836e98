import Chat
import Membership
import Replication
import StorePort
import Wire

/// The figures of a node for monitoring: counters since the node's start, and its present state.
package struct NodeMetrics: Sendable {
    package let node: NodeReport
    package let load: NodeLoad
    package let peers: [PeerMetrics]
    package let requests: RequestTally
    package let clients: Int
    package let isHoldingClients: Bool
    package let commits: Histogram
    package let records: Histogram
    package let failedCommits: UInt64
    /// Whether writes are refused: commits fail, the disk is full, or the database is locked.
    package let isRefusingWrites: Bool
    package let isDiskFull: Bool
    /// The number of bytes that wait to be committed.
    package let storeQueuedBytes: Int
    package let forwards: ForwardMetrics
    package let copies: ReplicaTally
    /// The number of members in each membership state.
    package let members: [(state: MemberState, count: Int)]
    package let shards: [(state: ShardReport.State, count: Int)]
    package let documents: [(kind: DocumentKey.Kind, count: UInt64)]
    package let wallMilliseconds: UInt64
    package let store: StoreUsage?
    package let process: ProcessUsage?
    /// The number of notifications pushed to devices, by the result of the push.
    package let pushes: [(result: String, count: UInt64)]
}

/// The figures of another member, as measured by this node.
package struct PeerMetrics: Sendable {
    package let name: NodeName
    package let state: MemberState
    package let isConnected: Bool
    /// Whether this node simulates a network cut to or from the member.
    package let isCut: Bool
    package let rttMilliseconds: UInt64?
    package let behind: UInt64
    package let queuedBytes: Int
    package let traffic: PeerTraffic
}

/// The counters of requests forwarded to other members; `NodeTally` explains each counter.
package struct ForwardMetrics: Hashable, Sendable {
    package let answered: UInt64
    package let refused: UInt64
    package let failed: UInt64
    package let resumed: UInt64
    package let passedOn: UInt64
}

extension Node {
    /// Counts requests whose replies have been sent.
    ///
    /// - Parameter now: the time at which the replies were sent, in microseconds.
    package func recordAnswers(_ answered: [AnsweredRequest], now: UInt64) {
        tally.requests.recordAnswers(answered, now: now)
    }

    /// Adds the traffic of an ending connection to the total of its member.
    func noteTraffic(of connection: PeerConnection) {
        tally.add(
            connection.traffic, with: connection.name,
            members: membership.table.entries.map(\.member.name))
    }

    package func metrics() -> NodeMetrics {
        NodeMetrics(
            node: report(), load: load, peers: peerMetrics, requests: tally.requests,
            clients: sinks.count, isHoldingClients: isHoldingClients, commits: tally.commits,
            records: tally.records, failedCommits: tally.failedCommits,
            isRefusingWrites: !isCommitting || isRefusing,
            isDiskFull: isDiskFull || tally.isDiskFull,
            storeQueuedBytes: ports.store.queuedBytes, forwards: forwardMetrics,
            copies: copyTally, members: memberCounts, shards: shardCounts,
            documents: documentCounts, wallMilliseconds: ports.clock.wallMilliseconds,
            store: ports.store.usage, process: ports.host.usage,
            pushes: ports.host.pushes)
    }

    private var peerMetrics: [PeerMetrics] {
        memberReports().filter { !$0.isSelf }.map { report in
            let name = report.member.name
            var traffic = tally.pastTraffic[name] ?? PeerTraffic()
            if let connection = links[name] { traffic += connection.traffic }
            let load = links[name]?.load
            return PeerMetrics(
                name: name, state: report.state, isConnected: links[name] != nil,
                isCut: isCut(name), rttMilliseconds: report.rttMilliseconds, behind: report.behind,
                queuedBytes: (load?.queuedBytes ?? 0) + (load?.answerBytes ?? 0),
                traffic: traffic)
        }
    }

    private var forwardMetrics: ForwardMetrics {
        ForwardMetrics(
            answered: tally.forwardsAnswered, refused: tally.forwardsRefused,
            failed: tally.forwardsFailed, resumed: tally.forwardsResumed,
            passedOn: tally.forwardsPassedOn)
    }

    private var copyTally: ReplicaTally {
        var sum = tally.pastCopies
        for shard in shards { sum += shard.assumeIsolated { $0.tally } }
        return sum
    }

    private var memberCounts: [(state: MemberState, count: Int)] {
        MemberState.allCases.map { state in
            (state, membership.table.entries.count { $0.state == state })
        }
    }

    private var shardCounts: [(state: ShardReport.State, count: Int)] {
        let held = shardReports().compactMap(\.held)
        return ShardReport.State.allCases.map { state in
            (state, held.count { $0.state == state })
        }
    }

    private var documentCounts: [(kind: DocumentKey.Kind, count: UInt64)] {
        let headers = shards.map { $0.assumeIsolated { $0.stored } }
        return [DocumentKey.Kind.conversation, .message, .participantState].map { kind in
            (kind, headers.reduce(0) { $0 + $1.count(ofKind: kind.number) })
        }
    }
}
