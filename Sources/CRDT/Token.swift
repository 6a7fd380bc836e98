import Wire

/// The changes that a client has seen of a cluster, as a text that it carries from node to node.
///
/// A token contains everything if that fits into `textBytesMax`; otherwise parts are left out, and
/// the token says so. Therefore it is read in two ways. Rounded down, `minimum` returns what was
/// certainly seen, which a watcher need not be sent again. Rounded up, `verdict` tells whether a
/// replica of a shard certainly holds everything that was seen; if the token cannot tell, the other
/// holders have to be asked.
///
/// For each shard, a token lists the entries of the vector that was seen, or a checkpoint, whose
/// vector the nodes know, and the entries beyond it. So its length depends neither on the age of
/// the cluster nor on the number of restarts. If no entries fit, only a name of the whole vector
/// remains; it suffices if that vector is a checkpoint, if a replica has exactly this vector, or if
/// the name is among the latest `HeldNames.countMax` of what the replica held.
///
/// A replica id is named by its first 32 bits. Ids are random, so an entry is mistaken for another
/// one of the n replica ids of a vector with a probability of n / 2^32: for a thousand, one in four
/// million. A vector is named by 32 bits of a hash, and is mistaken for one of at most 65 others
/// with a probability of 1 / 2^26, and for one of those that a replica held with 1 / 2^20.
public struct Token: Hashable, Sendable {
    /// The changes that were seen of one replica id of a shard.
    public struct Entry: Hashable, Sendable {
        /// The first 32 bits of the replica id.
        let prefix: UInt32
        /// The seqs that were seen; never empty.
        let seqs: SeqSet
    }

    /// The changes that were seen of one shard.
    public struct Part: Hashable, Sendable {
        public let shard: ShardID
        /// The name of a checkpoint that was seen; nil where the entries alone say everything.
        let checkpoint: UInt32?
        /// The entries, ascending by prefix, each prefix once.
        let entries: [Entry]
        /// Whether the checkpoint and the entries together are everything that was seen.
        let isWhole: Bool
    }

    /// The name of the whole vector that was seen of one shard.
    struct Name: Hashable, Sendable {
        let shard: ShardID
        let short: UInt32
    }

    /// The answer to whether a replica of a shard holds everything that was seen of the shard.
    public enum Verdict: Hashable, Sendable {
        case covered
        /// The token does not prove it: other replicas may hold changes that this one lacks.
        case lacking
    }

    /// The greatest length of a token's text, in bytes.
    public static let textBytesMax = 2_048

    /// A hash of the cluster's id.
    let cluster: UInt32
    /// The parts, ascending by shard.
    let parts: [Part]
    /// The names of shards that are not whole in `parts`, ascending by shard.
    let names: [Name]
    /// The changes beyond `parts` and `names` that a replay which has not ended has passed; without
    /// checkpoints, ascending by shard.
    let passed: [Part]
    /// For each of `passed`, all changes beyond that the replica held which told them.
    let targets: [Part]
    /// Whether the client saw something of shards that the token does not mention.
    public let isRounded: Bool
    /// A time not earlier than anything that was seen; the client's next write, on any node, is
    /// later.
    public let clock: HybridTimestamp
    /// The client's operations that may still be executed.
    public let unsettled: Unsettled
    /// Checksums of other data that the client was sent, at most `sumsMax`.
    ///
    /// Empty where these are not known.
    public var sums: [UInt32] = []

    public static let sumsMax = 8

    /// Whether the token belongs to this cluster.
    public func isOf(_ cluster: ClusterID) -> Bool { self.cluster == Token.hash(of: cluster) }

    static func hash(of cluster: ClusterID) -> UInt32 {
        UInt32(truncatingIfNeeded: checksum(cluster.encodedForToken))
    }
}

// MARK: Rounded down

