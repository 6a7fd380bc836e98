import Wire

extension Token {
    /// Creates a token of what was seen, as far as it fits.
    ///
    /// Each shard gets all its entries if there is space, otherwise a checkpoint and the entries
    /// beyond it, otherwise the name of the whole vector. For `SINCE`, a name is worth most for its
    /// size, so entries get only the space that names leave; then shards that are not whole get as
    /// many entries as still fit.
    ///
    /// - Parameters:
    ///   - seen: the vectors, ascending by shard, each shard once.
    ///   - first: the most important shards, in that order; the others follow by their number of
    ///     seqs.
    ///   - checkpoints: the checkpoints that other nodes may be assumed to know too.
    ///   - clock: a time not earlier than anything that was seen.
    ///   - unsettled: the client's operations that may still be executed.
    ///   - sums: checksums of other data that the client was sent; left out if they would displace
    ///     a shard's name.
    public init(
        of seen: [(shard: ShardID, vector: Vector)], first: [ShardID] = [], cluster: ClusterID,
        checkpoints: Checkpoints = Checkpoints(), clock: HybridTimestamp = .zero,
        unsettled: Unsettled = Unsettled(), sums: [UInt32] = []
    ) {
        let ranks = Dictionary(zip(first, 0...)) { one, _ in one }
        let order = seen.filter { !$0.vector.isEmpty }.map { shard, vector in
            (shard: shard, vector: vector, rank: ranks[shard] ?? .max, count: vector.count)
        }.sorted {
            ($0.rank, $1.count, $0.shard) < ($1.rank, $0.count, $1.shard)
        }
        func pack(besides bytes: Int) -> TokenPacking {
            var packing = TokenPacking(
                naming: order.map(\.shard), besides: unsettled.encoded.count + bytes)
            for (shard, vector, _, _) in order {
                packing.add(vector, of: shard, checkpoints[shard])
            }
            packing.fill()
            return packing
        }
        var sums = sums
        var packing = pack(besides: Token.bytesMax(ofSums: sums.count))
        if packing.isRounded, !sums.isEmpty {
            sums = []
            packing = pack(besides: Token.bytesMax(ofSums: 0))
        }
        self.init(
            cluster: Token.hash(of: cluster),
            parts: packing.parts.sorted { $0.shard < $1.shard },
            names: packing.names.sorted { $0.shard < $1.shard }, isRounded: packing.isRounded,
            clock: clock, unsettled: unsettled, sums: sums)
    }
}

/// The contents of a token in the making, the most important shards first.
private struct TokenPacking {
    var parts: [Token.Part] = []
    var names: [Token.Name] = []
    var isRounded = false
    /// The bytes that are left for parts and names.
    private var capacity: Int
    /// The bytes of the names of the shards that have not been added yet.
    private var reserved: Int
    /// The part with the most entries of each shard that did not fit whole, in order.
    private var named: [Token.Part] = []

    /// - Parameter bytes: the size of the other contents.
    init(naming shards: [ShardID], besides bytes: Int) {
        capacity = Token.bodyBytesMax - bytes
        reserved = shards.reduce(0) { $0 + Token.Name.bytesMax(of: $1) }
    }

    mutating func add(_ vector: Vector, of shard: ShardID, _ history: CheckpointHistory) {
        reserved -= Token.Name.bytesMax(of: shard)
        let plain = TokenPacking.part(of: vector, in: shard)
        if addWhole(plain) { return }
        let checkpoints = history.within(vector)
        // The checkpoint that histories keep longest, then the one with the least beyond it.
        let durable = checkpoints.max { $0.id.level < $1.id.level }
        var best = plain
        for checkpoint in [durable, checkpoints.first].compactMap({ $0 }) {
            let rest = history.rest(of: vector, beyond: checkpoint)
            best = TokenPacking.part(of: rest, in: shard, beyond: checkpoint.id)
            if addWhole(best) { return }
        }
        let name = Token.Name(shard: shard, short: CheckpointID(of: vector).short)
        guard Token.Name.bytesMax(of: shard) <= capacity else {
            isRounded = true
            return
        }
        capacity -= Token.Name.bytesMax(of: shard)
        names.append(name)
        named.append(best)
    }

    /// - Returns: whether the part is whole and fits.
    private mutating func addWhole(_ part: Token.Part) -> Bool {
        guard part.isWhole, part.bytesMax + reserved <= capacity else { return false }
        capacity -= part.bytesMax
        parts.append(part)
        return true
    }

    /// Gives the remaining space to the shards that have only a name.
    mutating func fill() {
        for part in named {
            var kept: [Token.Entry] = []
            var bytes = part.keeping([]).bytesMax
            for entry in part.entries.sorted(by: { $1.seqs.count < $0.seqs.count }) {
                guard let entry = entry.fitting(capacity - bytes) else { continue }
                bytes += entry.bytes
                kept.append(entry)
            }
            let part = part.keeping(kept.sorted { $0.prefix < $1.prefix })
            // The count of many entries may take a byte more than that of none.
            guard part.checkpoint != nil || !kept.isEmpty, part.bytesMax <= capacity else {
                continue
            }
            capacity -= part.bytesMax
            parts.append(part)
        }
    }

    private static func part(
        of vector: Vector, in shard: ShardID, beyond checkpoint: CheckpointID? = nil
    ) -> Token.Part {
        let entries = entries(of: vector)
        return Token.Part(
            shard: shard, checkpoint: checkpoint?.short, entries: entries,
            isWhole: entries.count == vector.entries.count)
    }

    /// Returns an entry for each replica id whose prefix is unique in the vector.
    private static func entries(of vector: Vector) -> [Token.Entry] {
        let all = vector.entries
        return all.indices.compactMap { index in
            let prefix = all[index].replica.prefix
            // Entries ascend by replica id, so equal prefixes are neighbours.
            if index > 0, all[index - 1].replica.prefix == prefix { return nil }
            if index + 1 < all.count, all[index + 1].replica.prefix == prefix { return nil }
            return Token.Entry(prefix: prefix, seqs: all[index].seqs)
        }
    }
}

extension Token.Part {
    /// Returns the part with only these entries.
    func keeping(_ entries: [Token.Entry]) -> Token.Part {
        Token.Part(shard: shard, checkpoint: checkpoint, entries: entries, isWhole: false)
    }

    /// The greatest size of the encoded part in bytes, whichever shard precedes it.
    var bytesMax: Int {
        varintBytes(UInt64(shard.number)) + varintBytes(UInt64(entries.count) << 2)
            + (checkpoint == nil ? 0 : 4) + entries.reduce(0) { $0 + $1.bytes }
    }
}

extension Token.Name {
    /// Returns the greatest size of an encoded name in bytes, whichever shard precedes it.
    static func bytesMax(of shard: ShardID) -> Int {
        varintBytes(UInt64(shard.number)) + 4
    }
}

extension Token.Entry {
    var bytes: Int { 4 + seqs.encoded.count }

    /// Returns the entry, or one with its first range only; nil where neither fits.
    func fitting(_ capacity: Int) -> Token.Entry? {
        if bytes <= capacity { return self }
        guard let range = seqs.ranges.first else { return nil }
        let shorter = Token.Entry(prefix: prefix, seqs: SeqSet(range))
        return shorter.bytes <= capacity ? shorter : nil
    }
}

private func varintBytes(_ number: UInt64) -> Int {
    max(1, (64 - number.leadingZeroBitCount + 6) / 7)
}
