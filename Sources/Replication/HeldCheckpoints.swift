import CRDT
import Wire

/// The names of the checkpoints that the replicas of a node contain, by shard.
///
/// A node forgets most checkpoints after some dozens of changes, or of process starts. The names of
/// the checkpoints that its replica contains are kept longer. By these names a replica can accept
/// an old token without the vector that the token names, even if no other node is alive.
///
/// Invariant: a name is in this table, and on disk, only while the replica has all changes of the
/// named vector on disk. A name is added after the commit of the changes of its vector. `forget`
/// removes the names before the replica loses a change; the disk loses both in the same commit.
public struct HeldCheckpoints: Sendable {
    private var names: [ShardID: HeldNames] = [:]
    /// The known checkpoints of each shard that have not been found in its replica.
    private var open: [ShardID: Set<CheckpointID>] = [:]
    /// The hash of the vector with which all open checkpoints of a shard were compared.
    private var compared: [ShardID: UInt64] = [:]
    /// The chunks of names that have changed since `takeUnstored` last returned them.
    private var unstored: Set<Chunk> = []
    /// The chunk that `takeUnstored` returned last, and the time of that call in milliseconds.
    private var lastTaken = (chunk: Chunk(shard: ShardID(0), index: 0), at: UInt64(0))

    /// The greatest number of chunks that are stored in a second; a chunk has at most 1 KiB.
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

    /// The shards with known checkpoints that were not found in the shard's replica, ascending.
    public var openShards: [ShardID] { open.keys.sorted() }

    /// Adds checkpoints that this node has received or created.
    mutating func noteKnown(_ ids: [CheckpointID], of shard: ShardID) {
        guard !ids.isEmpty else { return }
        open[shard, default: []].formUnion(ids)
        compared[shard] = nil
    }

    /// Adds the names of the known checkpoints that a replica contains.
    ///
    /// - Parameter stored: the vector of the replica's state on disk, and a hash that differs if
    ///   the vector differs; nil if this node has no replica.
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

    /// Removes all names of a shard whose replica is about to lose changes.
    ///
    /// - Returns: the chunks that have to be emptied in the commit that loses the changes.
    mutating func forget(_ shard: ShardID, known: CheckpointHistory) -> [Chunk] {
        let chunks = self[shard].chunkIndices.map { Chunk(shard: shard, index: $0) }
        names[shard] = nil
        noteKnown(known.ids, of: shard)
        unstored = unstored.filter { $0.shard != shard }
        return chunks
    }

    // MARK: Disk

    /// Removes and returns the chunks to store now, in the order of the shards, after the chunk
    /// that was returned last.
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

    /// Reads a stored chunk; an emptied chunk has no bytes.
    mutating func load(_ bytes: [UInt8], of chunk: Chunk) throws(WireError) {
        guard !bytes.isEmpty else { return }
        try names[chunk.shard, default: HeldNames()].load(bytes, at: chunk.index)
    }
}
