import Chat
import Replication
import Wire

/// A call to one member for its part of a list.
struct ShardCall: Sendable {
    /// The slot of the reply to which the list belongs.
    let slot: ReplySlot
    let target: NodeName
    let shards: [ShardID]
    /// The number of the list's attempt to which the call belongs.
    let attempt: Int
    /// The approximate size of the answer in bytes, once the target has responded with `large`.
    var largeBytes: Int?
    /// When the call was sent, or when a part of the answer last arrived, in milliseconds.
    var heardAt: UInt64
    /// Whether the target has reported that it waits for disks.
    var isTaken = false
    var found: [AnyFindings] = []
    /// The states of the replicas shown in the answer; at most one entry for each shard of the
    /// call.
    private(set) var seen: [ObservedShard] = []

    /// The greatest number of calls that are outstanding or wait for memory.
    static let countMax = 65_536
    /// The number of outstanding or waiting calls at which this node stops reading from clients.
    static let countHigh = 4_096

    func isOverdue(_ now: UInt64) -> Bool {
        Forwards.isOverdue(since: heardAt, isTaken: isTaken, now)
    }

    mutating func appendSeen(_ more: [ObservedShard]) {
        let open = Set(shards).subtracting(seen.map(\.shard))
        seen += more.filter { open.contains($0.shard) }
    }
}

/// A list that has not begun, because earlier requests of its connection wait for other members.
struct DeferredQuery: Sendable {
    let query: AnyQuery
    let user: UserID
    let slot: ReplySlot
    /// The number of the client's request to which the list belongs.
    let place: UInt64
}
