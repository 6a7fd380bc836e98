import Wire

/// What a client has seen of a cluster, in a word that it carries from node to node.
///
/// All of it where it fits into `textBytesMax`; what does not fit is left out, and the token says
/// so. So it is read in two ways. Rounded down, `floor` gives what was surely seen: what a watcher
/// need not be told again. Rounded up, `verdict` says whether a copy surely holds all that was
/// seen; where a token cannot tell, whoever holds the shard has to be asked.
///
/// A replica is named by its first 32 bits. The id is random, so a token's entry is taken for
/// another's, of n replicas that a copy knows of the shard, with a chance of n / 2^32: for a
/// thousand of them, one in four million. Of a shard that did not fit there is a seal, 24 bits of
/// a hash: a copy of another state has the same one with a chance of 1 / 2^24.
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
        /// Ascending by prefix, each once.
        let entries: [Entry]
        /// Whether the entries are all that was seen.
        let isWhole: Bool
    }

    /// A hash of all that was seen of one shard.
    struct Seal: Hashable, Sendable {
        let shard: ShardID
        /// 24 bits.
        let hash: UInt32
    }

    /// Whether a copy of a shard holds all that was seen of it.
    public enum Verdict: Hashable, Sendable {
        case covered
        /// Not as far as the token tells: others may hold what this copy lacks.
        case lacking
    }

    /// The most bytes of a token, as text.
    public static let textBytesMax = 512

    /// A hash of the id of its cluster.
    let cluster: UInt32
    /// Ascending by shard.
    let parts: [Part]
    /// Ascending by shard.
    let seals: [Seal]
    /// Whether something was seen of shards that it does not name.
    public let isRounded: Bool

    /// Whether it is of this cluster.
    public func isOf(_ cluster: ClusterID) -> Bool { self.cluster == Token.hash(of: cluster) }

    static func hash(of cluster: ClusterID) -> UInt32 {
        UInt32(truncatingIfNeeded: checksum(cluster.encodedForToken))
    }
}

// MARK: Rounded down

extension Token {
    /// What was surely seen of a shard, as far as its replicas are known.
    ///
    /// - Parameter known: what a copy of the shard holds. A replica that it does not know, or that
    ///   it cannot tell from another, counts for nothing.
    public func floor(of shard: ShardID, knowing known: Vector) -> Vector {
        if seal(of: shard) == Seal(shard, of: known) { return known }
        var floor = Vector()
        for entry in part(of: shard)?.entries ?? [] {
            let replicas = known.entries.filter { $0.replica.prefix == entry.prefix }
            guard let replica = replicas.first?.replica, replicas.count == 1 else { continue }
            floor.insert(entry.seqs, of: replica)
        }
        return floor
    }
}

// MARK: Rounded up

extension Token {
    /// Whether a copy that holds `vector` holds all that was seen of the shard.
    public func verdict(on vector: Vector, of shard: ShardID) -> Verdict {
        if let part = part(of: shard), part.isWhole {
            return part.entries.allSatisfy { isHeld($0, in: vector) } ? .covered : .lacking
        }
        if let seal = seal(of: shard) {
            return seal == Seal(shard, of: vector) ? .covered : .lacking
        }
        return isRounded || part(of: shard) != nil ? .lacking : .covered
    }

    /// The shards of which something was seen, out of so many.
    public func shards(of count: UInt16) -> [ShardID] {
        if isRounded { return (0..<count).map { ShardID($0) } }
        return Set(parts.map(\.shard) + seals.map(\.shard)).filter { $0.number < count }.sorted()
    }

    /// What it says of one shard alone.
    public func narrowed(to shard: ShardID) -> Token {
        Token(
            cluster: cluster, parts: parts.filter { $0.shard == shard },
            seals: seals.filter { $0.shard == shard }, isRounded: isRounded)
    }

    /// Every replica that may be meant has to have it: one of several cannot be told.
    private func isHeld(_ entry: Entry, in vector: Vector) -> Bool {
        let replicas = vector.entries.filter { $0.replica.prefix == entry.prefix }
        return !replicas.isEmpty && replicas.allSatisfy { $0.seqs.isSuperset(of: entry.seqs) }
    }

    private func part(of shard: ShardID) -> Part? { parts.first { $0.shard == shard } }

    private func seal(of shard: ShardID) -> Seal? { seals.first { $0.shard == shard } }
}

extension Token.Seal {
    init(_ shard: ShardID, of vector: Vector) {
        self.shard = shard
        hash = UInt32(truncatingIfNeeded: checksum(vector.encoded)) & 0xFF_FFFF
    }
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
