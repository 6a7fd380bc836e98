import CRDT
import Chat
import Wire

/// A document as it lies on disk.
package struct StoredRecord: Hashable, Sendable {
    package let key: DocumentKey
    /// Canonical, and verified by their checksum.
    package let bytes: [UInt8]
}

/// Finds documents by the seqs that changed them last.
struct ChangeScan {
    private let select: Statement
    private let replicas: ReplicaNumbers

    init(_ connection: Connection, _ replicas: ReplicaNumbers) throws(StorageError) {
        self.replicas = replicas
        select = try Statement(
            connection,
            """
            SELECT t.seq, t.partition, t.kind, t.id, \(StoredRow.columns)
            FROM dot t LEFT JOIN document d
            ON d.shard = t.shard AND d.partition = t.partition AND d.kind = t.kind
                AND d.time = t.time AND d.id = t.id
            WHERE t.shard = ?1 AND t.replica = ?2 AND t.seq >= ?3 ORDER BY t.seq
            """, doing: "reading changes")
    }

    /// Steps through the documents that `replica` changed by a seq from `start` on that is not in
    /// `held`, ascending, until `handing` says no.
    ///
    /// No upper bound: a document that changes during a pull moves up and must still be met. Runs
    /// of seqs that are held are jumped over, not read.
    func scan(
        _ shard: ShardID, _ replica: ReplicaID, from start: UInt64, without held: SeqSet,
        handing: (UInt64, Statement) throws(StorageError) -> Bool
    ) throws(StorageError) {
        guard let number = try replicas.number(of: replica) else { return }
        var next: UInt64? = start
        while let from = next.flatMap({ Int64(exactly: $0) }) {
            next = nil
            try select.bind(Int64(shard.number), at: 1)
            try select.bind(number, at: 2)
            try select.bind(from, at: 3)
            defer { select.reset() }
            while try select.step() {
                let seq = UInt64(bitPattern: select.number(0))
                if let end = held.end(ofRangeAround: seq) {
                    next = end == .max ? nil : end + 1
                    break
                }
                guard try handing(seq, select) else { return }
            }
        }
    }

    /// The key that the dot's row names: known also where it leads to no document.
    func key(_ statement: Statement) -> DocumentKey {
        let kind = UInt8(truncatingIfNeeded: statement.number(2))
        return DocumentKey(
            checked: DocumentKey.Kind(number: kind), partition: statement.text(1),
            id: statement.text(3))
    }

    /// Where the document's columns begin.
    static let firstDocumentColumn: Int32 = 4
}

extension Reader {
    /// The documents that a peer with the vector `theirs` lacks, in parts.
    ///
    /// For each replica in `ours`: whatever it changed last by a seq that is not in `theirs`. What
    /// `ours` counts has been met when `next` is nil, also when documents change in between, as
    /// long as `ours` was committed before the first part.
    ///
    /// - Parameters:
    ///   - cursor: where the part before ended, nil for the first.
    ///   - bytesMax: of the documents of one part; one document at least is in it, if any is
    ///     left. A document met under several seqs is in a part once.
    /// - Returns: `next` nil where nothing is left.
    /// - Throws: `badRecord` at a document whose bytes are bad: none of the part is handed out.
    package func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StorageError) -> (records: [StoredRecord], next: Dot?) {
        try checkOpen()
        var part = ChangePart(bytesMax: bytesMax)
        let layers = overlay.layers(of: shard)
        for entry in ours.entries {
            var start: UInt64 = 1
            if let cursor {
                guard entry.replica >= cursor.replica else { continue }
                if entry.replica == cursor.replica {
                    guard cursor.seq < .max else { continue }
                    start = cursor.seq + 1
                }
            }
            let held = theirs.seqs(of: entry.replica)
            var journaled = layers?.changes(by: entry.replica, from: start, without: held)
            func takeJournaled(below limit: UInt64) -> Bool {
                while let (seq, record) = journaled?.next(below: limit) {
                    let cursor = Dot(replica: entry.replica, seq: seq)
                    guard !part.has(record.key, at: cursor) else { continue }
                    guard part.take(record.key, record.bytes, at: cursor) else { return false }
                }
                return true
            }
            try changeScan.scan(shard, entry.replica, from: start, without: held) {
                (seq, statement) throws(StorageError) in
                guard takeJournaled(below: seq) else { return false }
                let key = changeScan.key(statement)
                // It stands in the journal under this seq, or under a later one.
                guard layers?.record(key) == nil else { return true }
                let row = StoredRow(
                    statement, shard: shard, first: ChangeScan.firstDocumentColumn)
                let cursor = Dot(replica: entry.replica, seq: seq)
                guard !part.has(key, at: cursor) else { return true }
                guard let bytes = row.bytes else { throw row.bad(key) }
                return part.take(key, bytes, at: cursor)
            }
            if !part.isFull { _ = takeJournaled(below: .max) }
            if part.isFull { return (part.records, part.last) }
        }
        return (part.records, nil)
    }
}

/// The documents of one part, as many as fit.
private struct ChangePart {
    let bytesMax: Int
    private(set) var records: [StoredRecord] = []
    private(set) var last: Dot?
    private(set) var isFull = false
    private var bytesCount = 0
    private var keys: Set<DocumentKey> = []

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Whether the document is in it already, under another seq.
    mutating func has(_ key: DocumentKey, at cursor: Dot) -> Bool {
        guard keys.contains(key) else { return false }
        last = cursor
        return true
    }

    /// Whether there is room for more.
    mutating func take(_ key: DocumentKey, _ bytes: [UInt8], at cursor: Dot) -> Bool {
        guard records.isEmpty || bytesCount + bytes.count <= bytesMax else {
            isFull = true
            return false
        }
        keys.insert(key)
        records.append(StoredRecord(key: key, bytes: bytes))
        bytesCount += bytes.count
        last = cursor
        return true
    }
}

extension SeqSet {
    /// The last seq of the range that `seq` is in.
    func end(ofRangeAround seq: UInt64) -> UInt64? {
        guard contains(seq) else { return nil }
        return ranges[ranges.bisected { $0.upperBound >= seq }].upperBound
    }
}
