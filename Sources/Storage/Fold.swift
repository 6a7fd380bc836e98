import CRDT
import Chat
import Wire

/// A record and its shard.
struct FoldedRecord: Sendable {
    let shard: ShardID
    var record: Record
}

extension FoldedRecord: Comparable {
    /// The order of the table of documents, in which neighbours share a page.
    static func < (left: FoldedRecord, right: FoldedRecord) -> Bool {
        if left.shard != right.shard { return left.shard < right.shard }
        let (mine, theirs) = (left.record, right.record)
        if mine.key.partition != theirs.key.partition {
            return mine.key.partition < theirs.key.partition
        }
        return (mine.key.kind.number, mine.time, mine.key.id)
            < (theirs.key.kind.number, theirs.time, theirs.key.id)
    }

    static func == (left: FoldedRecord, right: FoldedRecord) -> Bool {
        left.shard == right.shard && left.record.key == right.record.key
    }
}

/// What is in the journal and will be folded into the tables together.
struct Generation {
    /// What a record counts for beside its document.
    private static let recordBytes = 128

    /// Counts up from 1 in each process.
    let number: UInt64
    private var records: [FoldedRecord] = []
    private var places: [ShardID: [DocumentKey: Int]] = [:]
    private(set) var headers: [ShardID: [UInt8]] = [:]
    private(set) var settings: [String: [UInt8]] = [:]
    /// Of the rows, as they lie in the journal.
    private(set) var bytesCount = 0
    private(set) var rowsCount = 0
    /// When its first row came.
    private var begunAt: MonotonicTime?
    /// The journal's last row that is in it.
    private(set) var lastRow: Int64 = 0

    init(_ number: UInt64) { self.number = number }

    var recordsCount: Int { records.count }

    var isEmpty: Bool { lastRow == 0 }

    /// Adds a row of the journal: of a document only its last record is told to the tables, with
    /// what they hold of it before the first.
    mutating func add(_ row: JournalRow, number: Int64) {
        begunAt = begunAt ?? .now
        lastRow = number
        rowsCount += 1
        bytesCount += row.headers.values.reduce(0) { $0 + $1.count }
        for item in row.records { add(item) }
        headers.merge(row.headers) { $1 }
        settings.merge(row.settings) { $1 }
    }

    private mutating func add(_ item: FoldedRecord) {
        bytesCount += item.record.bytes.count + Generation.recordBytes
        let key = item.record.key
        guard let place = places[item.shard, default: [:]].updateValue(records.count, forKey: key)
        else {
            records.append(item)
            return
        }
        places[item.shard]?[key] = place
        records[place].record = item.record.following(records[place].record)
    }

    /// Whether what is in it has waited for longer.
    func isOlder(than milliseconds: UInt64) -> Bool {
        begunAt.map { $0.after(milliseconds: milliseconds) < .now } ?? false
    }

    /// In the order of the tables.
    func sorted() -> [FoldedRecord] { records.sorted() }
}

extension Record {
    /// One record for two of a document, the other one before it.
    func following(_ first: Record) -> Record {
        Record(
            key: key, changedBy: changedBy, time: time, bytes: bytes, terms: terms,
            previous: first.previous, purges: purges || first.purges)
    }
}

/// A generation on its way into the tables.
struct Fold {
    let number: UInt64
    let headers: [ShardID: [UInt8]]
    let settings: [String: [UInt8]]
    /// The journal's last row that is in it.
    let lastRow: Int64
    private let records: [FoldedRecord]
    private var next = 0

    init(_ generation: Generation) {
        number = generation.number
        headers = generation.headers
        settings = generation.settings
        lastRow = generation.lastRow
        records = generation.sorted()
    }

    /// What goes with the next transaction.
    func slice(_ count: Int) -> ArraySlice<FoldedRecord> {
        records[next..<min(records.count, next + count)]
    }

    /// Whether that is the last of it.
    func ends(with slice: ArraySlice<FoldedRecord>) -> Bool { slice.endIndex == records.count }

    mutating func noteCommitted(_ slice: ArraySlice<FoldedRecord>) { next = slice.endIndex }
}
