import CRDT
import Wire

/// A node's table of the checkpoints of all shards, and the protocol that keeps it equal to the
/// tables of the other nodes.
///
/// The first living owner of a shard names the shard's vector, at most once a second and only if
/// the vector has changed, and sends this checkpoint to every node. Two nodes that connect compare
/// the newest checkpoint of each shard, and send each other the history where they differ; so a
/// node that was cut off or has just started receives the checkpoints that it missed. A lost frame
/// is not repeated: tokens that need the frame's checkpoint are less precise until the two nodes
/// connect again. Each node stores its table with a delay of some seconds.
public struct CheckpointExchange: Sendable {
    public private(set) var known = Checkpoints()
    /// The names of the checkpoints that the replicas of this node contain.
    public private(set) var held = HeldCheckpoints()
    /// The next shard to compare with each connected node; no entry after the last shard.
    private var cursors: [NodeName: UInt16] = [:]
    /// When this node last named vectors of its replicas, in milliseconds.
    private var namedAt: UInt64 = 0
    /// By shard, the hash of the replica's state when its vector was last named.
    private var named: [ShardID: UInt64] = [:]

    /// The number of vectors of each shard named for tokens since `since`, a time in milliseconds.
    private var namedForTokens: [ShardID: (since: UInt64, count: Int)] = [:]
    /// The shards whose histories have changed since `takeUnstored` last returned them.
    private var unstored: Set<ShardID> = []
    /// The shard whose history `takeUnstored` returned last, and the time of that call in
    /// milliseconds.
    private var lastStored = (shard: ShardID(0), at: UInt64(0))

    /// The size in bytes from which no further history is stored in the same second: a small
    /// fraction of the bytes of the writes that change so many histories.
    static let storedBytesPerSecond = 32 << 10
    /// The greatest size of a stored history, in bytes; larger histories are kept in memory only.
    static let storedBytesMax = 128 << 10
    /// The greatest number of namings of a shard for tokens within `tokenPauseMilliseconds`; more
    /// namings would evict checkpoints that other tokens need.
    static let tokenNamesMax = 4
    static let tokenPauseMilliseconds: UInt64 = 100
    /// The shortest time between two namings, in milliseconds.
    static let pauseMilliseconds: UInt64 = 1_000
    /// The greatest number of shards that are compared with one node in one tick.
    static let questionsMax: UInt16 = 64

    /// A frame to one node, or to every connected node.
    public enum Directive: Hashable, Sendable {
        case send(CheckpointFrame, to: NodeName)
        case sendToAll(CheckpointFrame)
    }

    /// The state on disk of a replica whose vector this node has to name.
    public struct Candidate: Sendable {
        let shard: ShardID
        /// A hash of the replica's state that differs if the vector differs.
        let hash: UInt64
        let vector: Vector

        public init(_ shard: ShardID, hash: UInt64, vector: Vector) {
            self.shard = shard
            self.hash = hash
            self.vector = vector
        }
    }

    public init() {}

    public mutating func onConnected(_ peer: NodeName) { cursors[peer] = 0 }

    public mutating func onDisconnected(_ peer: NodeName) { cursors[peer] = nil }

    /// - Parameters:
    ///   - shards: the number of shards of the cluster.
    ///   - candidates: returns the replicas of shards whose first living owner is this node; called
    ///     once a second.
    public mutating func onTick(
        now: UInt64, shards: UInt16, _ candidates: () -> [Candidate]
    ) -> [Directive] {
        var directives: [Directive] = []
        for (peer, next) in cursors.sorted(by: { $0.key < $1.key }) {
            let end = next + min(CheckpointExchange.questionsMax, shards - min(next, shards))
            for number in next..<end {
                let shard = ShardID(number)
                directives.append(
                    .send(.compare(shard, newest: known[shard].newest), to: peer))
            }
            cursors[peer] = end < shards ? end : nil
        }
        guard now >= namedAt + CheckpointExchange.pauseMilliseconds else { return directives }
        namedAt = now
        return directives + candidates().compactMap { name($0) }
    }