extension Token {
    /// Returns the changes of a shard that were certainly seen, as far as the replica ids and
    /// checkpoints are known.
    ///
    /// - Parameter known: the vector of a replica of the shard. Entries whose replica id is not in
    ///   it, or is ambiguous in it, are ignored.
    public func minimum(
        of shard: ShardID, knowing known: Vector, _ checkpoints: Checkpoints = Checkpoints()
    ) -> Vector {
        let part = part(of: shard)
        var minimum = Vector()
        for name in [self.name(of: shard)?.short, part?.checkpoint].compactMap({ $0 }) {
            minimum.formUnion(checkpoints.vector(named: name, of: shard, or: known) ?? Vector())
        }
        if let part { minimum.formUnion(part.minimum(knowing: known)) }
        return minimum
    }
}

extension Token {
    /// Returns the changes beyond `minimum` that a replay has certainly passed, and those that a
    /// replica has to hold for this to count there.
    ///
    /// - Parameter known: the vector of a replica of the shard, as for `minimum`.
    /// - Returns: nil where the replay has passed nothing, or where not all of it is known.
    public func progress(
        of shard: ShardID, knowing known: Vector
    ) -> (passed: Vector, target: Vector)? {
        guard let part = targets.first(where: { $0.shard == shard }) else { return nil }
        let target = part.minimum(knowing: known)
        guard target.entries.count == part.entries.count else { return nil }
        let passed = passed.first { $0.shard == shard }?.minimum(knowing: known) ?? Vector()
        return passed.isEmpty ? nil : (passed, target)
    }
}

extension Token.Part {
    /// Returns the seqs of the entries whose replica ids are known.
    func minimum(knowing known: Vector) -> Vector {
        var minimum = Vector()
        for entry in entries {
            let replicas = known.entries.filter { $0.replica.prefix == entry.prefix }
            guard let replica = replicas.first?.replica, replicas.count == 1 else { continue }
            minimum.insert(entry.seqs, of: replica)
        }
        return minimum
    }
}

// MARK: Rounded up

extension Token {
    /// Whether a replica that holds `vector` holds everything that was seen of the shard.
    ///
    /// - Parameter held: the names of vectors that this replica holds.
    public func verdict(
        on vector: Vector, of shard: ShardID, _ checkpoints: Checkpoints = Checkpoints(),
        held: HeldNames = HeldNames()
    ) -> Verdict {
        func isHeld(_ name: UInt32) -> Bool {
            if held.contains(name) { return true }
            let named = checkpoints.vector(named: name, of: shard, or: vector)
            return named.map(vector.covers) ?? false
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

    /// Returns the shards of which something was seen, for a cluster with `count` shards.
    public func shards(of count: UInt16) -> [ShardID] {
        if isRounded { return (0..<count).map { ShardID($0) } }
        return Set(parts.map(\.shard) + names.map(\.shard)).filter { $0.number < count }.sorted()
    }

    /// Whether the token states the shard by the name of its whole vector alone, which only a
    /// checkpoint of that vector proves.
    public func isNamedOnly(_ shard: ShardID) -> Bool { name(of: shard) != nil }

    /// Whether the token says all that was seen, and needs no checkpoint for it.
    public var isPlain: Bool {
        !isRounded && names.isEmpty && parts.allSatisfy { $0.isWhole && $0.checkpoint == nil }
    }

    /// Returns a token of one shard only.
    public func narrowed(to shard: ShardID) -> Token {
        Token(
            cluster: cluster, parts: parts.filter { $0.shard == shard },
            names: names.filter { $0.shard == shard }, passed: [], targets: [],
            isRounded: isRounded, clock: clock, unsettled: unsettled)
    }

    /// Whether every replica id that the entry may mean has its seqs, since the right one is not
    /// known.
    private func isHeld(_ entry: Entry, in vector: Vector) -> Bool {
        let replicas = vector.entries.filter { $0.replica.prefix == entry.prefix }
        return !replicas.isEmpty && replicas.allSatisfy { $0.seqs.isSuperset(of: entry.seqs) }
    }

    private func part(of shard: ShardID) -> Part? { parts.first { $0.shard == shard } }

    private func name(of shard: ShardID) -> Name? { names.first { $0.shard == shard } }
}

extension RandomID {
    /// The bits that name the id in a token.
    var prefix: UInt32 { UInt32(truncatingIfNeeded: high >> 32) }

    var encodedForToken: [UInt8] {
        var writer = ByteWriter()
        writer.write(self)
        return writer.bytes
    }
}
