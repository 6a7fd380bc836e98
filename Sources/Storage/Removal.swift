import Chat
import Wire

/// The writer's rare statements: documents set aside, copies dropped.
struct Removal {
    private let removals: [Statement]
    private let drops: [Statement]
    private let dots: DotTable

    init(_ connection: Connection, _ dots: DotTable) throws(StorageError) {
        self.dots = dots
        // By id, not by whole key, and so by a scan: of a bad document nobody knows the time, nor
        // by whom it was changed. What is not even under a name goes along, for nothing finds it
        // again.
        let removed = [
            """
            DELETE FROM document WHERE shard = ?1
            AND (partition = ?2 AND kind = ?3 AND id = ?4
                OR partition GLOB '*[^A-Za-z0-9_.:@-]*' OR id GLOB '*[^A-Za-z0-9_.:@-]*')
            """,
            "DELETE FROM term WHERE shard = ?1 AND partition = ?2 AND kind = ?3 AND id = ?4",
            // What it counted for in its conversation nobody knows.
            """
            DELETE FROM document WHERE shard = ?1 AND partition = ?2 AND ?3 = 2 AND ?4 = ?4
            AND kind > \(DocumentKey.Kind.countedRun(0).number)
            """,
            "DELETE FROM place WHERE shard = ?1 AND partition = ?2 AND ?3 = 2 AND id = ?4",
        ]
        let dropped = ["document", "place", "dots", "term", "copy"]
        var removals: [Statement] = []
        for sql in removed {
            removals.append(try Statement(connection, sql, doing: "setting a document aside"))
        }
        var drops: [Statement] = []
        for table in dropped {
            let sql = "DELETE FROM \(table) WHERE shard = ?"
            drops.append(try Statement(connection, sql, doing: "dropping a copy"))
        }
        self.removals = removals
        self.drops = drops
    }

    func remove(_ key: DocumentKey, in shard: ShardID) throws(StorageError) {
        try dots.remove(key, in: shard)
        for statement in removals {
            try statement.bind(Int64(shard.number), at: 1)
            try statement.bind(key.partition, at: 2)
            try statement.bind(Int64(key.kind.number), at: 3)
            try statement.bind(key.id, at: 4)
            try statement.run()
        }
    }

    func drop(_ shard: ShardID) throws(StorageError) {
        for statement in drops {
            try statement.bind(Int64(shard.number), at: 1)
            try statement.run()
        }
    }
}