    /// Names the vectors that a token refers to only by name, and returns the frames that announce
    /// the names to every node before the token leaves.
    ///
    /// A vector that does not contain the newest checkpoint is named more rarely, since newer
    /// checkpoints soon evict it. Connections that do not read a shard again keep an old vector.
    public mutating func nameForTokens(
        _ vectors: [(shard: ShardID, vector: Vector)], now: UInt64
    ) -> [Directive] {
        vectors.compactMap { shard, vector in
            guard !known[shard].contains(CheckpointID(of: vector)) else { return nil }
            let last = namedForTokens[shard] ?? (now, 0)
            let isOver = now >= last.since + CheckpointExchange.tokenPauseMilliseconds
            let (since, count) = isOver ? (now, 0) : last
            let isLatest = vector.covers(known[shard].newestVector)
            guard count < (isLatest ? CheckpointExchange.tokenNamesMax : 1) else { return nil }
            namedForTokens[shard] = (since, count + 1)
            return name(vector, of: shard)
        }
    }

    private mutating func name(_ candidate: Candidate) -> Directive? {
        let shard = candidate.shard
        guard named[shard] != candidate.hash else { return nil }
        named[shard] = candidate.hash
        return name(candidate.vector, of: shard)
    }

    private mutating func name(_ vector: Vector, of shard: ShardID) -> Directive? {
        let (previous, before) = (known[shard].newest, known[shard].newestVector)
        guard !vector.isEmpty, !known[shard].contains(CheckpointID(of: vector)) else { return nil }
        add(vector, to: shard)
        guard known[shard].contains(CheckpointID(of: vector)) else { return nil }
        // After a partition, the vector may lack changes of the last checkpoint; the vector is then
        // sent whole.
        guard vector.covers(before) else {
            return .sendToAll(.checkpoint(shard, beyond: nil, vector))
        }
        return .sendToAll(.checkpoint(shard, beyond: previous, vector.subtracting(before)))
    }

    /// Handles a frame of another node, and returns the frames that answer it.
    public mutating func receive(_ frame: CheckpointFrame, from peer: NodeName) -> [Directive] {
        switch frame {
        case .checkpoint(let shard, nil, let vector):
            add(vector, to: shard)
        case .checkpoint(let shard, let previous?, let changes):
            guard let before = known[shard].vector(named: previous) else {
                return [.send(.compare(shard, newest: nil), to: peer)]
            }
            add(before.union(changes), to: shard)
        case .compare(let shard, let newest):
            let history = known[shard]
            guard !history.isEmpty, history.newest != newest else { return [] }
            return [.send(.history(shard, history), to: peer)]
        case .history(let shard, let history):
            held.noteKnown(history.ids.filter { !known[shard].contains($0) }, of: shard)
            known.formUnion(history, of: shard)
            unstored.insert(shard)
        }
        return []
    }

    private mutating func add(_ vector: Vector, to shard: ShardID) {
        held.noteKnown([CheckpointID(of: vector)], of: shard)
        known.add(vector, to: shard)
        unstored.insert(shard)
    }

    // MARK: Names

    /// Adds the names of the checkpoints that a replica of this node contains.
    ///
    /// - Parameter stored: the vector of the replica's state on disk, and a hash that differs if
    ///   the vector differs; nil if this node has no replica.
    public mutating func noteStored(
        _ stored: (hash: UInt64, vector: Vector)?, of shard: ShardID
    ) {
        held.noteStored(stored, of: shard, in: known[shard])
    }

    /// Marks all known checkpoints of a shard for comparison with this node's replica of the shard.
    public mutating func noteReplica(of shard: ShardID) {
        held.noteKnown(known[shard].ids, of: shard)
    }

