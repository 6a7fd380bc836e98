import Replication
import Wire

/// The counters of a node since its start, for monitoring.
struct NodeTally: Sendable {
    var requests = RequestTally()
    /// The time from passing a commit to the store until its completion, in microseconds.
    var commits = Histogram(Histogram.durations)
    /// The number of documents in each commit.
    var records = Histogram(Histogram.amounts)
    var failedCommits: UInt64 = 0
    /// Whether the last commit that failed found the disk full.
    var isDiskFull = false
    /// The number of forwards that another member answered.
    var forwardsAnswered: UInt64 = 0
    /// The number of forwards that another member refused for a reason that is valid on every node.
    var forwardsRefused: UInt64 = 0
    /// The number of forwards that no member could answer.
    var forwardsFailed: UInt64 = 0
    /// The number of forwards that this node executed itself in the end.
    var forwardsResumed: UInt64 = 0
    /// The number of times that a forward was sent on to another member.
    var forwardsPassedOn: UInt64 = 0
    /// The total traffic of connections that have ended, by member.
    private(set) var pastTraffic: [NodeName: PeerTraffic] = [:]
    /// The counters of replicas that were dropped.
    private(set) var pastCopies = ReplicaTally()
    /// The number of shard replicas that were dropped.
    ///
    /// The number keeps the pulls of a shard's next replica apart from those of the dropped one.
    private(set) var copiesDropped: UInt64 = 0

    mutating func recordCompletion(_ outcome: Completion) {
        switch outcome {
        case .written, .found, .done: forwardsAnswered += 1
        case .failed(.refused): forwardsRefused += 1
        case .failed: forwardsFailed += 1
        }
    }

    /// Adds the traffic of a connection that has ended.
    ///
    /// - Parameter members: the members of the cluster; the traffic of other nodes is discarded, so
    ///   that the table is bounded.
    mutating func add(_ traffic: PeerTraffic, with name: NodeName, members: [NodeName]) {
        pastTraffic[name, default: PeerTraffic()] += traffic
        guard pastTraffic.count > members.count else { return }
        pastTraffic = pastTraffic.filter { members.contains($0.key) || $0.key == name }
    }

    mutating func add(_ copy: ReplicaTally) {
        pastCopies += copy
        copiesDropped += 1
    }
}

/// The traffic of the connections to a member.
package struct PeerTraffic: Hashable, Sendable {
    package var receivedBytes: UInt64 = 0
    package var sentBytes: UInt64 = 0
    /// The number of frames dropped because too many bytes were queued for the member.
    package var droppedFrames: UInt64 = 0

    static func += (left: inout PeerTraffic, right: PeerTraffic) {
        left.receivedBytes += right.receivedBytes
        left.sentBytes += right.sentBytes
        left.droppedFrames += right.droppedFrames
    }
}
