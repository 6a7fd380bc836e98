import Chat
import Wire

/// The terms that documents of earlier versions lack: an account's by its user, and an unsent
/// file's by its owner.
///
/// The terms are added when a file of an earlier version is opened, for the documents that earlier
/// terms of the same kinds find. The version number of the file shows whether they were added.
struct AddedTerms {
    private static let earlier: [(kind: DocumentKey.Kind, word: String)] = [
        (.credentials, Term.account), (.file, Term.unsent),
    ]

    private let tables: Tables
    private let connection: Connection

    init(to tables: Tables, of connection: Connection) {
        self.tables = tables
        self.connection = connection
    }

    /// Whether the file already has the terms, since this or a later version wrote it.
    var areStored: Bool {
        get throws(StorageError) {
            let own = try connection.number(of: "user_version") & (1 << Format.readableShift - 1)
            return own >= Format.number
        }
    }

    /// Adds the terms; called inside a transaction.
    func store() throws(StorageError) {
        let select = try Statement(
            connection,
            """
            SELECT \(StoredRow.columns) FROM term t JOIN document d
            ON d.shard = t.shard AND d.partition = t.partition AND d.kind = t.kind AND d.time = 0
                AND d.id = t.id
            WHERE t.shard = ?1 AND t.kind = ?2 AND t.word = ?3
            """, doing: "reading what lacks terms")
        for shard in try shards() {
            for (kind, word) in AddedTerms.earlier {
                for record in try records(of: kind, carrying: word, in: shard, select) {
                    try tables.storeNames(record, in: shard)
                }
            }
        }
        try connection.run(
            "PRAGMA user_version = \(Format.stored)", doing: "noting that terms were added")
    }

    private func shards() throws(StorageError) -> [ShardID] {
        let statement = try Statement(
            connection, "SELECT shard FROM copy", doing: "reading which shards are held")
        defer { statement.reset() }
        var shards: [ShardID] = []
        while try statement.step() {
            if let number = UInt16(exactly: statement.number(0)) { shards.append(ShardID(number)) }
        }
        return shards
    }

    /// Returns the undamaged documents; a scrub or a later read finds the damaged ones.
    private func records(
        of kind: DocumentKey.Kind, carrying word: String, in shard: ShardID, _ select: Statement
    ) throws(StorageError) -> [Record] {
        try select.bind(Int64(shard.number), at: 1)
        try select.bind(Int64(kind.number), at: 2)
        try select.bind(word, at: 3)
        defer { select.reset() }
        let row = StoredRow(select, shard: shard)
        var records: [Record] = []
        while try select.step() {
            guard let bytes = row.bytes else { continue }
            let document = try StoredRow.document(row.key, in: shard, decoding: bytes)
            records.append(Record(of: document, bytes: bytes, previous: nil))
        }
        return records
    }
}
