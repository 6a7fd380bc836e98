import CRDT
import Wire

/// The users whom a user has blocked, each from a time on.
///
/// What a blocked user sends after that time is not shown to the user. A block wins over an
/// unblocking that had not seen it, and a block that was made on two sides of a network partition
/// is as old as the earlier one.
public struct Blocks: Hashable, Sendable {
    /// The time at which a user was last unblocked, and that at which the block behind it began.
    struct Times: Hashable, Sendable {
        let user: UserID
        /// Zero before the first unblocking.
        var unblocked = HybridTimestamp.zero
        /// The last unblocking before the block.
        private(set) var after = HybridTimestamp.zero
        /// The earliest time of a block after that unblocking; nil before the first block.
        private(set) var since: HybridTimestamp?

        init(of user: UserID) { self.user = user }

        mutating func begin(at time: HybridTimestamp) { begin(after: unblocked, at: time) }

        /// A later unblocking makes the later block, whatever its time, so taking the latest is
        /// still a join.
        private mutating func begin(after: HybridTimestamp, at time: HybridTimestamp) {
            if let since, after == self.after {
                self.since = min(since, time)
                #if PlantedBugs
                    if PlantedBug.laterBlockCounts.isOn { self.since = max(since, time) }
                #endif
            } else if since == nil || self.after < after {
                (self.after, since) = (after, time)
            }
        }

        mutating func merge(_ other: Times) {
            unblocked = max(unblocked, other.unblocked)
            if let time = other.since { begin(after: other.after, at: time) }
        }

        var greatest: HybridTimestamp { max(unblocked, after, since ?? .zero) }
    }

    /// The most users that one user has blocked at a time.
    public static let countMax = 500
    /// The most users whom one user ever blocked or unblocked.
    public static let namesMax = 4 * countMax

    private var users: ObservedRemoveSet<UserID>
    /// Ascending by user.
    private var times: [Times]

    public init() {
        users = ObservedRemoveSet()
        times = []
    }

    /// The blocked users, ascending.
    public var views: [BlockView] {
        times.compactMap { times in
            guard let since = times.since, users.contains(times.user) else { return nil }
            return BlockView(user: times.user, since: since)
        }
    }

    var count: Int { users.count }

    /// The approximate size of its encoding, in bytes.
    public var roughBytes: Int { times.count * (2 * nameBytesMax + 128) }

    public func contains(_ user: UserID) -> Bool { users.contains(user) }

    /// Whether a change of whether `user` is blocked can be kept.
    func hasCapacity(for user: UserID) -> Bool {
        times.count < Blocks.namesMax || times.contains { $0.user == user }
    }

    var greatestTime: HybridTimestamp {
        times.reduce(users.greatestTime) { max($0, $1.greatest) }
    }

    mutating func block(_ user: UserID, by operation: Stamp) {
        // Of a user who is blocked already, what they have sent since stays hidden.
        if !contains(user) { changeTimes(of: user) { $0.begin(at: operation.time) } }
        users.insert(user, by: operation)
    }

    mutating func unblock(_ user: UserID, by author: Authorship) {
        users.remove(user, by: author)
        changeTimes(of: user) { $0.unblocked = max($0.unblocked, author.stamp.time) }
    }

    func standing(ofBlocking user: UserID, by operation: Stamp) -> Standing {
        users.standing(ofAdding: user, by: operation)
    }

    func standing(ofUnblocking user: UserID, by operation: Stamp) -> Standing {
        users.standing(ofRemoving: user, by: operation)
    }

    public mutating func merge(_ other: Blocks) {
        guard self != other else { return }
        users.merge(other.users)
        times = mergedAscending(times, other.times, by: \.user) { mine, theirs in
            var merged = mine
            merged.merge(theirs)
            return merged
        }
    }

    private mutating func changeTimes(of user: UserID, _ body: (inout Times) -> Void) {
        let index = times.firstIndex { $0.user >= user } ?? times.count
        if index == times.count || times[index].user != user {
            times.insert(Times(of: user), at: index)
        }
        body(&times[index])
    }
}

/// A user whom a user has blocked.
public struct BlockView: Hashable, Sendable {
    public let user: UserID
    /// The time from which on what the user sends is not shown.
    public let since: HybridTimestamp

    public init(user: UserID, since: HybridTimestamp) {
        self.user = user
        self.since = since
    }
}

extension Blocks {
    private enum FieldNumber {
        static let users: UInt64 = 1
        static let times: UInt64 = 2
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        if users != ObservedRemoveSet() { fields.set(FieldNumber.users, to: users) }
        fields.set(FieldNumber.times, toList: times)
    }

    init(from fields: inout Fields) throws(WireError) {
        users = try fields.take(
            FieldNumber.users, orEmpty: ObservedRemoveSet(), "who is blocked")
        times = try fields.take(FieldNumber.times, orEmpty: [], "times of blocks")
            .ascending("times of blocks", by: \.user)
    }
}

/// The form of the blocks in findings and events.
extension Blocks: WireValue {
    public func encode(into writer: inout ByteWriter) {
        users.encode(into: &writer)
        times.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        users = try ObservedRemoveSet(from: &reader)
        times = try reader.readList().ascending("times of blocks", by: \.user)
    }
}

extension Blocks.Times: WireValue {
    func encode(into writer: inout ByteWriter) {
        writer.write(user)
        unblocked.encode(into: &writer)
        after.encode(into: &writer)
        since.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        unblocked = try HybridTimestamp(from: &reader)
        after = try HybridTimestamp(from: &reader)
        since = try Optional(from: &reader)
        guard since != nil || after == .zero else { throw .invalid("the time of a block") }
    }
}

extension BlockView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(user)
        since.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        since = try HybridTimestamp(from: &reader)
    }
}
