import CRDT
import Chat
import Wire

/// What is committed and lies in the journal alone, for the thread that reads.
///
/// Whatever is in it is at least as late as what the tables say of the same document. Generations
/// come and go as a whole; there are at most two or three at a time.
struct Overlay {
    private struct Generation {
        let number: UInt64
        var shards: [ShardID: OverlayShard] = [:]
    }

    /// Ascending.
    private var generations: [Generation] = []

    /// Adds what a transaction wrote to the journal.
    mutating func add(_ batch: WriteBatch, generation: UInt64) {
        if generations.last?.number != generation {
            generations.append(Generation(number: generation))
        }
        let last = generations.count - 1
        for write in batch.shards {
            generations[last].shards[write.shard, default: OverlayShard()].add(write.documents)
        }
    }

    /// The generation is in the tables, and all before it.
    mutating func remove(upTo generation: UInt64) {
        generations.removeAll { $0.number <= generation }
    }

    /// The shards of which there is anything, ascending.
    var shards: [ShardID] { Set(generations.flatMap(\.shards.keys)).sorted() }

    /// What there is of a shard, the latest first; nil where there is nothing.
    mutating func layers(of shard: ShardID) -> OverlayLayers? {
        for index in generations.indices { generations[index].shards[shard]?.index() }
        let layers = generations.reversed().compactMap { $0.shards[shard] }
        return layers.isEmpty ? nil : OverlayLayers(layers: layers)
    }
}
