import CRDT
import Chat
import StorePort
import Wire

/// The writer's statements, which apply a batch to the tables inside an open transaction.
final class Tables {
    private let insertDocument: Insertion
    private let deleteDocument: Statement
    private let insertPlace: Statement
    private let dots: DotTable
    private let indexKeys: TermTable
    private let insertHeader: Statement
    private let insertBase: Statement
    private let insertSetting: Statement
    private let spoiling: Statement
    private let spoilings: [Statement]
    private let anySetting: Statement
    private let replicas: ReplicaNumbers
    private let replicaCheck: ReplicaCheck
    private let removal: Removal
    private let emptyings: [Statement]
    private let selectDocuments: Statement
    /// The shards whose other tables will be rebuilt from `document`; changes of those tables are
    /// skipped.
    private var reindexed: Set<ShardID> = []
    private let seal = Seal()
    /// The buffers of sealed values, one for each row that one statement inserts.
    private let seals = (0..<Insertion.rowsMax).map { _ in Seal() }

    init(_ connection: Connection) throws(StorageError) {
        insertDocument = try Insertion(
            connection, into: "document", columns: 6, doing: "storing a document")
        deleteDocument = try Statement(
            connection,
            """
            DELETE FROM document
            WHERE shard = ? AND partition = ? AND kind = ? AND time = ? AND id = ?
            """, doing: "moving a document")
        insertPlace = try Statement(
            connection, "INSERT OR REPLACE INTO place VALUES(?,?,?,?,?)",
            doing: "storing a message's place")
        dots = try DotTable(connection)
        indexKeys = try TermTable(connection)
        insertHeader = try Statement(
            connection, "INSERT OR REPLACE INTO copy VALUES(?,?)", doing: "storing a header")
        insertBase = try Statement(
            connection, "INSERT OR REPLACE INTO base VALUES(?,?)", doing: "storing a header's base")
        insertSetting = try Statement(
            connection, "INSERT OR REPLACE INTO setting VALUES(?,?)", doing: "storing a setting")
        spoiling = try Statement(
            connection, "INSERT OR REPLACE INTO copy VALUES(?, x'')", doing: "giving up a header")
        spoilings = [
            try Statement(
                connection,
                "INSERT OR IGNORE INTO copy SELECT DISTINCT shard, x'' FROM document",
                doing: "giving up the headers"),
            try Statement(
                connection, "UPDATE copy SET header = x''", doing: "giving up the headers"),
            try Statement(
                connection,
                "DELETE FROM document WHERE kind > \(DocumentKey.Kind.countedRun(0).number)",
                doing: "giving up the counted runs"),
        ]
        anySetting = try Statement(
            connection, "SELECT 1 FROM setting LIMIT 1", doing: "looking for settings")
        replicas = try ReplicaNumbers(connection, interning: true)
        replicaCheck = try ReplicaCheck(connection)
        removal = try Removal(connection)
        var emptyings: [Statement] = []
        for table in ["place", "dots", "term"] {
            emptyings.append(
                try Statement(
                    connection, "DELETE FROM \(table) WHERE shard = ?",
                    doing: "making the indexes anew"))
        }
        self.emptyings = emptyings
        selectDocuments = try Statement(
            connection,
            """
            SELECT \(StoredRow.columns) FROM document d
            WHERE shard = ?1 AND kind < \(DocumentKey.Kind.countedRun(0).number)
            ORDER BY partition, kind, time, id
            """, doing: "making the indexes anew")
    }

    /// Discards the state in memory that comes from a transaction that was rolled back.
    func rolledBack() {
        replicas.removeAll()
        reindexed = []
    }

    func apply(_ batches: [WriteBatch]) throws(StorageError) {
        var last = LastHeaders()
        for batch in batches {
            for shard in batch.dropped {
                try removal.drop(shard)
                last.drop(shard)
            }
            for write in batch.shards {
                for key in write.removed { try removal.remove(key, in: write.shard) }
                let records = write.records.map { FlushedRecord(shard: write.shard, record: $0) }
                try store(records.folded()[...])
                last.note(write)
            }
            for setting in batch.settings { try storeSetting(setting.name, setting.value) }
        }
        try store(last.rows, [:])
    }

