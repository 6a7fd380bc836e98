import CRDT
import Chat
import Wire

/// What is committed and lies in the write log alone, for the thread that reads.
///
/// Whatever is in it is at least as late as what the tables say of the same document. Memtables
/// come and go as a whole; there are at most two or three at a time.
struct Overlay {
    private struct Memtable {
        let number: UInt64
        var shards: [ShardID: OverlayShard] = [:]
    }

    /// Ascending.
    private var memtables: [Memtable] = []

    /// Adds what a transaction wrote to the write log.
    mutating func add(_ batch: WriteBatch, memtable: UInt64) {
        if memtables.last?.number != memtable {
            memtables.append(Memtable(number: memtable))
        }
        let last = memtables.count - 1
        for write in batch.shards {
            memtables[last].shards[write.shard, default: OverlayShard()].add(write.documents)
        }
    }

    /// The memtable is in the tables, and all before it.
    mutating func remove(upTo memtable: UInt64) {
        memtables.removeAll { $0.number <= memtable }
    }

    /// The shards of which there is anything, ascending.
    var shards: [ShardID] { Set(memtables.flatMap(\.shards.keys)).sorted() }

    /// What there is of a shard, the latest first; nil where there is nothing.
    mutating func layers(of shard: ShardID) -> OverlayLayers? {
        for index in memtables.indices { memtables[index].shards[shard]?.index() }
        let layers = memtables.reversed().compactMap { $0.shards[shard] }
        return layers.isEmpty ? nil : OverlayLayers(layers: layers)
    }
}
