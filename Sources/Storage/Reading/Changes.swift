import CRDT
import Chat
import Replication
import Wire

/// The statements that find documents by the seqs of their last changes.
struct ChangeScan {
    private let select: Statement
    private let selectDocument: Statement
    private let replicas: ReplicaNumbers

    init(_ connection: Connection, _ replicas: ReplicaNumbers) throws(StorageError) {
        self.replicas = replicas
        select = try Statement(
            connection,
            """
            SELECT block, body FROM dots WHERE shard = ?1 AND replica = ?2 AND block >= ?3
            ORDER BY block
            """, doing: "reading changes")
        selectDocument = try Statement(
            connection,
            """
            SELECT \(StoredRow.columns) FROM document d
            WHERE shard = ?1 AND partition = ?2 AND kind = ?3 AND time = ?4 AND id = ?5
            """, doing: "reading changes")
    }

    /// Calls `handing` with the places of documents whose last change by `replica` has a seq from
    /// `start` on that is not in `held`, ascending by seq, until `handing` returns false.
    ///
    /// The scan has no upper bound: a document that changes during a pull gets a higher seq and
    /// must still be found. Blocks whose seqs are all in `held` are skipped without being read.
    func scan(
        _ shard: ShardID, _ replica: ReplicaID, from start: UInt64, without held: SeqSet,
        handing: (UInt64, DotPlace) throws(StorageError) -> Bool
    ) throws(StorageError) {
        guard let number = try replicas.number(of: replica, in: shard) else { return }
        var next: UInt64? = start
        while let from = next {
            next = nil
            try select.bind(Int64(shard.number), at: 1)
            try select.bind(number, at: 2)
            try select.bind(DotBlock.number(of: from), at: 3)
            defer { select.reset() }
            while next == nil, try select.step() {
                let block = try DotBlock(
                    select.number(0), sealed: select.bytes(1), shard, number)
                for (seq, place) in block.places where seq >= from {
                    if let end = held.end(ofRangeAround: seq) {
                        guard end < .max else { return }
                        if end >= block.last { next = end + 1 }
                    } else if try !handing(seq, place) {
                        return
                    }
                }
            }
        }
    }

    func forgetReplicas() { replicas.removeAll() }

    /// Returns the canonical bytes of the document at a place.
    ///
    /// - Throws: `badRecord` if the bytes are damaged, `badIndex` if there is no document.
    func bytes(at place: DotPlace, in shard: ShardID) throws(StorageError) -> [UInt8] {
        let key = place.key
        try selectDocument.bind(Int64(shard.number), at: 1)
        try selectDocument.bind(key.partition, at: 2)
        try selectDocument.bind(Int64(key.kind.number), at: 3)
        try selectDocument.bind(Int64(bitPattern: place.time.bits), at: 4)
        try selectDocument.bind(key.id, at: 5)
        defer { selectDocument.reset() }
        guard try selectDocument.step() else { throw .badIndex(shard) }
        guard let bytes = StoredRow(selectDocument, shard: shard).bytes else {
            throw .badRecord(shard, key)
        }
        return bytes
    }
}

extension Reader {
    /// Returns some of the documents that a peer with the vector `theirs` lacks.
    ///
    /// For each replica id in `ours`, the scan includes the documents whose last change by that
    /// replica id has a seq that is not in `theirs`. Once `next` is nil, the parts contain every
    /// change in `ours` that the peer lacks, even if documents changed between the parts, provided
    /// that `ours` was committed before the first part.
    ///
    /// - Parameters:
    ///   - cursor: the last dot of the previous part; nil for the first part.
    ///   - bytesMax: the greatest size of a part's documents in bytes; a part has at least one
    ///     document if any is left. A document with several seqs occurs once in a part.
    /// - Returns: the documents, and the cursor for the next part; nil if no document is left.
    /// - Throws: `badRecord` at a document whose bytes are damaged, `badIndex` at a damaged row of
    ///   the index; in both cases no part is returned.
    package func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StorageError) -> (encodedDocuments: [EncodedDocument], next: Dot?) {
        try checkOpen()
        // The table of replica numbers may have been rebuilt since the last call.
        changeScan.forgetReplicas()
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
            var unflushed = layers?.changes(by: entry.replica, from: start, without: held)
            func takeUnflushed(below limit: UInt64) -> Bool {
                while let (seq, record) = unflushed?.next(below: limit) {
                    let cursor = Dot(replica: entry.replica, seq: seq)
                    guard !part.has(record.key, at: cursor) else { continue }
                    guard part.appendDocument(record.key, record.bytes, at: cursor) else {
                        return false
                    }
                }
                return true
            }
            try changeScan.scan(shard, entry.replica, from: start, without: held) {
                (seq, place) throws(StorageError) in
                guard takeUnflushed(below: seq) else { return false }
                // The write log has a later state of the document, under this seq or a later one.
                guard layers?.record(place.key) == nil else { return true }
                let cursor = Dot(replica: entry.replica, seq: seq)
                guard !part.has(place.key, at: cursor) else { return true }
                let bytes = try changeScan.bytes(at: place, in: shard)
                return part.appendDocument(place.key, bytes, at: cursor)
            }
            if !part.isFull { _ = takeUnflushed(below: .max) }
            if part.isFull { return (part.encodedDocuments, part.last) }
        }
        return (part.encodedDocuments, nil)
    }
}

/// The documents of one part of a pull, as many as fit.
private struct ChangePart {
    let bytesMax: Int
    private(set) var encodedDocuments: [EncodedDocument] = []
    private(set) var last: Dot?
    private(set) var isFull = false
    private var bytesCount = 0
    private var keys: Set<DocumentKey> = []

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Returns whether the part already contains the document, under another seq.
    mutating func has(_ key: DocumentKey, at cursor: Dot) -> Bool {
        guard keys.contains(key) else { return false }
        last = cursor
        return true
    }

    /// Adds a document, and returns whether it fit.
    mutating func appendDocument(_ key: DocumentKey, _ bytes: [UInt8], at cursor: Dot) -> Bool {
        guard encodedDocuments.isEmpty || bytesCount + bytes.count <= bytesMax else {
            isFull = true
            return false
        }
        keys.insert(key)
        encodedDocuments.append(EncodedDocument(key: key.encoded, bytes: bytes))
        bytesCount += bytes.count
        last = cursor
        return true
    }
}

extension SeqSet {
    /// Returns the last seq of the range that contains `seq`; nil if no range does.
    func end(ofRangeAround seq: UInt64) -> UInt64? {
        guard contains(seq) else { return nil }
        return ranges[ranges.partitioningIndex { $0.upperBound >= seq }].upperBound
    }
}
