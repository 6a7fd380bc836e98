import CRDT
import Chat
import Wire

/// A record and its shard.
///
/// One object, for it passes from row to memtable, through two sorts and into the tables.
final class FlushedRecord: Sendable {
    let shard: ShardID
    let record: Record

    init(shard: ShardID, record: Record) {
        self.shard = shard
        self.record = record
    }

    /// The order in which the records of a document are neighbours.
    static func comesBefore(_ left: FlushedRecord, _ right: FlushedRecord) -> Bool {
        if left.shard != right.shard { return left.shard < right.shard }
        return left.record.key < right.record.key
    }

    /// The order of the table of documents, in which neighbours share a page.
    static func liesBefore(_ left: FlushedRecord, _ right: FlushedRecord) -> Bool {
        if left.shard != right.shard { return left.shard < right.shard }
        let (mine, theirs) = (left.record.key, right.record.key)
        if mine.partition != theirs.partition { return mine.partition < theirs.partition }
        if mine.kind != theirs.kind { return mine.kind.number < theirs.kind.number }
        if left.record.time != right.record.time { return left.record.time < right.record.time }
        return mine.id < theirs.id
    }

    /// One record for two of a document, the other one before it; nil where they are of two.
    func following(_ first: FlushedRecord) -> FlushedRecord? {
        guard shard == first.shard, record.key == first.record.key else { return nil }
        return FlushedRecord(shard: shard, record: record.following(first.record))
    }
}

/// What is in the write log and will be flushed into the tables together.
struct Memtable {
    /// What a record counts for beside its document.
    private static let recordBytes = 128

    /// Counts up from 1 in each process.
    let number: UInt64
    /// As they came.
    private var records: [FlushedRecord] = []
    private(set) var headers: [ShardID: HeaderRows] = [:]
    private(set) var settings: [String: [UInt8]] = [:]
    /// Of the rows, as they lie in the write log.
    private(set) var bytesCount = 0
    private(set) var rowsCount = 0
    /// When its first row came.
    private var begunAt: MonotonicTime?
    /// The write log's last row that is in it.
    private(set) var lastRow: Int64 = 0

    init(_ number: UInt64) { self.number = number }

    var recordsCount: Int { records.count }

    var isEmpty: Bool { lastRow == 0 }

    /// Adds a row of the write log.
    mutating func add(_ row: WriteLogRow, number: Int64) {
        begunAt = begunAt ?? .now
        lastRow = number
        rowsCount += 1
        bytesCount += row.headers.values.reduce(0) { $0 + $1.bytesCount }
        for item in row.records { bytesCount += item.record.bytes.count + Memtable.recordBytes }
        records += row.records
        headers.merge(row.headers) { $1.following($0) }
        settings.merge(row.settings) { $1 }
    }

    /// Whether what is in it has waited for longer.
    func isOlder(than milliseconds: UInt64) -> Bool {
        begunAt.map { $0.after(milliseconds: milliseconds) < .now } ?? false
    }

    /// What the tables are told of it.
    func folded() -> [FlushedRecord] { records.folded() }
}

extension [FlushedRecord] {
    /// In the order of the tables, of a document its last record alone, with what they hold of it
    /// before the first.
    func folded() -> [FlushedRecord] {
        // Sorting is stable: of a document the records stay in the order in which they came. In
        // the order of the tables they are neighbours where it did not move.
        contains(where: \.record.hasMoved)
            ? sorted(by: FlushedRecord.comesBefore).joined().sorted(by: FlushedRecord.liesBefore)
            : sorted(by: FlushedRecord.liesBefore).joined()
    }

    /// Has neighbours that are of one document be one record.
    private func joined() -> [FlushedRecord] {
        var joined: [FlushedRecord] = []
        joined.reserveCapacity(count)
        for item in self {
            if let last = joined.last, let both = item.following(last) {
                joined[joined.count - 1] = both
            } else {
                joined.append(item)
            }
        }
        return joined
    }
}

extension Record {
    /// Whether the tables have it at another place.
    var hasMoved: Bool { previous.map { $0.time != time } ?? false }

    /// One record for two of a document, the other one before it.
    func following(_ first: Record) -> Record {
        Record(
            key: key, changedBy: changedBy, time: time, bytes: bytes, indexKeys: indexKeys,
            previous: first.previous, purges: purges || first.purges)
    }
}

/// A memtable on its way into the tables.
struct Flush {
    let number: UInt64
    let headers: [ShardID: HeaderRows]
    let settings: [String: [UInt8]]
    /// The write log's last row that is in it.
    let lastRow: Int64
    private let records: [FlushedRecord]
    private var next = 0

    init(_ memtable: Memtable) {
        number = memtable.number
        headers = memtable.headers
        settings = memtable.settings
        lastRow = memtable.lastRow
        records = memtable.folded()
    }

    /// All that has not gone.
    var rest: ArraySlice<FlushedRecord> { records[next...] }

    /// What goes with the next transaction.
    func slice(_ count: Int) -> ArraySlice<FlushedRecord> {
        records[next..<min(records.count, next + count)]
    }

    /// Whether that is the last of it.
    func ends(with slice: ArraySlice<FlushedRecord>) -> Bool { slice.endIndex == records.count }

    mutating func noteCommitted(_ slice: ArraySlice<FlushedRecord>) { next = slice.endIndex }
}
