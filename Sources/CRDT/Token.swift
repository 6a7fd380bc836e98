import Wire

/// The changes that a client has seen of a cluster, as a text that it carries from node to node.
///
/// A token contains all changes that were seen if they fit into `textBytesMax`; otherwise it omits
/// parts and is marked as rounded. Therefore a token is read in two ways. Rounded down, `minimum`
/// returns the changes that were certainly seen, which need not be sent to a watcher again. Rounded
/// up, `verdict` returns whether a replica of a shard certainly has all changes that were seen; if
/// the token does not prove that, the node has to query the other holders.
///
/// For each shard, a token lists the entries of the vector that was seen, or a checkpoint, whose
/// vector the nodes know, and the entries beyond it. So the length of a token depends neither on
/// the age of the cluster nor on the number of restarts. If no entries fit, the token contains only
/// a name of the whole vector. The name suffices if the vector is a checkpoint, if a replica has
/// exactly this vector, or if the name is among the latest `HeldNames.countMax` names of the
/// replica's earlier vectors.
///
/// A replica id is named by its first 32 bits. Ids are random, so an entry is mistaken for another
/// one of the n replica ids of a vector with a probability of n / 2^32: for a thousand, 1 in four
/// million. A vector is named by 32 bits of a hash. A vector's name is mistaken for one of at most
/// 65 others with a probability of 1 / 2^26, and for one of a replica's earlier vectors with a
/// probability of 1 / 2^20.
public struct Token: Hashable, Sendable {
    /// The changes by one replica id of a shard that a client has seen.
    public struct Entry: Hashable, Sendable {
        /// The first 32 bits of the replica id.
        let prefix: UInt32
        /// The seqs of the replica id that were seen; never empty.
        let seqs: SeqSet
    }

    /// The changes of one shard that a client has seen.
    public struct Part: Hashable, Sendable {
        public let shard: ShardID
        /// The name of a checkpoint whose vector was seen; nil if the part has entries alone.
        let checkpoint: UInt32?
        /// The entries, ascending by prefix; each prefix occurs once.
        let entries: [Entry]
        /// Whether the checkpoint and the entries contain all changes of the shard that were seen.
        let isWhole: Bool
    }

    /// The name of the whole vector of one shard that a client has seen.
    struct Name: Hashable, Sendable {
        let shard: ShardID
        let short: UInt32
    }

    /// The answer to the question whether a shard's replica has all changes that were seen.
    public enum Verdict: Hashable, Sendable {
        case covered
        /// The token does not prove that the replica has them; other replicas may have more
        /// changes.
        case lacking
    }

    /// The greatest length of a token's text, in bytes.
    public static let textBytesMax = 2_048

    /// A hash of the cluster's id.
    let cluster: UInt32
    /// The parts of the token, ascending by shard.
    let parts: [Part]
    /// The names of the vectors of shards that are not whole in `parts`, ascending by shard.
    let names: [Name]
    /// The changes beyond `parts` and `names` that an unfinished replay has already sent, ascending
    /// by shard; these parts have no checkpoints.
    let passed: [Part]
    /// For each of `passed`, all changes beyond `parts` and `names` that the replaying replica had.
    let targets: [Part]
    /// Whether the client saw changes of shards that the token does not mention.
    public let isRounded: Bool
    /// A time no earlier than any change that was seen; the client's next write is later on any
    /// node.
    public let clock: HybridTimestamp
    /// The client's operations that may still be executed.
    public let unsettled: Unsettled
    /// Checksums of other data that the client was sent, at most `sumsMax`.
    ///
    /// The list of checksums is empty if they are unknown.
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
    /// Returns the changes beyond `minimum` that a replay has certainly sent, and the changes that
    /// a replica must have before it may skip these.
    ///
    /// - Parameter known: the vector of a replica of the shard, as for `minimum`.
    /// - Returns: nil if the replay has sent nothing, or if a replica id of the target is unknown.
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
    /// Returns whether a replica with the vector `vector` has all changes of the shard that were
    /// seen.
    ///
    /// - Parameter held: the names of the present and earlier vectors of the replica.
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

    /// Returns the shards of which changes were seen, for a cluster with `count` shards.
    public func shards(of count: UInt16) -> [ShardID] {
        if isRounded { return (0..<count).map { ShardID($0) } }
        return Set(parts.map(\.shard) + names.map(\.shard)).filter { $0.number < count }.sorted()
    }

    /// Returns whether the token describes the shard only by the name of its whole vector, which
    /// can be compared only by a node that knows a vector with this name.
    public func isNamedOnly(_ shard: ShardID) -> Bool { name(of: shard) != nil }

    /// Whether the token contains all changes that were seen, without a reference to a checkpoint.
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

    /// Returns whether `vector` contains the entry's seqs for every replica id with the entry's
    /// prefix, since the token does not contain the whole id.
    private func isHeld(_ entry: Entry, in vector: Vector) -> Bool {
        let replicas = vector.entries.filter { $0.replica.prefix == entry.prefix }
        return !replicas.isEmpty && replicas.allSatisfy { $0.seqs.isSuperset(of: entry.seqs) }
    }

    private func part(of shard: ShardID) -> Part? { parts.first { $0.shard == shard } }

    private func name(of shard: ShardID) -> Name? { names.first { $0.shard == shard } }
}

extension RandomID {
    /// The first 32 bits of the id, which name it in a token.
    var prefix: UInt32 { UInt32(truncatingIfNeeded: high >> 32) }

    var encodedForToken: [UInt8] {
        var writer = ByteWriter()
        writer.write(self)
        return writer.bytes
    }
}
