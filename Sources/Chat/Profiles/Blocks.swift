import CRDT
import Wire

/// The users whom a user has blocked, each with the time of the block.
///
/// Messages that a blocked user sends later are hidden from the user. A block wins over a
/// concurrent unblocking; if a block is made on two sides of a network partition, the earlier time
/// counts.
public struct Blocks: Hashable, Sendable {
    /// The times at which a user was last unblocked and at which the latest block began.
    struct Times: Hashable, Sendable {
        let user: UserID
        /// The time of the last unblocking; zero before the first unblocking.
        var unblocked = HybridTimestamp.zero
        /// The time of the last unblocking before the latest block; zero if there was none.
        private(set) var after = HybridTimestamp.zero
        /// The earliest time of a block after the time `after`; nil before the first block.
        private(set) var since: HybridTimestamp?

        init(of user: UserID) { self.user = user }

        mutating func begin(at time: HybridTimestamp) { begin(after: unblocked, at: time) }

        /// Of two blocks, the one after the later unblocking wins whatever its own time; of two
        /// blocks after the same unblocking, the earlier wins.
        ///
        /// The merge is thus a join.
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
    /// The times of every user who was ever blocked or unblocked, ascending by user.
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

    /// The approximate size of the encoded blocks, in bytes.
    public var roughBytes: Int { times.count * (2 * nameBytesMax + 128) }

    public func contains(_ user: UserID) -> Bool { users.contains(user) }

    /// Returns when the present block of a user began; nil for a user who is not blocked.
    func blocked(_ user: UserID) -> HybridTimestamp? {
        contains(user) ? times.first { $0.user == user }?.since : nil
    }

    /// Returns the latest time of an operation that blocked a user and that no unblocking has seen;
    /// zero if there is none.
    func lastBlocked(_ user: UserID) -> HybridTimestamp { users.lastAdded(user) ?? .zero }

    /// Returns when a user was last unblocked; nil for a user who was never unblocked.
    func unblocked(_ user: UserID) -> HybridTimestamp? {
        times.first { $0.user == user && $0.unblocked > .zero }?.unblocked
    }

    /// Returns whether the document has capacity to block or unblock `user`.
    func hasCapacity(for user: UserID) -> Bool {
        times.count < Blocks.namesMax || times.contains { $0.user == user }
    }

    var greatestTime: HybridTimestamp {
        times.reduce(users.greatestTime) { max($0, $1.greatest) }
    }

    mutating func block(_ user: UserID, by operation: Stamp) {
        guard !operation.precedes(unblocked(user)) else {
            return users.supersede(user, by: operation)
        }
        // A repeated block keeps the first time, so that messages sent since then stay hidden.
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

/// A user whom another user has blocked.
public struct BlockView: Hashable, Sendable {
    public let user: UserID
    /// The time from which the messages of the blocked user are hidden.
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

/// The coding of blocks in query results and events.
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