    /// Stores records of different documents, after removing the rows that these replace.
    func store(_ records: ArraySlice<FlushedRecord>) throws(StorageError) {
        for item in records { try removeOutdated(item.record, in: item.shard) }
        try insertDocument.store(records, bind: bindDocument)
        try storeIndexes(records)
    }

    private func storeIndexes(_ records: ArraySlice<FlushedRecord>) throws(StorageError) {
        let records =
            reindexed.isEmpty ? records : records.filter { !reindexed.contains($0.shard) }[...]
        try dots.store(try dotChanges(of: records))
        for item in records { try storeNames(item.record, in: item.shard) }
    }

    func store(
        _ headers: [ShardID: HeaderRows], _ settings: [String: [UInt8]]
    ) throws(StorageError) {
        for (shard, rows) in headers { try storeHeader(rows, of: shard) }
        for (name, value) in settings { try storeSetting(name, value) }
    }

    /// Returns the changes of the table `dots` that follow from the records.
    private func dotChanges(
        of records: ArraySlice<FlushedRecord>
    ) throws(StorageError) -> [DotChange] {
        var changes: [DotChange] = []
        changes.reserveCapacity(records.count)
        func writeDot(_ dot: Dot, _ shard: ShardID, _ place: DotPlace?) throws(StorageError) {
            guard let replica = try replicas.number(of: dot.replica, in: shard) else { return }
            changes.append(
                DotChange(shard: shard, replica: replica, seq: dot.seq, place: place))
        }
        for item in records {
            let place = DotPlace(key: item.record.key, time: item.record.time)
            let new = item.record.changedBy.dots
            let old = item.record.previous?.changedBy.dots ?? []
            let hasMoved = item.record.hasMoved
            for dot in new where hasMoved || !old.contains(dot) {
                try writeDot(dot, item.shard, place)
            }
            for dot in old where !new.contains(dot) { try writeDot(dot, item.shard, nil) }
        }
        return changes
    }

    /// Removes the rows of a document that the record `write` makes obsolete.
    private func removeOutdated(_ write: Record, in shard: ShardID) throws(StorageError) {
        guard let previous = write.previous else { return }
        if write.hasMoved { try removeRow(of: write.key, at: previous.time, in: shard) }
        guard previous.indexKeys != write.indexKeys, !reindexed.contains(shard) else { return }
        for term in previous.indexKeys where !write.indexKeys.contains(term) {
            try indexKeys.remove(term, of: write.key, in: shard)
        }
    }

    /// Stores the rows of a document in `place` and `term`.
    func storeNames(_ write: Record, in shard: ShardID) throws(StorageError) {
        if write.key.kind == .message,
            write.hasMoved || write.previous == nil && !write.isNearItsID
        {
            try storePlace(write, in: shard)
        }
        guard write.indexKeys != write.previous?.indexKeys ?? [] else { return }
        try indexKeys.store(write.indexKeys, of: write.key, in: shard)
    }

    private func bindDocument(
        _ item: FlushedRecord, to statement: Statement, behind index: Int32, row: Int
    ) throws(StorageError) {
        let (shard, key) = (item.shard, item.record.key)
        let time = Int64(bitPattern: item.record.time.bits)
        let kind = Int64(key.kind.number)
        try statement.bind(Int64(shard.number), at: index + 1)
        let partition = try statement.bind(key.partition, at: index + 2)
        try statement.bind(kind, at: index + 3)
        try statement.bind(time, at: index + 4)
        let id = try statement.bind(key.id, at: index + 5)
        let seed = Seal.seed(shard: shard, partition: partition, kind: kind, time: time, id: id)
        try statement.bind(seals[row].seal(item.record.bytes, seed: seed), at: index + 6)
    }

    private func removeRow(
        of key: DocumentKey, at time: HybridTimestamp, in shard: ShardID
    ) throws(StorageError) {
        try deleteDocument.bind(Int64(shard.number), at: 1)
        try deleteDocument.bind(key.partition, at: 2)
        try deleteDocument.bind(Int64(key.kind.number), at: 3)
        try deleteDocument.bind(Int64(bitPattern: time.bits), at: 4)
        try deleteDocument.bind(key.id, at: 5)
        try deleteDocument.run()
    }

