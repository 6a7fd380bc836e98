import Wire

/// The tables with the write log in front of them: where a batch goes, and when it is flushed.
///
/// Invariant: every memtable that a reader was told of by `StoredPlace` is whole in the write log
/// until `onFolded` names it; from then on it is whole in the tables.
final class LoggedTables {
    private let tables: Tables
    private let writeLog: WriteLog
    private let transactions: Transactions
    private let limits: WriteLogLimits
    private let onFolded: @Sendable (UInt64) -> Void
    private let onDamage: (StorageError) -> Void

    /// What was journaled since the last memtable was closed.
    private var young = Memtable(1)
    /// The memtable before it, on its way into the tables.
    private var flush: Flush?
    /// The memtable whose rows are spent.
    private var spentMemtable: UInt64 = 0
    private var lastCommit = MonotonicTime.now
    /// Until when a flush that the disk did not let is not tried again.
    private var restsUntil: MonotonicTime?
    /// Whether a row of the write log was bad.
    private var isDamaged = false

    /// - Parameter onDamage: told of a damaged index row that a flush met.
    init(
        _ connection: Connection, _ limits: WriteLogLimits,
        onFolded: @escaping @Sendable (UInt64) -> Void,
        onDamage: @escaping (StorageError) -> Void
    ) throws(StorageError) {
        self.limits = limits
        self.onFolded = onFolded
        self.onDamage = onDamage
        tables = try Tables(connection)
        writeLog = try WriteLog(connection)
        transactions = try Transactions(connection)
    }

    /// Stores all of it in one transaction, or nothing.
    func store(_ batches: [WriteBatch]) throws(StorageError) -> StoredPlace {
        guard batches.allSatisfy(isJournaled) else { return try storeInTables(batches) }
        if flush == nil, isYoungFull { closeMemtable() }
        return try append(WriteLogRow(batches))
    }

    /// What empties, or is so much that to write it twice would cost more, does not.
    private func isJournaled(_ batch: WriteBatch) -> Bool {
        batch.dropped.isEmpty && !batch.shards.contains(where: \.isReindexed)
            && batch.bytesCount < limits.batchBytesMax
    }

    /// The tables have to hold all that was stored before.
    private func storeInTables(_ batches: [WriteBatch]) throws(StorageError) -> StoredPlace {
        let reindexed = batches.flatMap { $0.shards.filter(\.isReindexed).map(\.shard) }
        if !reindexed.isEmpty { return try store(batches, reindexing: Set(reindexed)) }
        try flushAll()
        do throws(StorageError) {
            try transact { () throws(StorageError) in try tables.apply(batches) }
        } catch {
            if case .badIndex = error { onDamage(error) }
            throw error
        }
        return .tables
    }

    /// The write log, the batches and the tables that are made anew are one transaction: a flush
    /// that meets what is damaged would fail, and one that leaves it out must not be on disk alone.
    private func store(
        _ batches: [WriteBatch], reindexing shards: Set<ShardID>
    ) throws(StorageError) -> StoredPlace {
        if flush == nil, !young.isEmpty { closeMemtable() }
        let flushes = [flush, young.isEmpty ? nil : Flush(young)].compactMap(\.self)
        try transact { () throws(StorageError) in
            tables.leaveIndexes(of: shards)
            try tables.removeDamagedReplicas()
            for flush in flushes {
                try tables.store(flush.rest)
                try tables.store(flush.headers, flush.settings)
            }
            try writeLog.remove(upTo: writeLog.last)
            try tables.apply(batches)
            try tables.reindex()
        }
        flush = nil
        if let last = flushes.last {
            young = Memtable(max(young.number, last.number + 1))
            spentMemtable = last.number
            onFolded(last.number)
        }
        return .tables
    }

    private func append(_ row: WriteLogRow) throws(StorageError) -> StoredPlace {
        let count = max(limits.sliceRecordsMin, 2 * row.records.count)
        let slice = isResting ? nil : flush?.slice(count)
        do throws(StorageError) {
            try append(row, folding: slice)
        } catch {
            guard slice != nil, mayFlushLater(error) else { throw error }
            rest()
            try append(row, folding: nil)
        }
        young.add(row, number: writeLog.last)
        lastCommit = .now
        return .writeLog(memtable: young.number)
    }

    private func mayFlushLater(_ error: StorageError) -> Bool {
        switch error {
        // A row takes few pages where a slice takes many: deletions go on for a while.
        case .full: return !isYoungFull
        case .badIndex:
            onDamage(error)
            return true
        default: return false
        }
    }

    private func append(
        _ row: WriteLogRow, folding slice: ArraySlice<FlushedRecord>?
    ) throws(StorageError) {
        try transact { () throws(StorageError) in
            try writeLog.append(row)
            if let slice { try apply(slice) }
        }
        if let slice { noteFolded(slice) }
    }

    private func transact(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        do throws(StorageError) {
            try writeLog.keepingTrack { () throws(StorageError) in try transactions.run(body) }
        } catch {
            tables.rolledBack()
            throw error
        }
    }
}

// MARK: Folding

