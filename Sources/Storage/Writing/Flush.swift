import CRDT
import Chat
import Wire

/// A record of the write log and its shard.
struct FlushedRecord {
    let shard: ShardID
    let record: Record

    /// Orders records by shard and key, so that the records of one document are adjacent.
    static func comesBefore(_ left: FlushedRecord, _ right: FlushedRecord) -> Bool {
        if left.shard != right.shard { return left.shard < right.shard }
        return left.record.key < right.record.key
    }

    /// Orders records as the table `document` does, in which adjacent rows share a page.
    static func liesBefore(_ left: FlushedRecord, _ right: FlushedRecord) -> Bool {
        if left.shard != right.shard { return left.shard < right.shard }
        let (mine, theirs) = (left.record.key, right.record.key)
        if mine.partition != theirs.partition { return mine.partition < theirs.partition }
        if mine.kind != theirs.kind { return mine.kind.number < theirs.kind.number }
        if left.record.time != right.record.time { return left.record.time < right.record.time }
        return mine.id < theirs.id
    }

    /// Returns one record for two successive records of a document; nil if the documents differ.
    func following(_ first: FlushedRecord) -> FlushedRecord? {
        guard shard == first.shard, record.key == first.record.key else { return nil }
        return FlushedRecord(shard: shard, record: record.following(first.record))
    }
}

/// The records of the write log that will be flushed into the tables together.
struct Memtable {
    /// The number of bytes that a record counts in addition to its document.
    private static let recordBytes = 128

    /// The number of the memtable; each process numbers its memtables from 1.
    let number: UInt64
    /// The records, in the order of the write log.
    private var records: [FlushedRecord] = []
    private(set) var headers: [ShardID: HeaderRows] = [:]
    private(set) var settings: [String: [UInt8]] = [:]
    /// The approximate size of the headers and records in the write log, in bytes.
    private(set) var bytesCount = 0
    private(set) var rowsCount = 0
    /// The time at which the first row was added.
    private var begunAt: MonotonicTime?
    /// The number of the last row that is in the memtable; 0 while it is empty.
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

    /// Returns whether the first row is older than `milliseconds`.
    func isOlder(than milliseconds: UInt64) -> Bool {
        begunAt.map { $0.after(milliseconds: milliseconds) < .now } ?? false
    }

    /// The records to store in the tables, one for each document.
    func folded() -> [FlushedRecord] { records.folded() }
}

extension [FlushedRecord] {
    /// Returns one record for each document, in the order of the tables: the last one, with the
    /// state before the first one as its previous state, which the tables contain.
    func folded() -> [FlushedRecord] {
        // Sorting is stable, so the records of a document stay in the order of their commits. These
        // records are also adjacent in the order of the tables, unless the document's time has
        // changed.
        contains(where: \.record.hasMoved)
            ? sorted(by: FlushedRecord.comesBefore).joined().sorted(by: FlushedRecord.liesBefore)
            : sorted(by: FlushedRecord.liesBefore).joined()
    }

    /// Merges adjacent records of the same document.
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
    /// Whether the tables contain the document under another time.
    var hasMoved: Bool { previous.map { $0.time != time } ?? false }

    /// Returns one record for this record and an earlier one of the same document.
    func following(_ first: Record) -> Record {
        Record(
            key: key, changedBy: changedBy, time: time, bytes: bytes, indexKeys: indexKeys,
            previous: first.previous, purges: purges || first.purges)
    }
}

/// A memtable that is being written into the tables.
struct Flush {
    let number: UInt64
    let headers: [ShardID: HeaderRows]
    let settings: [String: [UInt8]]
    /// The number of the memtable's last row in the write log.
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

    /// The records of the memtable that have not been stored in the tables yet.
    var rest: ArraySlice<FlushedRecord> { records[next...] }

    /// Returns the next `count` records, or fewer at the end, for the next transaction.
    func slice(_ count: Int) -> ArraySlice<FlushedRecord> {
        records[next..<min(records.count, next + count)]
    }

    /// Returns whether the slice is the last one of the memtable.
    func ends(with slice: ArraySlice<FlushedRecord>) -> Bool { slice.endIndex == records.count }

    mutating func noteCommitted(_ slice: ArraySlice<FlushedRecord>) { next = slice.endIndex }
}