    private func storePlace(_ write: Record, in shard: ShardID) throws(StorageError) {
        let time = Int64(bitPattern: write.time.bits)
        try insertPlace.bind(Int64(shard.number), at: 1)
        let partition = try insertPlace.bind(write.key.partition, at: 2)
        let id = try insertPlace.bind(write.key.id, at: 3)
        try insertPlace.bind(time, at: 4)
        let sum = Seal.sum(ofPlace: id, time: time, shard: shard, partition: partition)
        try insertPlace.bind(sum, at: 5)
        try insertPlace.run()
    }

    private func storeHeader(_ rows: HeaderRows, of shard: ShardID) throws(StorageError) {
        try insertHeader.bind(Int64(shard.number), at: 1)
        try insertHeader.bind(seal.seal(rows.header, seed: Seal.seed(of: shard)), at: 2)
        try insertHeader.run()
        guard let base = rows.base else { return }
        try insertBase.bind(Int64(shard.number), at: 1)
        try insertBase.bind(seal.seal(base, seed: Seal.seed(ofBaseOf: shard)), at: 2)
        try insertBase.run()
    }

    /// Marks every header as damaged, so that each is computed again from the documents.
    ///
    /// - Throws: `corrupt` if even the settings, which name the cluster and the node, are missing.
    func spoilHeaders() throws(StorageError) {
        for statement in spoilings { try statement.run() }
        defer { anySetting.reset() }
        guard try anySetting.step() else { throw .corrupt(doing: "replaying the write log") }
    }

    private func storeSetting(_ name: String, _ value: [UInt8]) throws(StorageError) {
        try insertSetting.bind(name, at: 1)
        try insertSetting.bind(seal.seal(value, seed: Seal.seed(ofSetting: name)), at: 2)
        try insertSetting.run()
    }
}

// MARK: Rebuilding indexes

extension Tables {
    private static let recordsAtATime = 1_024

    /// Skips all changes of the indexes of `shards` until `reindex` rebuilds them.
    func leaveIndexes(of shards: Set<ShardID>) { reindexed = shards }

    /// Removes damaged rows of `replica`; `reindex` then also rebuilds the shards with dots of
    /// these replica numbers.
    func removeDamagedReplicas() throws(StorageError) {
        let orphaned = try replicaCheck.mend()
        guard !orphaned.isEmpty else { return }
        replicas.removeAll()
        reindexed.formUnion(orphaned)
    }

    /// Rebuilds the indexes that were skipped, in the same transaction.
    ///
    /// The rebuilt indexes do not contain a document whose bytes are damaged, so it would never be
    /// sent to a peer. Therefore the header of its shard is marked as damaged.
    func reindex() throws(StorageError) {
        try removeDamagedReplicas()
        let shards = reindexed.sorted()
        reindexed = []
        for shard in shards {
            for statement in emptyings {
                try statement.bind(Int64(shard.number), at: 1)
                try statement.run()
            }
            if try !index(shard) { try spoilHeader(of: shard) }
        }
    }

    /// - Returns: true if the bytes of every document are undamaged.
    private func index(_ shard: ShardID) throws(StorageError) -> Bool {
        try selectDocuments.bind(Int64(shard.number), at: 1)
        defer { selectDocuments.reset() }
        let row = StoredRow(selectDocuments, shard: shard)
        var isWhole = true
        var records: [FlushedRecord] = []
        while try selectDocuments.step() {
            guard let bytes = row.bytes else {
                isWhole = false
                continue
            }
            let document = try StoredRow.document(row.key, in: shard, decoding: bytes)
            records.append(
                FlushedRecord(
                    shard: shard, record: Record(of: document, bytes: bytes, previous: nil)))
            guard records.count >= Tables.recordsAtATime else { continue }
            try storeIndexes(records[...])
            records.removeAll(keepingCapacity: true)
        }
        try storeIndexes(records[...])
        return isWhole
    }

    /// Marks the header of a shard as damaged.
    private func spoilHeader(of shard: ShardID) throws(StorageError) {
        try spoiling.bind(Int64(shard.number), at: 1)
        try spoiling.run()
    }
}
