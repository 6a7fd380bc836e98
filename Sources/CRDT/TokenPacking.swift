import Wire

extension Token {
    /// What was seen, as far as it fits.
    ///
    /// Each shard is named by all its entries where there is room, else by its seal. For SINCE a
    /// seal is worth most for its bytes, so entries take only what seals leave; then the shards
    /// that did not fit whole get what entries still fit.
    ///
    /// - Parameters:
    ///   - seen: ascending by shard, each once.
    ///   - first: the shards that matter most, in that order; behind them those of the most seqs.
    public init(
        of seen: [(shard: ShardID, vector: Vector)], first: [ShardID] = [], cluster: ClusterID
    ) {
        let ranks = Dictionary(zip(first, 0...)) { one, _ in one }
        let order = seen.filter { !$0.vector.isEmpty }.map { shard, vector in
            (shard: shard, vector: vector, rank: ranks[shard] ?? .max, count: vector.count)
        }.sorted {
            ($0.rank, $1.count, $0.shard) < ($1.rank, $0.count, $1.shard)
        }
        var packing = TokenPacking(sealing: order.map(\.shard))
        for (shard, vector, _, _) in order { packing.add(vector, of: shard) }
        packing.fill()
        self.init(
            cluster: Token.hash(of: cluster),
            parts: packing.parts.sorted { $0.shard < $1.shard },
            seals: packing.seals.sorted { $0.shard < $1.shard }, isRounded: packing.isRounded)
    }
}

/// What is put into a token, the most important first.
private struct TokenPacking {
    var parts: [Token.Part] = []
    var seals: [Token.Seal] = []
    var isRounded = false
    /// How many bytes there are for parts and seals.
    private var room = Token.bodyBytesMax
    /// How many of those the seals of the shards that are still to come take.
    private var reserved: Int
    /// What did not fit whole and has a seal, in order.
    private var sealed: [(shard: ShardID, entries: [Token.Entry])] = []

    init(sealing shards: [ShardID]) {
        reserved = shards.reduce(0) { $0 + Token.Seal.bytesMax(of: $1) }
    }

    mutating func add(_ vector: Vector, of shard: ShardID) {
        reserved -= Token.Seal.bytesMax(of: shard)
        let entries = TokenPacking.entries(of: vector)
        if entries.count == vector.entries.count {
            let part = Token.Part(shard: shard, entries: entries, isWhole: true)
            if part.bytesMax + reserved <= room {
                room -= part.bytesMax
                parts.append(part)
                return
            }
        }
        guard Token.Seal.bytesMax(of: shard) <= room else {
            isRounded = true
            return
        }
        room -= Token.Seal.bytesMax(of: shard)
        seals.append(Token.Seal(shard, of: vector))
        sealed.append((shard, entries))
    }

    /// Gives what room is left to the shards that have only a seal.
    mutating func fill() {
        for (shard, entries) in sealed {
            var kept: [Token.Entry] = []
            var bytes = Token.Part(shard: shard, entries: [], isWhole: false).bytesMax
            for entry in entries.sorted(by: { $1.seqs.count < $0.seqs.count }) {
                guard let entry = entry.fitting(room - bytes) else { continue }
                bytes += entry.bytes
                kept.append(entry)
            }
            guard !kept.isEmpty else { continue }
            kept.sort { $0.prefix < $1.prefix }
            let part = Token.Part(shard: shard, entries: kept, isWhole: false)
            // A count of many entries takes a byte more than one of none.
            guard part.bytesMax <= room else { continue }
            room -= part.bytesMax
            parts.append(part)
        }
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
    /// The most bytes that it takes, whatever stands before it.
    var bytesMax: Int {
        varintBytes(UInt64(shard.number)) + varintBytes(UInt64(entries.count) << 1)
            + entries.reduce(0) { $0 + $1.bytes }
    }
}

extension Token.Seal {
    /// The most bytes that one takes, whatever stands before it.
    static func bytesMax(of shard: ShardID) -> Int {
        varintBytes(UInt64(shard.number)) + 3
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