    /// Removes all names of a shard whose replica on this node is about to lose changes.
    ///
    /// - Returns: the chunks that have to be emptied in the commit that loses the changes.
    public mutating func forgetHeld(_ shard: ShardID) -> [HeldCheckpoints.Chunk] {
        held.forget(shard, known: known[shard])
    }

    // MARK: Disk

    /// Removes and returns the histories to store now: a few in a second, the shards in turn.
    ///
    /// Stored histories keep tokens valid after all nodes were down at once.
    public mutating func takeUnstored(now: UInt64) -> [(shard: ShardID, bytes: [UInt8])] {
        guard !unstored.isEmpty, now >= lastStored.at + CheckpointExchange.pauseMilliseconds else {
            return []
        }
        lastStored.at = now
        var taken: [(shard: ShardID, bytes: [UInt8])] = []
        var left = CheckpointExchange.storedBytesPerSecond
        while left > 0, let shard = nextUnstored {
            unstored.remove(shard)
            lastStored.shard = shard
            let bytes = known[shard].encoded
            guard bytes.count <= CheckpointExchange.storedBytesMax else { continue }
            left -= bytes.count
            taken.append((shard, bytes))
        }
        return taken
    }

    /// Removes and returns the chunks of names to store now, a few in a second.
    public mutating func takeUnstoredNames(
        now: UInt64
    ) -> [(chunk: HeldCheckpoints.Chunk, bytes: [UInt8])] {
        held.takeUnstored(now: now)
    }

    private var nextUnstored: ShardID? {
        unstored.filter { $0 > lastStored.shard }.min() ?? unstored.min()
    }

    /// Reads a stored history of a shard.
    public mutating func load(_ bytes: [UInt8], of shard: ShardID) throws(WireError) {
        known.formUnion(try CheckpointHistory.decode(bytes), of: shard)
    }

    /// Reads a stored chunk of names.
    public mutating func load(
        _ bytes: [UInt8], of chunk: HeldCheckpoints.Chunk
    ) throws(WireError) {
        try held.load(bytes, of: chunk)
    }
}

/// The messages that nodes exchange about checkpoints.
public enum CheckpointFrame: Hashable, Sendable {
    /// A checkpoint: a whole vector, or its changes that an earlier checkpoint does not contain.
    case checkpoint(ShardID, beyond: CheckpointID?, Vector)
    /// A request for the receiver's history if its newest checkpoint differs from the sender's.
    case compare(ShardID, newest: CheckpointID?)
    case history(ShardID, CheckpointHistory)

    /// The shard to which the frame belongs.
    public var shard: ShardID {
        switch self {
        case .checkpoint(let shard, _, _), .compare(let shard, _), .history(let shard, _): shard
        }
    }
}

extension CheckpointFrame: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .checkpoint(let shard, let previous, let vector):
            writer.write(1)
            writer.write(shard)
            CheckpointFrame.write(previous, to: &writer)
            vector.encode(into: &writer)
        case .compare(let shard, let newest):
            writer.write(2)
            writer.write(shard)
            CheckpointFrame.write(newest, to: &writer)
        case .history(let shard, let history):
            writer.write(3)
            writer.write(shard)
            history.encode(into: &writer)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let kind = try reader.readByte()
        let shard = try reader.readShard()
        switch kind {
        case 1:
            let previous = try CheckpointFrame.readID(from: &reader)
            self = .checkpoint(shard, beyond: previous, try Vector(sharedFrom: &reader))
        case 2: self = .compare(shard, newest: try CheckpointFrame.readID(from: &reader))
        case 3: self = .history(shard, try CheckpointHistory(from: &reader))
        default: throw .unknown
        }
    }

    private static func write(_ id: CheckpointID?, to writer: inout ByteWriter) {
        writer.write(id != nil)
        if let id { writer.write(fixed: id.bits) }
    }

    private static func readID(
        from reader: inout ByteReader
    ) throws(WireError) -> CheckpointID? {
        guard try reader.readFlag() else { return nil }
        return CheckpointID(bits: try reader.readFixed())
    }
}
