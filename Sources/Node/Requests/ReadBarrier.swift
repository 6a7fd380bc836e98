import Replication
import Wire

/// A session and a shard: the key of a read barrier.
struct SessionShard: Hashable, Sendable {
    let session: UInt64
    let shard: ShardID
}

/// The wait of a connection of this node for a replica that contains what the connection has seen.
struct ReadBarrier: Sendable {
    let constraint: ReadConstraint
    let since: UInt64
    /// The replica that is asked; nil while no replica is asked.
    var target: Target?
    /// When the member was asked, in milliseconds.
    var askedAt: UInt64 = 0

    enum Target: Hashable, Sendable {
        case here
        case member(NodeName, channel: UInt64, number: UInt64)
    }

    /// How long a read barrier may take, in milliseconds: the one second that the line protocol
    /// promises.
    static let patienceMilliseconds: UInt64 = 1_000
    /// The greatest number of read barriers of a node; further requests wait.
    static let countMax = 65_536
}

/// A replica of this node that is fetching the changes that a connection has seen.
struct CatchUp: Sendable {
    enum Waiter: Hashable, Sendable {
        case here(SessionShard)
        case member(ReplySlot)
    }

    let shard: ShardID
    let constraint: ReadConstraint
    let waiter: Waiter
    let since: UInt64
    /// The number of the read barrier round; nil before the round has begun.
    var barrierRound: UInt64?

    /// How long a catch-up for a member may take, in milliseconds: less than the member waits, so
    /// that the member can then ask another replica.
    static let patienceMilliseconds: UInt64 = 400
    /// How long a catch-up may take if the constraint is not strict, in milliseconds.
    static let patienceOfLenientMilliseconds: UInt64 = 200
    /// The greatest number of catch-ups of a node; a further request of a member is refused, so
    /// that the member asks another replica.
    static let countMax = 16_384

    func isLate(_ now: UInt64) -> Bool {
        guard constraint.isStrict else {
            return now >= since + CatchUp.patienceOfLenientMilliseconds
        }
        if case .here = waiter { return now >= since + ReadBarrier.patienceMilliseconds }
        return now >= since + CatchUp.patienceMilliseconds
    }
}

/// A running `SINCE`, and the shards whose replicas may lack changes that its token names.
struct Since: Sendable {
    let slot: ReplySlot
    var missing: Set<ShardID>
}
