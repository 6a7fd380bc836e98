import Wire

/// The members of the cluster: one entry for each name, ascending by name.
///
/// Tables are merged entry by entry, and an entry is only replaced by one that supersedes it: as
/// long as no limit is reached, any order and any repetition of updates leads to the same table
/// everywhere.
public struct MemberTable: Hashable, Sendable {
    /// The greatest number of members in the ring; entries of further ones are refused.
    public static let ringMax = 100
    /// The greatest number of entries; for one more, the oldest member that has left is removed.
    ///
    /// The oldest one has the smallest incarnation, so every table removes the same one. If no
    /// member has left, the new entry is refused.
    public static let entriesMax = 256

    public private(set) var entries: [MemberEntry] = []
    /// The sum of the entries' hashes; equal hashes mean equal tables.
    public private(set) var hash: UInt64 = 0
    private var ringCount = 0

    public init() {}

    public init(_ entries: [MemberEntry]) {
        for entry in entries { _ = merge(entry) }
    }

    public subscript(name: NodeName) -> MemberEntry? {
        let index = firstIndex(notBelow: name)
        return holds(name, at: index) ? entries[index] : nil
    }

    /// Merges an entry of another node's table.
    ///
    /// - Returns: whether the table changed.
    public mutating func merge(_ entry: MemberEntry) -> Bool {
        let name = entry.member.name
        let index = firstIndex(notBelow: name)
        if holds(name, at: index) {
            guard entry.supersedes(entries[index]),
                hasCapacity(for: entry, insteadOf: entries[index])
            else { return false }
            removeEntry(entries[index])
            entries[index] = entry
        } else {
            guard hasCapacity(for: entry, insteadOf: nil) else { return false }
            guard entries.count < MemberTable.entriesMax || prune(for: entry) else { return false }
            entries.insert(entry, at: firstIndex(notBelow: name))
        }
        hash &+= hashValue(of: entry)
        if entry.state.isInRing { ringCount += 1 }
        return true
    }

    private mutating func removeEntry(_ entry: MemberEntry) {
        hash &-= hashValue(of: entry)
        if entry.state.isInRing { ringCount -= 1 }
    }

    private func hasCapacity(for entry: MemberEntry, insteadOf old: MemberEntry?) -> Bool {
        guard entry.state.isInRing, old?.state.isInRing != true else { return true }
        return ringCount < MemberTable.ringMax
    }

    /// Removes the oldest member that has left; fails if there is none, or if `entry` would be the
    /// oldest.
    private mutating func prune(for entry: MemberEntry) -> Bool {
        let left = entries.indices.filter { entries[$0].state == .left }
        guard let oldest = left.min(by: { isOlder(entries[$0], than: entries[$1]) }) else {
            return false
        }
        if entry.state == .left, isOlder(entry, than: entries[oldest]) { return false }
        removeEntry(entries[oldest])
        entries.remove(at: oldest)
        return true
    }

    private func isOlder(_ entry: MemberEntry, than other: MemberEntry) -> Bool {
        (entry.member.incarnation, entry.member.name)
            < (other.member.incarnation, other.member.name)
    }

    private func hashValue(of entry: MemberEntry) -> UInt64 { checksum(entry.encoded) }

    private func holds(_ name: NodeName, at index: Int) -> Bool {
        index < entries.endIndex && entries[index].member.name == name
    }

    private func firstIndex(notBelow name: NodeName) -> Int {
        entries.partitioningIndex { $0.member.name >= name }
    }
}

extension MemberTable: WireValue {
    public func encode(into writer: inout ByteWriter) {
        entries.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        self.init()
        let entries = try reader.readList(of: MemberEntry.self, limit: MemberTable.entriesMax)
        for entry in try entries.ascending("names", by: \.member.name) {
            guard merge(entry) else { throw .invalid("a ring of members") }
        }
    }
}
