import Wire

extension Token {
    /// What was seen, as far as it fits.
    ///
    /// Each shard is named by all its entries where there is room, else by a checkpoint and the
    /// entries beyond it, else by the name of the whole vector. For SINCE such a name is worth most
    /// for its bytes, so entries take only what names leave; then the shards that are not whole get
    /// what entries still fit.
    ///
    /// - Parameters:
    ///   - seen: ascending by shard, each once.
    ///   - first: the shards that matter most, in that order; behind them those of the most seqs.
    ///   - checkpoints: those that other nodes may be taken to know, too.
    ///   - clock: no earlier than anything that was seen.
    ///   - unsettled: what its client asked for and may be executed yet.
    ///   - sums: checksums of what else its client was told; left out where they would take the
    ///     room of a shard's name.
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

/// What is put into a token, the most important first.
private struct TokenPacking {
    var parts: [Token.Part] = []
    var names: [Token.Name] = []
    var isRounded = false
    /// How many bytes there are for parts and names.
    private var capacity: Int
    /// How many of those the names of the shards that are still to come take.
    private var reserved: Int
    /// The parts with the most entries of shards that did not fit whole, in order.
    private var named: [Token.Part] = []

    /// - Parameter bytes: those that other things take.
    init(naming shards: [ShardID], besides bytes: Int) {
        capacity = Token.bodyBytesMax - bytes
        reserved = shards.reduce(0) { $0 + Token.Name.bytesMax(of: $1) }
    }

    mutating func add(_ vector: Vector, of shard: ShardID, _ history: CheckpointHistory) {
        reserved -= Token.Name.bytesMax(of: shard)
        let plain = TokenPacking.part(of: vector, in: shard)
        if addWhole(plain) { return }
        let checkpoints = history.within(vector)
        // The one that histories keep longest, then the one with the least beyond it.
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

    /// - Returns: whether the part says all and fits.
    private mutating func addWhole(_ part: Token.Part) -> Bool {
        guard part.isWhole, part.bytesMax + reserved <= capacity else { return false }
        capacity -= part.bytesMax
        parts.append(part)
        return true
    }

    /// Gives what capacity is left to the shards that have only a name.
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
            // A count of many entries takes a byte more than one of none.
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

    /// An entry for each replica that can be told from the others.
    private static func entries(of vector: Vector) -> [Token.Entry] {
        let all = vector.entries
        return all.indices.compactMap { index in
            let prefix = all[index].replica.prefix
            // Ascending by replica, so that equal ones stand side by side.
            if index > 0, all[index - 1].replica.prefix == prefix { return nil }
            if index + 1 < all.count, all[index + 1].replica.prefix == prefix { return nil }
            return Token.Entry(prefix: prefix, seqs: all[index].seqs)
        }
    }
}

extension Token.Part {
    /// The same with these entries alone.
    func keeping(_ entries: [Token.Entry]) -> Token.Part {
        Token.Part(shard: shard, checkpoint: checkpoint, entries: entries, isWhole: false)
    }

    /// The most bytes that it takes, whatever stands before it.
    var bytesMax: Int {
        varintBytes(UInt64(shard.number)) + varintBytes(UInt64(entries.count) << 2)
            + (checkpoint == nil ? 0 : 4) + entries.reduce(0) { $0 + $1.bytes }
    }
}

extension Token.Name {
    /// The most bytes that one takes, whatever stands before it.
    static func bytesMax(of shard: ShardID) -> Int {
        varintBytes(UInt64(shard.number)) + 4
    }
}

extension Token.Entry {
    var bytes: Int { 4 + seqs.encoded.count }

    /// The same, or its first range alone; nil where neither fits.
    func fitting(_ room: Int) -> Token.Entry? {
        if bytes <= room { return self }
        guard let range = seqs.ranges.first else { return nil }
        let shorter = Token.Entry(prefix: prefix, seqs: SeqSet(range))
        return shorter.bytes <= room ? shorter : nil
    }
}

private func varintBytes(_ number: UInt64) -> Int {
    max(1, (64 - number.leadingZeroBitCount + 6) / 7)
}
