import Wire

/// The version vector of a shard replica: for each replica id, the set of seqs whose effect is in
/// the replica's state.
///
/// If a seq is in the vector, the replica has every change that the replica id made to the document
/// up to the seq, or a later state that supersedes the change. Sets are needed instead of a
/// greatest number, because a seq that is on no disk any more remains a gap for ever, and the seqs
/// after it must still count.
public struct Vector: Hashable, Sendable {
    public struct Entry: Hashable, Sendable {
        public let replica: ReplicaID
        /// The seqs of the replica id; never empty.
        public internal(set) var seqs: SeqSet
    }

    /// The entries, ascending by replica id.
    public private(set) var entries: [Entry]

    public init() { entries = [] }

    public var isEmpty: Bool { entries.isEmpty }

    /// The number of seqs, modulo 2^64.
    public var count: UInt64 { entries.reduce(0) { $0 &+ $1.seqs.count } }

    public func seqs(of replica: ReplicaID) -> SeqSet {
        let index = firstIndex(notBefore: replica)
        guard index < entries.count, entries[index].replica == replica else { return SeqSet() }
        return entries[index].seqs
    }

    public func contains(_ dot: Dot) -> Bool {
        let index = firstIndex(notBefore: dot.replica)
        guard index < entries.count, entries[index].replica == dot.replica else { return false }
        return entries[index].seqs.contains(dot.seq)
    }

    /// Returns whether the vector contains every dot of `context`.
    public func contains(_ context: Context) -> Bool { context.dots.allSatisfy(contains) }

    /// Returns whether the vector contains every seq of `other`.
    public func covers(_ other: Vector) -> Bool {
        #if PlantedBugs
            if PlantedBug.coversFirstRangeOnly.isOn { return coversFirstRanges(of: other) }
        #endif
        return other.entries.allSatisfy { seqs(of: $0.replica).isSuperset(of: $0.seqs) }
    }

    public mutating func insert(_ dot: Dot) {
        let index = firstIndex(notBefore: dot.replica)
        if index < entries.count, entries[index].replica == dot.replica {
            entries[index].seqs.insert(dot.seq)
        } else {
            let seqs = SeqSet(dot.seq...dot.seq)
            entries.insert(Entry(replica: dot.replica, seqs: seqs), at: index)
        }
    }

    public mutating func insert(_ seqs: SeqSet, of replica: ReplicaID) {
        guard !seqs.isEmpty else { return }
        let index = firstIndex(notBefore: replica)
        if index < entries.count, entries[index].replica == replica {
            entries[index].seqs.formUnion(seqs)
        } else {
            entries.insert(Entry(replica: replica, seqs: seqs), at: index)
        }
    }

    /// Removes all seqs of a replica id.
    mutating func remove(_ replica: ReplicaID) {
        let index = firstIndex(notBefore: replica)
        if index < entries.count, entries[index].replica == replica { entries.remove(at: index) }
    }

    /// Removes a dot and all later seqs of its replica id.
    public mutating func remove(from dot: Dot) {
        let index = firstIndex(notBefore: dot.replica)
        guard index < entries.count, entries[index].replica == dot.replica else { return }
        let rest = entries[index].seqs.subtracting(SeqSet(dot.seq...UInt64.max))
        if rest.isEmpty { entries.remove(at: index) } else { entries[index].seqs = rest }
    }

    /// Adds the seqs of a document's context.
    public mutating func insert(_ context: Context) {
        guard context.dots.count > Vector.insertionsMax else {
            for dot in context.dots { insert(dot) }
            return
        }
        var seqs = Vector()
        seqs.entries = context.dots.map {
            Entry(replica: $0.replica, seqs: SeqSet($0.seq...$0.seq))
        }
        formUnion(seqs)
    }

    /// The number of dots above which `insert` merges them in one pass.
    private static let insertionsMax = 8

    public mutating func formUnion(_ other: Vector) {
        // If `other` has few entries, they are inserted one by one, in place.
        guard other.entries.count > entries.count / 8 else {
            for entry in other.entries { insert(entry.seqs, of: entry.replica) }
            return
        }
        entries = mergedAscending(entries, other.entries, by: \.replica) { mine, theirs in
            var both = mine
            both.seqs.formUnion(theirs.seqs)
            return both
        }
    }

    public func union(_ other: Vector) -> Vector {
        var union = self
        union.formUnion(other)
        return union
    }

    /// The least vector that contains this one and has one range for each replica id.
    public var enclosing: Vector {
        var enclosing = Vector()
        for entry in entries {
            guard let first = entry.seqs.ranges.first, let last = entry.seqs.greatest else {
                continue
            }
            let range = SeqSet(first.lowerBound...last)
            enclosing.entries.append(Entry(replica: entry.replica, seqs: range))
        }
        return enclosing
    }

