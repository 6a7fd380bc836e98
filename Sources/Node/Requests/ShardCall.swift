import Chat
import Replication
import Wire

/// A call to one member for its part of a list.
struct ShardCall: Sendable {
    /// The reply that the list is for.
    let slot: ReplySlot
    let target: NodeName
    let shards: [ShardID]
    /// The attempt at the list that it belongs to.
    let attempt: Int
    /// The approximate size of the answer in bytes, once the target has said that it is large.
    var largeBytes: Int?
    /// When the call was sent, or when a part of the answer last came, in milliseconds.
    var heardAt: UInt64
    /// Whether the target waits for disks.
    var isTaken = false
    var found: [AnyFindings] = []
    /// The states of the replicas shown in the answer; at most one entry for each shard asked for.
    private(set) var seen: [ObservedShard] = []

    /// The most calls that are outstanding or wait for memory.
    static let countMax = 65_536
    /// The number of such calls at which reading from clients stops.
    static let countHigh = 4_096

    func isOverdue(_ now: UInt64) -> Bool {
        Forwards.isOverdue(since: heardAt, isTaken: isTaken, now)
    }

    mutating func appendSeen(_ more: [ObservedShard]) {
        let open = Set(shards).subtracting(seen.map(\.shard))
        seen += more.filter { open.contains($0.shard) }
    }
}

/// A list that has not been begun, because earlier requests of its connection wait for others.
struct DeferredQuery: Sendable {
    let query: AnyQuery
    let user: UserID
    let slot: ReplySlot
    /// The number of the client's request.
    let place: UInt64
}
