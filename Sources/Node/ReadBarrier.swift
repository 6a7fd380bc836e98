import Replication
import Wire

/// One connection's view of one shard.
struct SessionShard: Hashable, Sendable {
    let session: UInt64
    let shard: ShardID
}

/// A connection's wait for a copy that holds what it has seen, on the side of who asks.
struct ReadBarrier: Sendable {
    let constraint: ReadConstraint
    let since: UInt64
    /// Who looks whether it does; nil while nobody is asked.
    var target: Target?
    /// When it was asked, in milliseconds.
    var askedAt: UInt64 = 0

    enum Target: Hashable, Sendable {
        case here
        case member(NodeName, channel: UInt64, number: UInt64)
    }

    /// How long all of it may take, in milliseconds: the contract's one second.
    static let patienceMilliseconds: UInt64 = 1_000
    /// The most of them; a request beyond waits for the others.
    static let countMax = 65_536
}

/// A copy that is being brought up to what a connection has seen.
struct CatchUp: Sendable {
    enum Waiter: Hashable, Sendable {
        case here(SessionShard)
        case member(ReplySlot)
    }

    let shard: ShardID
    let constraint: ReadConstraint
    let waiter: Waiter
    let since: UInt64
    /// The round in which everybody is asked; nil before it began.
    var barrierRound: UInt64?

    /// How long a member may try, in milliseconds: less than who asks waits, so that another can be
    /// asked after it.
    static let patienceMilliseconds: UInt64 = 400
    /// How long a copy tries where less is enough, in milliseconds.
    static let patienceOfLenientMilliseconds: UInt64 = 200
    /// The most of them: who asks beyond is told to ask another.
    static let countMax = 16_384

    func isLate(_ now: UInt64) -> Bool {
        guard constraint.isStrict else {
            return now >= since + CatchUp.patienceOfLenientMilliseconds
        }
        if case .here = waiter { return now >= since + ReadBarrier.patienceMilliseconds }
        return now >= since + CatchUp.patienceMilliseconds
    }
}

/// A `SINCE` on its way: the shards whose copies are not known to hold what its token stands for.
struct Since: Sendable {
    let slot: ReplySlot
    var missing: Set<ShardID>
}
