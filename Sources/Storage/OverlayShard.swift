import CRDT
import Chat
import Wire

/// The records of one shard in one memtable, indexed by everything that queries look for.
///
/// Many records reach the tables before anything reads them. Therefore added records are only
/// queued, and the next read of the shard indexes them.
struct OverlayShard {
    /// The greatest number of queued records; indexing that many takes a millisecond.
    static let waitingMax = 1_024

    /// The records that are not indexed yet, in the order in which they were added.
    private var waiting: [[Record]] = []
    private var waitingCount = 0
    private(set) var records: [DocumentKey: Record] = [:]
    /// The messages of each conversation in the order of history, including places that a message
    /// has left.
    private(set) var messages: [String: [HistoryPosition]] = [:]
    private(set) var participantStates: [String: [DocumentKey]] = [:]
    /// The changes of each replica, ascending by seq, including superseded ones.
    private(set) var changes: [ReplicaID: [OverlayChange]] = [:]
    private(set) var carriers: [String: Set<DocumentKey>] = [:]
    /// The rows of counted runs, which are not documents, by their start times.
    private(set) var runs: [CountedRuns: [HybridTimestamp: [UInt8]]] = [:]

    mutating func add(_ records: [Record]) {
        waiting.append(records)
        waitingCount += records.count
        if waitingCount >= OverlayShard.waitingMax { index() }
    }

    /// Indexes all queued records.
    mutating func index() {
        for records in waiting {
            for record in records { index(record) }
        }
        waiting.removeAll(keepingCapacity: true)
        waitingCount = 0
    }

    private mutating func index(_ record: Record) {
        let key = record.key
        guard !key.kind.isCountedRun else {
            runs[CountedRuns(kind: key.kind, partition: key.partition), default: [:]][record.time] =
                record.bytes
            return
        }
        let old = records.updateValue(record, forKey: key)
        if key.kind == .message {
            if old?.time != record.time {
                let position = HistoryPosition(time: record.time, id: MessageID(checked: key.id))
                messages[key.partition, default: []].insertAscending(position)
            }
        } else if key.kind == .participantState, old == nil {
            participantStates[key.partition, default: []].append(key)
        }
        for dot in record.changedBy.dots where old?.changedBy.seq(of: dot.replica) != dot.seq {
            changes[dot.replica, default: []]
                .insertAscending(OverlayChange(seq: dot.seq, key: key))
        }
        for term in record.indexKeys { carriers[term, default: []].insert(key) }
    }
}

/// The last change of a document by a replica.
struct OverlayChange: Comparable {
    let seq: UInt64
    let key: DocumentKey

    static func < (left: OverlayChange, right: OverlayChange) -> Bool {
        (left.seq, left.key) < (right.seq, right.key)
    }
}
