import Replication
import Wire

/// A session and a shard: the key of a read barrier.
struct SessionShard: Hashable, Sendable {
    let session: UInt64
    let shard: ShardID
}

/// The wait of a connection for a replica that holds what it has seen, on the node that asks.
struct ReadBarrier: Sendable {
    let constraint: ReadConstraint
    let since: UInt64
    /// The replica that is asked; nil while none is.
    var target: Target?
    /// When the member was asked, in milliseconds.
    var askedAt: UInt64 = 0

    enum Target: Hashable, Sendable {
        case here
        case member(NodeName, channel: UInt64, number: UInt64)
    }

    /// How long a read barrier may take, in milliseconds: the one second of the line protocol.
    static let patienceMilliseconds: UInt64 = 1_000
    /// The most read barriers of a node; a request beyond waits until there are fewer.
    static let countMax = 65_536
}

/// A replica here that is being brought up to what a connection has seen.
struct CatchUp: Sendable {
    enum Waiter: Hashable, Sendable {
        case here(SessionShard)
        case member(ReplySlot)
    }

    let shard: ShardID
    let constraint: ReadConstraint
    let waiter: Waiter
    let since: UInt64
    /// The read barrier round; nil before it has begun.
    var barrierRound: UInt64?

    /// How long a catch-up for a member may take, in milliseconds: less than the member waits, so
    /// that it can ask another replica afterwards.
    static let patienceMilliseconds: UInt64 = 400
    /// How long a catch-up may take if the constraint is not strict, in milliseconds.
    static let patienceOfLenientMilliseconds: UInt64 = 200
    /// The most catch-ups of a node; a member that asks beyond that is told to ask another.
    static let countMax = 16_384

    func isLate(_ now: UInt64) -> Bool {
        guard constraint.isStrict else {
            return now >= since + CatchUp.patienceOfLenientMilliseconds
        }
        if case .here = waiter { return now >= since + ReadBarrier.patienceMilliseconds }
        return now >= since + CatchUp.patienceMilliseconds
    }
}

/// A `SINCE` that is underway, and the shards whose replicas are not known to hold what its token
/// stands for.
struct Since: Sendable {
    let slot: ReplySlot
    var missing: Set<ShardID>
}
