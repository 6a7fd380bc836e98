import CRDT
import Chat
import Wire

/// The records of one shard in one memtable, with the indexes that queries need.
///
/// Many records reach the tables before any query reads them. Therefore added records are only
/// queued: a look-up of a document indexes them by key, and a query fills the other indexes.
struct OverlayShard {
    /// The greatest number of queued records; indexing that many records takes a millisecond.
    static let queuedMax = 1_024

    /// The records that are not in every index yet, in the order in which they were added.
    private var queued: [[Record]] = []
    private var queuedCount = 0
    /// The number of batches at the start of `queued` that are indexed by key.
    private var keyedBatches = 0
    private(set) var records: [DocumentKey: Record] = [:]
    /// The messages of each conversation in the order of history, including former positions of
    /// messages whose times have changed.
    private(set) var messages: [String: [HistoryPosition]] = [:]
    private(set) var participantStates: [String: Set<DocumentKey>] = [:]
    /// The changes of each replica id, ascending by seq, including superseded ones.
    private(set) var changes: [ReplicaID: [OverlayChange]] = [:]
    private(set) var carriers: [String: Set<DocumentKey>] = [:]
    /// The rows of counted runs, which are not documents, by their start times.
    private(set) var runs: [CountedRuns: [HybridTimestamp: [UInt8]]] = [:]

    mutating func add(_ records: [Record]) {
        queued.append(records)
        queuedCount += records.count
        if queuedCount >= OverlayShard.queuedMax { index() }
    }

    /// Returns the latest record of a document.
    mutating func record(_ key: DocumentKey) -> Record? {
        indexKeys()
        return records[key]
    }

    /// Adds all queued records to every index.
    mutating func index() {
        guard !queued.isEmpty else { return }
        indexKeys()
        for records in queued {
            for record in records { index(record) }
        }
        queued.removeAll(keepingCapacity: true)
        queuedCount = 0
        keyedBatches = 0
    }

    private mutating func indexKeys() {
        while keyedBatches < queued.count {
            for record in queued[keyedBatches] where !record.key.kind.isCountedRun {
                records[record.key] = record
            }
            keyedBatches += 1
        }
    }

    private mutating func index(_ record: Record) {
        let key = record.key
        guard !key.kind.isCountedRun else {
            runs[CountedRuns(kind: key.kind, partition: key.partition), default: [:]][record.time] =
                record.bytes
            return
        }
        if key.kind == .message {
            let position = HistoryPosition(time: record.time, id: MessageID(checked: key.id))
            messages[key.partition, default: []].insertAscending(position)
        } else if key.kind == .participantState {
            participantStates[key.partition, default: []].insert(key)
        }
        for dot in record.changedBy.dots {
            changes[dot.replica, default: []]
                .insertAscending(OverlayChange(seq: dot.seq, key: key))
        }
        for term in record.indexKeys { carriers[term, default: []].insert(key) }
    }
}

/// The key of a document, and the seq of its last change by a replica id.
struct OverlayChange: Comparable {
    let seq: UInt64
    let key: DocumentKey

    static func < (left: OverlayChange, right: OverlayChange) -> Bool {
        (left.seq, left.key) < (right.seq, right.key)
    }
}
