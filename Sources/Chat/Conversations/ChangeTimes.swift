import CRDT
import Wire

/// The times at which users were last added to a set and last removed from it.
///
/// The set itself records its elements; these times are what an event about a change reports. Of
/// each user, the greatest time of an addition and the greatest time of a removal count. At most
/// `countMax` entries are kept, the latest ones: an event of a change whose entry was dropped
/// carries the time at which it is published. A merge forms the union, keeps the greatest times and
/// then the latest entries; this is a join although entries are dropped.
public struct ChangeTimes: Hashable, Sendable {
    enum Direction: UInt8, Hashable, Sendable {
        case added = 1
        case removed = 2
    }

    struct Entry: Hashable, Sendable {
        let user: UserID
        let direction: Direction
        var time: HybridTimestamp

        func sortsBefore(_ user: UserID, _ direction: Direction) -> Bool {
            (self.user, self.direction.rawValue) < (user, direction.rawValue)
        }
    }

    /// The most entries, as many as a conversation's participants: 80 KB with the longest names.
    static let countMax = ChatLimits.participantsMax

    /// The entries, ascending by user and then by direction; one for each user and direction.
    private(set) var entries: [Entry] = []

    public init() {}

    public var isEmpty: Bool { entries.isEmpty }

    /// Returns the time at which `user` was last added; nil if it is unknown.
    public func added(_ user: UserID) -> HybridTimestamp? { time(of: user, .added) }

    /// Returns the time at which `user` was last removed; nil if it is unknown.
    public func removed(_ user: UserID) -> HybridTimestamp? { time(of: user, .removed) }

    /// Returns the time of the change that led to the present state of `user`; nil if unknown.
    ///
    /// No change to the contrary has a later time, although an addition wins over a removal that is
    /// concurrent and has a later time. A client that keeps, of two states, the one with the later
    /// time, and of two with equal times that of an element, therefore arrives at the present
    /// state.
    ///
    /// - Parameter isElement: whether `user` is in the set.
    func lastChange(of user: UserID, isElement: Bool) -> HybridTimestamp? {
        let removed = removed(user)
        return isElement ? [added(user), removed].compactMap(\.self).max() : removed
    }

    var greatest: HybridTimestamp { entries.reduce(.zero) { max($0, $1.time) } }

    mutating func recordChange(_ user: UserID, _ direction: Direction, at time: HybridTimestamp) {
        raise(Entry(user: user, direction: direction, time: time))
        normalize()
    }

    mutating func merge(_ other: ChangeTimes) {
        guard !other.isEmpty, self != other else { return }
        for entry in other.entries { raise(entry) }
        normalize()
    }

    private func time(of user: UserID, _ direction: Direction) -> HybridTimestamp? {
        let index = firstIndex(notBefore: user, direction)
        guard index < entries.count, entries[index].user == user,
            entries[index].direction == direction
        else { return nil }
        return entries[index].time
    }

    private mutating func raise(_ entry: Entry) {
        let index = firstIndex(notBefore: entry.user, entry.direction)
        if index < entries.count, entries[index].user == entry.user,
            entries[index].direction == entry.direction
        {
            entries[index].time = max(entries[index].time, entry.time)
        } else {
            entries.insert(entry, at: index)
        }
    }

    private mutating func normalize() {
        guard entries.count > ChangeTimes.countMax else { return }
        let latest = entries.sorted {
            ($1.time, $1.user, $1.direction.rawValue) < ($0.time, $0.user, $0.direction.rawValue)
        }
        entries = latest.prefix(ChangeTimes.countMax).sorted {
            $0.sortsBefore($1.user, $1.direction)
        }
    }

    private func firstIndex(notBefore user: UserID, _ direction: Direction) -> Int {
        entries.partitioningIndex { !$0.sortsBefore(user, direction) }
    }
}

extension ChangeTimes: WireValue {
    public func encode(into writer: inout ByteWriter) {
        entries.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        entries = try reader.readList(limit: ChangeTimes.countMax)
        let isAscending = zip(entries, entries.dropFirst()).allSatisfy {
            $0.sortsBefore($1.user, $1.direction)
        }
        guard isAscending else { throw .invalid("times of changes that ascend") }
    }
}

extension ChangeTimes.Entry: WireValue {
    func encode(into writer: inout ByteWriter) {
        writer.write(user)
        writer.write(direction.rawValue)
        time.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        guard let direction = ChangeTimes.Direction(rawValue: try reader.readByte()) else {
            throw .invalid("a direction of a change")
        }
        self.direction = direction
        time = try HybridTimestamp(from: &reader)
    }
}
