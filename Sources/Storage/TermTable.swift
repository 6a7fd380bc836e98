import Chat
import Wire

/// The writer's side of the table `term`.
struct TermTable {
    private let insert: Statement
    private let delete: Statement

    init(_ connection: Connection) throws(StorageError) {
        insert = try Statement(
            connection, "INSERT OR REPLACE INTO term VALUES(?,?,?,?,?)", doing: "storing a term")
        delete = try Statement(
            connection,
            """
            DELETE FROM term
            WHERE shard = ? AND kind = ? AND word = ? AND partition = ? AND id = ?
            """, doing: "removing a term")
    }

    /// Has a document stand under these words, whatever stood there before.
    func store(_ terms: [String], of key: DocumentKey, in shard: ShardID) throws(StorageError) {
        for term in terms { try run(insert, term, of: key, in: shard) }
    }

    func remove(_ term: String, of key: DocumentKey, in shard: ShardID) throws(StorageError) {
        try run(delete, term, of: key, in: shard)
    }

    private func run(
        _ statement: Statement, _ term: String, of key: DocumentKey, in shard: ShardID
    ) throws(StorageError) {
        try statement.bind(Int64(shard.number), at: 1)
        try statement.bind(Int64(key.kind.number), at: 2)
        try statement.bind(term, at: 3)
        try statement.bind(key.partition, at: 4)
        try statement.bind(key.id, at: 5)
        try statement.run()
    }
}
