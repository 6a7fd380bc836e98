import CRDT
import Chat
import Wire

/// The reading side of the database, called synchronously on one thread.
///
/// Each call sees one state of the file, combined with the records that are only in the write log;
/// the next call may see a later state. Once a commit or a flush has been reported, all later reads
/// see it.
// SAFETY: only the event loop's thread uses the reader, and closes it.
package final class Reader: @unchecked Sendable {
    private let connection: Connection
    private let selectSettings: Statement
    private let selectHeaders: Statement
    private let selectBases: Statement
    private let selectMessage: Statement
    private let selectNear: Statement
    private let selectOther: Statement
    /// A statement that, while it is at its row, keeps all reads on one state of the file.
    private let anchor: Statement
    private let replicas: ReplicaNumbers
    let histories: Histories
    let countedRuns: CountedRunRows
    let changeScan: ChangeScan
    let walks: Walks
    let indexKeys: TermIndex
    private var isClosed = false
    private var readsInTurn = 0
    /// The committed records that are only in the write log.
    var overlay = Overlay()

    init(_ connection: Connection) throws(StorageError) {
        self.connection = connection
        selectSettings = try Statement(
            connection, "SELECT name, value FROM setting ORDER BY name", doing: "reading settings")
        selectHeaders = try Statement(
            connection, "SELECT shard, header FROM copy ORDER BY shard", doing: "reading headers")
        selectBases = try Statement(
            connection, "SELECT shard, body FROM base", doing: "reading the headers' bases")
        let placed = """
            SELECT \(StoredRow.columns), p.time, p.sum FROM place p LEFT JOIN document d
            ON d.shard = p.shard AND d.partition = p.partition AND d.kind = ?4
                AND d.time = p.time AND d.id = p.id
            WHERE p.shard = ?1 AND p.partition = ?2 AND p.id = ?3
            """
        selectMessage = try Statement(connection, placed, doing: "reading a message")
        // One statement makes both searches, so that both read the same state of the file.
        selectNear = try Statement(
            connection,
            """
            SELECT \(StoredRow.columns), NULL, NULL FROM document d
            WHERE shard = ?1 AND partition = ?2 AND id = ?3 AND kind = ?4
                AND time BETWEEN ?5 AND ?6
            UNION ALL \(placed) LIMIT 1
            """, doing: "reading a message")
        selectOther = try Statement(
            connection,
            """
            SELECT \(StoredRow.columns), NULL, NULL FROM document d
            WHERE shard = ?1 AND partition = ?2 AND id = ?3 AND kind = ?4 AND time = 0
            """, doing: "reading a document")
        anchor = try Statement(
            connection, "SELECT 1 FROM sqlite_schema LIMIT 1", doing: "reading a document")
        replicas = try ReplicaNumbers(connection, interning: false)
        histories = try Histories(connection)
        countedRuns = try CountedRunRows(connection)
        changeScan = try ChangeScan(connection, replicas)
        walks = try Walks(connection)
        indexKeys = try TermIndex(connection)
    }

    func close() {
        endTurn()
        isClosed = true
        connection.close()
    }

    /// Makes a stored batch visible to all later reads.
    func noteStored(_ batch: WriteBatch, _ place: StoredPlace) {
        endTurn()
        guard case .writeLog(let memtable) = place else { return }
        overlay.add(batch, memtable: memtable)
    }

    /// Removes a flushed memtable, since the tables contain its records.
    func noteFolded(_ memtable: UInt64) {
        // The state of the file that the reads of this iteration share may be older than the flush.
        endTurn()
        overlay.remove(upTo: memtable)
    }

    /// Releases the state of the file that the reads of a turn share, so that the log can be
    /// emptied.
    ///
    /// A turn is one iteration of the event loop.
    package func endTurn() {
        guard readsInTurn > 0 else { return }
        if readsInTurn > 1 { anchor.reset() }
        readsInTurn = 0
    }

    func checkOpen() throws(StorageError) {
        guard !isClosed else { throw .closed }
    }

    /// Returns every setting of the node, by name.
    ///
    /// - Throws: `corrupt` if the bytes of a setting are damaged.
    package func settings() throws(StorageError) -> [String: [UInt8]] {
        try checkOpen()
        defer { selectSettings.reset() }
        var settings: [String: [UInt8]] = [:]
        while try selectSettings.step() {
            let name = selectSettings.text(0)
            let value = Seal.open(selectSettings.bytes(1), seed: Seal.seed(ofSetting: name))
            guard let value else { throw .corrupt(doing: "reading the setting \(name)") }
            settings[name] = value
        }
        return settings
    }

    /// Returns the header of every shard replica, ascending by shard; nil for a damaged header,
    /// which the caller computes again from the documents (see `remainder`).
    package func headers() throws(StorageError) -> [(ShardID, [UInt8]?)] {
        try checkOpen()
        defer { selectHeaders.reset() }
        var headers: [(ShardID, [UInt8]?)] = []
        while try selectHeaders.step() {
            guard let number = UInt16(exactly: selectHeaders.number(0)) else {
                throw .corrupt(doing: "reading the number of a shard")
            }
            let shard = ShardID(number)
            headers.append(
                (shard, Seal.open(selectHeaders.bytes(1), seed: Seal.seed(of: shard))))
        }
        return headers
    }

    /// Returns the bases of the headers, by shard; a damaged base is omitted, so that a header that
    /// refers to it counts as damaged.
    package func bases() throws(StorageError) -> [ShardID: [UInt8]] {
        try checkOpen()
        defer { selectBases.reset() }
        var bases: [ShardID: [UInt8]] = [:]
        while try selectBases.step() {
            guard let number = UInt16(exactly: selectBases.number(0)) else { continue }
            let shard = ShardID(number)
            bases[shard] = Seal.open(selectBases.bytes(1), seed: Seal.seed(ofBaseOf: shard))
        }
        return bases
    }

    /// Returns the document with the key `key`; nil if there is none.
    ///
    /// - Throws: `badRecord` if the document's bytes are damaged, `badIndex` if its `place` row is.
    package func document(
        _ key: DocumentKey, in shard: ShardID
    ) throws(StorageError) -> Document? {
        try checkOpen()
        if let record = overlay.record(key, in: shard) {
            return try StoredRow.document(key, in: shard, decoding: record.bytes)
        }
        guard key.kind == .message else { return try row(key, in: shard, of: selectOther) }
        guard let near = NearID(key.id) else { return try row(key, in: shard, of: selectMessage) }
        try selectNear.bind(Int64(bitPattern: near.times.lowerBound.bits), at: 5)
        try selectNear.bind(Int64(bitPattern: near.times.upperBound.bits), at: 6)
        return try row(key, in: shard, of: selectNear)
    }

    /// Returns a document as `document` does; from the second call in a turn on, all reads see one
    /// state of the file until `endTurn`.
    ///
    /// Starting a read takes as long as the read itself, and after each newly visible commit SQLite
    /// has to fetch every page again.
    package func documentInTurn(
        _ key: DocumentKey, in shard: ShardID
    ) throws(StorageError) -> Document? {
        try checkOpen()
        readsInTurn += 1
        if readsInTurn == 2 { _ = try anchor.step() }
        return try document(key, in: shard)
    }

    private func row(
        _ key: DocumentKey, in shard: ShardID, of statement: Statement
    ) throws(StorageError) -> Document? {
        try statement.bind(Int64(shard.number), at: 1)
        try statement.bind(key.partition, at: 2)
        try statement.bind(key.id, at: 3)
        try statement.bind(Int64(key.kind.number), at: 4)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let row = StoredRow(statement, shard: shard)
        if !statement.isNull(StoredRow.columnsCount) {
            guard row.isPlaced(as: key) else { throw .badIndex(shard) }
        }
        return try row.document(key)
    }
}
