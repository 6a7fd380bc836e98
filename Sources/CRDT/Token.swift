import Wire

/// What a client has seen of a cluster, in a word that it carries from node to node.
///
/// All of it where it fits into `textBytesMax`; what does not fit is left out, and the token says
/// so. So it is read in two ways. Rounded down, `minimum` gives what was surely seen: what a
/// watcher need not be told again. Rounded up, `verdict` says whether a replica of a shard
/// surely holds all that was seen; where a token cannot tell, whoever holds the shard has to be
/// asked.
///
/// Of a shard it names the entries of the vector that was seen, or a checkpoint, whose vector the
/// nodes know, and the entries beyond it. So its length depends neither on the age of the cluster
/// nor on how often its nodes were restarted. Where no entries fit, a name of the whole vector is
/// left, which says all where that is a checkpoint, or where a replica holds just that.
///
/// A replica id is named by its first 32 bits. The id is random, so a token's entry is taken for
/// another's, of n replica ids that a vector lists, with a chance of n / 2^32: for a thousand of
/// them, one in four million. A vector is named by 32 bits of a hash: it is taken for another one
/// of at most 65 with a chance of 1 / 2^26.
public struct Token: Hashable, Sendable {
    /// What was seen of one replica's changes of a shard.
    public struct Entry: Hashable, Sendable {
        /// The first 32 bits of its id.
        let prefix: UInt32
        /// Never empty.
        let seqs: SeqSet
    }

    /// What was seen of one shard.
    public struct Part: Hashable, Sendable {
        public let shard: ShardID
        /// The name of a checkpoint that was seen; nil where the entries are all.
        let checkpoint: UInt32?
        /// Ascending by prefix, each once.
        let entries: [Entry]
        /// Whether the checkpoint and the entries are all that was seen.
        let isWhole: Bool
    }

    /// The name of all that was seen of one shard.
    struct Name: Hashable, Sendable {
        let shard: ShardID
        let short: UInt32
    }

    /// Whether a replica of a shard holds all that was seen of it.
    public enum Verdict: Hashable, Sendable {
        case covered
        /// Not as far as the token tells: others may hold what this replica lacks.
        case lacking
    }

    /// The most bytes of a token, as text.
    public static let textBytesMax = 512

    /// A hash of the id of its cluster.
    let cluster: UInt32
    /// Ascending by shard.
    let parts: [Part]
    /// Of shards that are not whole in `parts`; ascending by shard.
    let names: [Name]
    /// Whether something was seen of shards that it does not name.
    public let isRounded: Bool
    /// No earlier than anything that was seen: what its client writes next, anywhere, is later.
    public let clock: HybridTimestamp
    /// What its client asked for and may be executed yet.
    public let unsettled: Unsettled
    /// Checksums of what else its client was told, at most `sumsMax`.
    ///
    /// Empty where that is not known.
    public var sums: [UInt32] = []

    public static let sumsMax = 8

    /// Whether it is of this cluster.
    public func isOf(_ cluster: ClusterID) -> Bool { self.cluster == Token.hash(of: cluster) }

    static func hash(of cluster: ClusterID) -> UInt32 {
        UInt32(truncatingIfNeeded: checksum(cluster.encodedForToken))
    }
}

// MARK: Rounded down

extension Token {
    /// What was surely seen of a shard, as far as its replica ids and its checkpoints are known.
    ///
    /// - Parameter known: what a replica of the shard holds. A replica id that is not in it, or
    ///   that cannot be told from another, counts for nothing.
    public func minimum(
        of shard: ShardID, knowing known: Vector, _ checkpoints: Checkpoints = Checkpoints()
    ) -> Vector {
        let part = part(of: shard)
        var minimum = Vector()
        for name in [self.name(of: shard)?.short, part?.checkpoint].compactMap({ $0 }) {
            minimum.formUnion(checkpoints.vector(named: name, of: shard, or: known) ?? Vector())
        }
        for entry in part?.entries ?? [] {
            let replicas = known.entries.filter { $0.replica.prefix == entry.prefix }
            guard let replica = replicas.first?.replica, replicas.count == 1 else { continue }
            minimum.insert(entry.seqs, of: replica)
        }
        return minimum
    }
}

// MARK: Rounded up

extension Token {
    /// Whether a replica that holds `vector` holds all that was seen of the shard.
    public func verdict(
        on vector: Vector, of shard: ShardID, _ checkpoints: Checkpoints = Checkpoints()
    ) -> Verdict {
        func isHeld(_ name: UInt32) -> Bool {
            checkpoints.vector(named: name, of: shard, or: vector).map(vector.covers) ?? false
        }
        if let part = part(of: shard), part.isWhole {
            let isCovered =
                (part.checkpoint.map(isHeld) ?? true)
                && part.entries.allSatisfy { self.isHeld($0, in: vector) }
            return isCovered ? .covered : .lacking
        }
        if let name = name(of: shard) { return isHeld(name.short) ? .covered : .lacking }
        return isRounded || part(of: shard) != nil ? .lacking : .covered
    }

    /// The shards of which something was seen, out of so many.
    public func shards(of count: UInt16) -> [ShardID] {
        if isRounded { return (0..<count).map { ShardID($0) } }
        return Set(parts.map(\.shard) + names.map(\.shard)).filter { $0.number < count }.sorted()
    }

    /// What it says of one shard alone.
    public func narrowed(to shard: ShardID) -> Token {
        Token(
            cluster: cluster, parts: parts.filter { $0.shard == shard },
            names: names.filter { $0.shard == shard }, isRounded: isRounded, clock: clock,
            unsettled: unsettled)
    }

    /// Every replica id that may be meant has to have it: one of several cannot be told.
    private func isHeld(_ entry: Entry, in vector: Vector) -> Bool {
        let replicas = vector.entries.filter { $0.replica.prefix == entry.prefix }
        return !replicas.isEmpty && replicas.allSatisfy { $0.seqs.isSuperset(of: entry.seqs) }
    }

    private func part(of shard: ShardID) -> Part? { parts.first { $0.shard == shard } }

    private func name(of shard: ShardID) -> Name? { names.first { $0.shard == shard } }
}

extension RandomID {
    /// What names it in a token.
    var prefix: UInt32 { UInt32(truncatingIfNeeded: high >> 32) }

    var encodedForToken: [UInt8] {
        var writer = ByteWriter()
        writer.write(self)
        return writer.bytes
    }
}
