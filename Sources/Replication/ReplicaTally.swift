/// Counters of the pulls and merges of a replica since the replica was opened.
public struct ReplicaTally: Hashable, Sendable {
    public var pullsBegun: UInt64 = 0
    /// Pulls that were answered entirely, with `done` at the end.
    public var pullsDone: UInt64 = 0
    /// Pulls that ended without `done`.
    public var pullsBroken: UInt64 = 0
    /// Documents of other nodes that were merged.
    public var merges: UInt64 = 0
    /// Merges that changed a document of this node.
    public var changingMerges: UInt64 = 0

    public init() {}

    public static func += (left: inout ReplicaTally, right: ReplicaTally) {
        left.pullsBegun += right.pullsBegun
        left.pullsDone += right.pullsDone
        left.pullsBroken += right.pullsBroken
        left.merges += right.merges
        left.changingMerges += right.changingMerges
    }
}

extension ShardReplica {
    /// The counters so far; an open pull counts as neither done nor broken.
    public var tally: ReplicaTally {
        var tally = ReplicaTally()
        tally.pullsBegun = pullsOpened - firstNumber
        tally.pullsDone = pullsDone
        tally.pullsBroken = tally.pullsBegun - pullsDone - (pull == nil ? 0 : 1)
        tally.merges = merges
        tally.changingMerges = changingMerges
        return tally
    }
}