    /// Returns the seqs of this vector that are not in `other`.
    public func subtracting(_ other: Vector) -> Vector {
        var rest = Vector()
        for entry in entries {
            let seqs = entry.seqs.subtracting(other.seqs(of: entry.replica))
            guard !seqs.isEmpty else { continue }
            rest.entries.append(Entry(replica: entry.replica, seqs: seqs))
        }
        return rest
    }

    /// Returns the seqs that are not in `base`; nil if the vector does not contain `base`.
    ///
    /// The comparison is one pass, since it is made with every commit; two vectors with few
    /// differences share the memory of nearly all entries.
    public func rest(beyond base: Vector) -> Vector? {
        var rest = Vector()
        var index = 0
        for entry in entries {
            guard index < base.entries.count, base.entries[index].replica == entry.replica else {
                rest.entries.append(entry)
                continue
            }
            let known = base.entries[index].seqs
            index += 1
            guard entry.seqs != known else { continue }
            guard entry.seqs.isSuperset(of: known) else { return nil }
            rest.entries.append(
                Entry(replica: entry.replica, seqs: entry.seqs.subtracting(known)))
        }
        return index == base.entries.count ? rest : nil
    }

    /// Returns the seqs that are in both this vector and `other`.
    public func intersection(_ other: Vector) -> Vector { subtracting(subtracting(other)) }

    /// The number of ranges in all sets of seqs.
    public var rangesCount: Int { entries.reduce(0) { $0 + $1.seqs.ranges.count } }

    /// Returns a prefix of the vector with at most `replicas` replica ids and `ranges` ranges, for
    /// messages that may claim too few seqs but never too many.
    public func prefix(replicas: Int, ranges: Int) -> Vector {
        guard entries.count > replicas || rangesCount > ranges else { return self }
        var prefix = Vector()
        var left = ranges
        for entry in entries.prefix(replicas) where left > 0 {
            let seqs = entry.seqs.prefix(ranges: left)
            left -= seqs.ranges.count
            prefix.entries.append(Entry(replica: entry.replica, seqs: seqs))
        }
        return prefix
    }

    private func firstIndex(notBefore replica: ReplicaID) -> Int {
        entries.partitioningIndex { $0.replica >= replica }
    }

    #if PlantedBugs
        private func coversFirstRanges(of other: Vector) -> Bool {
            other.entries.allSatisfy { entry in
                guard let range = entry.seqs.ranges.first else { return true }
                return seqs(of: entry.replica).isSuperset(of: SeqSet(range))
            }
        }
    #endif
}

/// The bounded encoding of vectors between nodes.
extension Vector {
    /// The greatest number of replica ids in a vector between nodes, about 400 KB.
    ///
    /// A node stops beginning new numberings 1,024 replica ids before that limit
    /// (`ShardReplica.replicasMax`).
    public static let sharedReplicasMax = 1 << 14
    /// The greatest number of ranges of all replica ids together.
    ///
    /// A vector has more ranges only while a shard that lost records is being repaired. The excess
    /// is omitted: a node that claims too few seqs only receives documents that it already has.
    public static let sharedRangesMax = 1 << 15

    public func encodeShared(into writer: inout ByteWriter) {
        prefix(replicas: Vector.sharedReplicasMax, ranges: Vector.sharedRangesMax)
            .encode(into: &writer)
    }

    public init(sharedFrom reader: inout ByteReader) throws(WireError) {
        try self.init(
            from: &reader, replicasMax: Vector.sharedReplicasMax,
            rangesMax: Vector.sharedRangesMax)
    }
}

extension Vector: WireValue {
    /// The least size of an encoded entry: a replica id and a set of one range.
    private static let entryBytesMin = 19

    public func encode(into writer: inout ByteWriter) {
        writer.write(count: entries.count)
        for entry in entries {
            writer.write(entry.replica)
            entry.seqs.encode(into: &writer)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        try self.init(from: &reader, replicasMax: .max, rangesMax: .max)
    }

    private init(
        from reader: inout ByteReader, replicasMax: Int, rangesMax: Int
    ) throws(WireError) {
        let count = try reader.readCount(limit: replicasMax)
        guard count <= reader.remaining / Vector.entryBytesMin else { throw .truncated }
        var left = rangesMax
        entries = []
        entries.reserveCapacity(count)
        for _ in 0..<count {
            let entry = Entry(
                replica: try reader.readID(), seqs: try SeqSet(from: &reader, rangesMax: left))
            left -= entry.seqs.ranges.count
            if let last = entries.last, last.replica >= entry.replica {
                throw .invalid("replicas that ascend")
            }
            guard let first = entry.seqs.ranges.first, first.lowerBound > 0,
                let last = entry.seqs.greatest, last <= Dot.seqMax
            else { throw .invalid("seqs from 1") }
            entries.append(entry)
        }
    }
}