extension LoggedTables {
    /// Also by its age: of documents that change all the time few records are kept and many rows.
    private var isYoungFull: Bool {
        young.recordsCount >= limits.recordsMax || young.bytesCount >= limits.bytesMax
            || young.rowsCount >= limits.rowsMax || young.isOlder(than: limits.ageMilliseconds)
    }

    private var isResting: Bool { restsUntil.map { MonotonicTime.now < $0 } ?? false }

    private func rest() {
        restsUntil = MonotonicTime.now.after(milliseconds: WriteLogLimits.restMilliseconds)
    }

    /// From here on it is flushed, and another one begins.
    private func closeMemtable() {
        flush = Flush(young)
        young = Memtable(young.number + 1)
    }

    /// Whether the write log still holds something of the memtables up to this one.
    func holdsMemtable(upTo number: UInt64) -> Bool {
        if let flush, flush.number <= number { return true }
        if writeLog.holdsSpent, spentMemtable <= number { return true }
        return !young.isEmpty && young.number <= number
    }

    /// When there is something to flush although nobody writes; nil where there is nothing.
    var foldingDue: MonotonicTime? {
        guard !isEmpty else { return nil }
        let pause = flush != nil ? WriteLogLimits.pauseMilliseconds : limits.idleMilliseconds
        let due = lastCommit.after(milliseconds: pause)
        return max(due, restsUntil ?? due)
    }

    /// Flushes some records more; where there are none, removes the rows that are spent.
    ///
    /// - Parameter isEmptying: whether rows are to be gone as soon as they are spent.
    func flushSlice(isEmptying: Bool) throws(StorageError) {
        if isEmptying || (flush == nil && young.isEmpty), writeLog.holdsSpent {
            return try transactOrRest { () throws(StorageError) in try writeLog.removeSpent() }
        }
        if flush == nil, !young.isEmpty { closeMemtable() }
        guard let slice = flush?.slice(WriteLogLimits.recordsPerTransaction) else { return }
        try transactOrRest { () throws(StorageError) in
            try apply(slice)
            if isEmptying { try writeLog.removeSpent() }
        }
        noteFolded(slice)
    }

    /// Where the disk does not let it, the next waits.
    private func transactOrRest(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        do throws(StorageError) {
            try transact(body)
        } catch {
            rest()
            if case .badIndex = error { onDamage(error) }
            throw error
        }
        restsUntil = nil
    }

    /// Whether the write log has no rows.
    private var isEmpty: Bool { flush == nil && young.isEmpty && !writeLog.holdsSpent }

    /// Empties the write log.
    func flushAll() throws(StorageError) {
        while !isEmpty { try flushSlice(isEmptying: true) }
    }

    /// Inside a transaction: with its last slice, the rows of the memtable are spent.
    private func apply(_ slice: ArraySlice<FlushedRecord>) throws(StorageError) {
        try tables.store(slice)
        guard let flush, flush.ends(with: slice) else { return }
        try tables.store(flush.headers, flush.settings)
        try writeLog.spend(upTo: flush.lastRow)
    }

    private func noteFolded(_ slice: ArraySlice<FlushedRecord>) {
        flush?.noteCommitted(slice)
        guard let ended = flush, ended.ends(with: slice) else { return }
        flush = nil
        spentMemtable = ended.number
        onFolded(ended.number)
    }
}

// MARK: Starting

extension LoggedTables {
    /// Applies what a process that was killed left in the write log.
    ///
    /// One row after the other: where the tables hold some of them already, only the whole sequence
    /// takes back what each has left behind. Within a row they hold all or nothing of a document,
    /// for a row was never flushed in part.
    ///
    /// - Parameter pause: called between two transactions.
    /// - Returns: whether there was anything.
    func replay(afterEach pause: () -> Void) throws(StorageError) -> Bool {
        var damaged: Set<ShardID> = []
        while true {
            do throws(StorageError) {
                return try replay(reindexing: damaged, afterEach: pause)
            } catch .badIndex(let shard) where damaged.insert(shard).inserted {
                continue
            } catch {
                throw error
            }
        }
    }

    /// - Parameter damaged: the shards whose indexes are made anew at the end.
    private func replay(
        reindexing damaged: Set<ShardID>, afterEach pause: () -> Void
    ) throws(StorageError) -> Bool {
        var number: Int64 = 0
        var isAtEnd = false
        while !isAtEnd {
            try transact { () throws(StorageError) in
                tables.leaveIndexes(of: damaged)
                var records = 0
                while records < WriteLogLimits.recordsPerTransaction {
                    guard let row = try writeLog.row(after: number) else {
                        isAtEnd = true
                        if isDamaged { try tables.spoilHeaders() }
                        try tables.reindex()
                        return try writeLog.remove(upTo: number)
                    }
                    number = row.number
                    records += try apply(row.content)
                }
            }
            pause()
        }
        return number > 0
    }

    /// Inside a transaction.
    ///
    /// - Parameter row: nil for one whose bytes are bad: it is gone, and with it nobody knows what,
    ///   so that no header before or behind it can be believed.
    /// - Returns: how many records it had.
    private func apply(_ row: WriteLogRow?) throws(StorageError) -> Int {
        guard let row else {
            isDamaged = true
            return 1
        }
        try tables.store(row.records.folded()[...])
        try tables.store(row.headers, row.settings)
        return max(1, row.records.count)
    }
}
