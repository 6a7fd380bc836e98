import Chat
import Wire

/// The writer's statements that remove damaged documents and drop shard replicas.
struct Removal {
    private let removal: Statement
    private let uncounting: Statement
    private let drops: [Statement]

    init(_ connection: Connection) throws(StorageError) {
        // The statement finds the document by id and not by the whole key, and therefore by a scan,
        // since the time of a damaged document is unknown. The statement also removes rows with
        // invalid names, which no query can find.
        removal = try Statement(
            connection,
            """
            DELETE FROM document WHERE shard = ?1
            AND (partition = ?2 AND kind = ?3 AND id = ?4
                OR partition GLOB '*[^A-Za-z0-9_.:@-]*' OR id GLOB '*[^A-Za-z0-9_.:@-]*')
            """, doing: "setting a document aside")
        // The contribution of a damaged message to the counts is unknown, so its conversation's
        // runs are dropped.
        uncounting = try Statement(
            connection,
            """
            DELETE FROM document WHERE shard = ?1 AND partition = ?2
            AND kind > \(DocumentKey.Kind.countedRun(0).number)
            """, doing: "giving up the counted runs")
        let dropped = ["document", "place", "dots", "term", "copy", "base"]
        var drops: [Statement] = []
        for table in dropped {
            let sql = "DELETE FROM \(table) WHERE shard = ?"
            drops.append(try Statement(connection, sql, doing: "dropping a copy"))
        }
        self.drops = drops
    }

    /// Removes a document; the caller has to rebuild the shard's indexes, which still contain it.
    func remove(_ key: DocumentKey, in shard: ShardID) throws(StorageError) {
        try removal.bind(Int64(shard.number), at: 1)
        try removal.bind(key.partition, at: 2)
        try removal.bind(Int64(key.kind.number), at: 3)
        try removal.bind(key.id, at: 4)
        try removal.run()
        guard key.kind == .message else { return }
        try uncounting.bind(Int64(shard.number), at: 1)
        try uncounting.bind(key.partition, at: 2)
        try uncounting.run()
    }

    func drop(_ shard: ShardID) throws(StorageError) {
        for statement in drops {
            try statement.bind(Int64(shard.number), at: 1)
            try statement.run()
        }
    }
}
