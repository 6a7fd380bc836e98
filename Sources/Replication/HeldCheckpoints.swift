import CRDT
import Wire

/// The names of the checkpoints that the replicas of a node hold, by shard.
///
/// A node forgets most checkpoints after some dozens of changes, or of process starts. What its
/// replica held of them it goes on to know by name, so that the token of a client that was away for
/// long is good at each replica that held what it names, whichever other nodes are dead.
///
/// Invariant: a name is here, and on disk, only while the replica's disk holds all changes of the
/// vector. A name is added after the commit of the changes, and `forget` is carried out before the
/// replica loses any, in the same commit on disk.
public struct HeldCheckpoints: Sendable {
    private var names: [ShardID: HeldNames] = [:]
    /// The known checkpoints that the replicas were not yet found to hold.
    private var open: [ShardID: Set<CheckpointID>] = [:]
    /// The hash of the vector with which all open checkpoints of a shard were compared.
    private var compared: [ShardID: UInt64] = [:]
    /// The chunks of names that have changed since they were last taken for the disk.
    private var unstored: Set<Chunk> = []
    /// The chunk that was last taken, and when, in milliseconds.
    private var lastTaken = (chunk: Chunk(shard: ShardID(0), index: 0), at: UInt64(0))

    /// The most chunks that are stored in a second, of 1 KiB at most.
    static let chunksPerSecond = 16

    /// A part of a shard's names, the unit in which they are stored.
    public struct Chunk: Hashable, Comparable, Sendable {
        public let shard: ShardID
        public let index: Int

        public init(shard: ShardID, index: Int) {
            self.shard = shard
            self.index = index
        }

        public static func < (left: Self, right: Self) -> Bool {
            (left.shard, left.index) < (right.shard, right.index)
        }
    }

    public init() {}

    public subscript(shard: ShardID) -> HeldNames { names[shard] ?? HeldNames() }

    /// The shards with known checkpoints that may have come to be held.
    public var openShards: [ShardID] { open.keys.sorted() }

    /// Notes checkpoints that the node has come to know.
    mutating func noteKnown(_ ids: [CheckpointID], of shard: ShardID) {
        guard !ids.isEmpty else { return }
        open[shard, default: []].formUnion(ids)
        compared[shard] = nil
    }

    /// Takes the names of those known checkpoints that a replica holds.
    ///
    /// - Parameter stored: the vector of what is on the replica's disk, and a hash that differs
    ///   where the vector does; nil where there is no replica.
    mutating func noteStored(
        _ stored: (hash: UInt64, vector: Vector)?, of shard: ShardID, in history: CheckpointHistory
    ) {
        guard let stored else {
            open[shard] = nil
            return
        }
        guard compared[shard] != stored.hash, let ids = open.removeValue(forKey: shard) else {
            return
        }
        let covered = history.covered(by: stored.vector, of: ids)
        for id in covered {
            if let index = names[shard, default: HeldNames()].insert(id) {
                unstored.insert(Chunk(shard: shard, index: index))
            }
        }
        noteKnown(ids.subtracting(covered).filter(history.contains), of: shard)
        compared[shard] = stored.hash
    }

    /// Forgets all names of a shard, whose replica is about to lose something.
    ///
    /// - Returns: the chunks that have to be emptied in the commit with the loss.
    mutating func forget(_ shard: ShardID, known: CheckpointHistory) -> [Chunk] {
        let chunks = self[shard].chunkIndices.map { Chunk(shard: shard, index: $0) }
        names[shard] = nil
        noteKnown(known.ids, of: shard)
        unstored = unstored.filter { $0.shard != shard }
        return chunks
    }

    // MARK: Disk

    /// Takes chunks that are to be stored, the shards in turn.
    mutating func takeUnstored(now: UInt64) -> [(chunk: Chunk, bytes: [UInt8])] {
        guard !unstored.isEmpty, now >= lastTaken.at + CheckpointExchange.pauseMilliseconds
        else { return [] }
        lastTaken.at = now
        let (last, sorted) = (lastTaken.chunk, unstored.sorted())
        let inTurn = sorted.filter { last < $0 } + sorted.filter { !(last < $0) }
        return inTurn.prefix(HeldCheckpoints.chunksPerSecond).map { chunk in
            unstored.remove(chunk)
            lastTaken.chunk = chunk
            return (chunk, self[chunk.shard].encodedChunk(chunk.index))
        }
    }

    /// Reads a chunk that was stored; an emptied one has no bytes.
    mutating func load(_ bytes: [UInt8], of chunk: Chunk) throws(WireError) {
        guard !bytes.isEmpty else { return }
        try names[chunk.shard, default: HeldNames()].load(bytes, at: chunk.index)
    }
}
