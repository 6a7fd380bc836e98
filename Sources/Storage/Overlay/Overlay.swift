import CRDT
import Chat
import StorePort
import Wire

/// The committed records that are only in the write log, for the reading thread.
///
/// A record in the overlay is at least as recent as the document in the tables. Memtables are added
/// and removed as a whole; at most two or three exist at a time.
struct Overlay {
    private struct Memtable {
        let number: UInt64
        var shards: [ShardID: OverlayShard] = [:]

        mutating func record(_ key: DocumentKey, in shard: ShardID) -> Record? {
            guard let place = shards.index(forKey: shard) else { return nil }
            return shards.values[place].record(key)
        }
    }

    /// The memtables, ascending by number.
    private var memtables: [Memtable] = []

    /// Adds the records of a batch that was written to the write log.
    mutating func add(_ batch: WriteBatch, memtable: UInt64) {
        if memtables.last?.number != memtable {
            memtables.append(Memtable(number: memtable))
        }
        let last = memtables.count - 1
        for write in batch.shards {
            memtables[last].shards[write.shard, default: OverlayShard()].add(write.records)
        }
    }

    /// Removes a memtable and all earlier ones, since the tables contain their records.
    mutating func remove(upTo memtable: UInt64) {
        memtables.removeAll { $0.number <= memtable }
    }

    /// The shards that have records in the overlay, ascending.
    var shards: [ShardID] { Set(memtables.flatMap(\.shards.keys)).sorted() }

    /// Returns the latest record of a document; nil if the tables have its latest state.
    mutating func record(_ key: DocumentKey, in shard: ShardID) -> Record? {
        for index in memtables.indices.reversed() {
            if let record = memtables[index].record(key, in: shard) { return record }
        }
        return nil
    }

    /// Returns the records of a shard, latest memtable first; nil if there are none.
    mutating func layers(of shard: ShardID) -> OverlayLayers? {
        for index in memtables.indices { memtables[index].shards[shard]?.index() }
        let layers = memtables.reversed().compactMap { $0.shards[shard] }
        return layers.isEmpty ? nil : OverlayLayers(layers: layers)
    }
}
