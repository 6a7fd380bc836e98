import Chat
import Wire

/// The statements that write the table `term`.
struct TermTable {
    private let insert: Statement
    private let delete: Statement

    init(_ connection: Connection) throws(StorageError) {
        insert = try Statement(
            connection, "INSERT OR REPLACE INTO term VALUES(?,?,?,?,?,?)", doing: "storing a term")
        delete = try Statement(
            connection,
            """
            DELETE FROM term
            WHERE shard = ? AND kind = ? AND word = ? AND partition = ? AND id = ?
            """, doing: "removing a term")
    }

    /// Stores a row for each term of a document, replacing existing ones.
    func store(_ indexKeys: [String], of key: DocumentKey, in shard: ShardID) throws(StorageError) {
        let kind = Int64(key.kind.number)
        for term in indexKeys {
            try insert.bind(Int64(shard.number), at: 1)
            try insert.bind(kind, at: 2)
            let word = try insert.bind(term, at: 3)
            let partition = try insert.bind(key.partition, at: 4)
            let id = try insert.bind(key.id, at: 5)
            let sum = Seal.sum(
                ofTerm: word, shard: shard, kind: kind, partition: partition, id: id)
            try insert.bind(sum, at: 6)
            try insert.run()
        }
    }

    func remove(_ term: String, of key: DocumentKey, in shard: ShardID) throws(StorageError) {
        try delete.bind(Int64(shard.number), at: 1)
        try delete.bind(Int64(key.kind.number), at: 2)
        try delete.bind(term, at: 3)
        try delete.bind(key.partition, at: 4)
        try delete.bind(key.id, at: 5)
        try delete.run()
    }
}
