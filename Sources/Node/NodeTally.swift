import Replication
import Wire

/// What a node has done since it started, for those who watch it.
struct NodeTally: Sendable {
    var requests = RequestTally()
    /// From handing a commit out to hearing that it is on disk, in microseconds.
    var commits = Histogram(Histogram.durations)
    /// The documents in each.
    var records = Histogram(Histogram.amounts)
    var failedCommits: UInt64 = 0
    /// Whether the last commit that failed found no room.
    var isDiskFull = false
    /// Requests that others answered.
    var forwardsAnswered: UInt64 = 0
    /// Those that others refused, as this node would have.
    var forwardsRefused: UInt64 = 0
    /// Those that nobody could answer.
    var forwardsFailed: UInt64 = 0
    /// Those that were answered here after all.
    var forwardsResumed: UInt64 = 0
    /// How often somebody else had to be asked.
    var forwardsPassedOn: UInt64 = 0
    /// Over connections that have ended, by member.
    private(set) var pastTraffic: [NodeName: PeerTraffic] = [:]
    /// Of copies that were dropped.
    private(set) var pastCopies = ReplicaTally()
    /// How many those were: it tells the numbers of one copy's pulls from those of the next.
    private(set) var copiesDropped: UInt64 = 0

    mutating func note(_ outcome: Completion) {
        switch outcome {
        case .written, .found, .done: forwardsAnswered += 1
        case .failed(.refused): forwardsRefused += 1
        case .failed: forwardsFailed += 1
        }
    }

    /// A connection has ended.
    ///
    /// - Parameter members: of all others nothing is kept, so that this stays as small as their
    ///   table.
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

/// What went over the connections to a member.
package struct PeerTraffic: Hashable, Sendable {
    package var receivedBytes: UInt64 = 0
    package var sentBytes: UInt64 = 0
    /// What was dropped because too much waited for the member already.
    package var droppedFrames: UInt64 = 0

    static func += (left: inout PeerTraffic, right: PeerTraffic) {
        left.receivedBytes += right.receivedBytes
        left.sentBytes += right.sentBytes
        left.droppedFrames += right.droppedFrames
    }
}
