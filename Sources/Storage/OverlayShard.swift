import CRDT
import Chat
import Wire

/// The records of one shard in one memtable, found by all that records are asked for by.
///
/// Much is written that nobody reads before it is in the tables: what is added waits, to be indexed
/// by whoever reads of the shard first.
struct OverlayShard {
    /// The most records that wait: a millisecond for whoever reads.
    static let waitingMax = 1_024

    /// As they were added, and in that order; nothing finds them yet.
    private var waiting: [[Record]] = []
    private var waitingCount = 0
    private(set) var records: [DocumentKey: Record] = [:]
    /// Of each conversation, in the order of history; places that messages have left may be among
    /// them.
    private(set) var messages: [String: [HistoryPosition]] = [:]
    private(set) var participantStates: [String: [DocumentKey]] = [:]
    /// Of each replica, ascending by seq; changes that later ones have superseded are among them.
    private(set) var changes: [ReplicaID: [OverlayChange]] = [:]
    private(set) var carriers: [String: Set<DocumentKey>] = [:]
    /// The rows of counted runs, which are no documents, by their starts.
    private(set) var runs: [CountedRuns: [HybridTimestamp: [UInt8]]] = [:]

    mutating func add(_ records: [Record]) {
        waiting.append(records)
        waitingCount += records.count
        if waitingCount >= OverlayShard.waitingMax { index() }
    }

    /// Has all that was added found.
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
