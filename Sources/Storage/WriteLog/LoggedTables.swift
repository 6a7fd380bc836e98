import StorePort
import Wire

/// The tables with the write log in front of them, which decides where a batch is written and when
/// it is flushed.
///
/// Invariant: every memtable that `StoredPlace` has reported to the reader is entirely in the write
/// log until `onFolded` reports its number, and entirely in the tables from then on.
final class LoggedTables {
    private let tables: Tables
    private let writeLog: WriteLog
    private let transactions: Transactions
    private let limits: WriteLogLimits
    private let onFolded: @Sendable (UInt64) -> Void
    private let onDamage: (StorageError) -> Void

    /// The memtable of the rows that were logged since the previous one was closed.
    private var young = Memtable(1)
    /// The unfinished flush of the previous memtable; nil if there is none.
    private var flush: Flush?
    /// The number of the last memtable whose rows in the write log are spent.
    private var spentMemtable: UInt64 = 0
    private var lastCommit = MonotonicTime.now
    /// The end of the pause after a flush that the disk refused.
    private var restsUntil: MonotonicTime?
    /// Whether the replay has found a damaged row of the write log.
    private var isDamaged = false

    /// - Parameter onDamage: called with the error when a flush meets a damaged row of an index.
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

    /// Stores the batches in one transaction, or none of them.
    func store(_ batches: [WriteBatch]) throws(StorageError) -> StoredPlace {
        guard batches.allSatisfy(isLogged) else { return try storeInTables(batches) }
        if flush == nil, isYoungFull { closeMemtable() }
        return try append(WriteLogRow(batches))
    }

    /// Whether a batch is written to the write log first; drops, repairs and batches that are too
    /// large to be written twice are not.
    private func isLogged(_ batch: WriteBatch) -> Bool {
        batch.dropped.isEmpty && !batch.shards.contains(where: \.isReindexed)
            && batch.bytesCount < limits.batchBytesMax
    }

    /// Stores batches in the tables, after flushing the whole write log.
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

    /// Stores batches and rebuilds indexes, in one transaction with the whole write log.
    ///
    /// A separate flush would fail at the damaged rows or, by omitting them, lose part of the
    /// state.
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
        // On a full disk, a row alone is tried: it takes fewer pages than a slice, so deletions
        // remain possible for a while.
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

// MARK: Flushing

extension LoggedTables {
    /// Whether the memtable has to be closed.
    ///
    /// The number of rows and the age count, too, since documents that change all the time make few
    /// records but many rows.
    private var isYoungFull: Bool {
        young.recordsCount >= limits.recordsMax || young.bytesCount >= limits.bytesMax
            || young.rowsCount >= limits.rowsMax || young.isOlder(than: limits.ageMilliseconds)
    }

    private var isResting: Bool { restsUntil.map { MonotonicTime.now < $0 } ?? false }

    private func rest() {
        restsUntil = MonotonicTime.now.after(milliseconds: WriteLogLimits.restMilliseconds)
    }

    /// Starts to flush the memtable, and creates the next one.
    private func closeMemtable() {
        flush = Flush(young)
        young = Memtable(young.number + 1)
    }

    /// Returns whether the write log still contains rows of the memtables up to `number`.
    func holdsMemtable(upTo number: UInt64) -> Bool {
        if let flush, flush.number <= number { return true }
        if writeLog.holdsSpent, spentMemtable <= number { return true }
        return !young.isEmpty && young.number <= number
    }

    /// The time of the next flush if no commit precedes it; nil if the write log is empty.
    var foldingDue: MonotonicTime? {
        guard !isEmpty else { return nil }
        let pause = flush != nil ? WriteLogLimits.pauseMilliseconds : limits.idleMilliseconds
        let due = lastCommit.after(milliseconds: pause)
        return max(due, restsUntil ?? due)
    }

    /// Flushes the next records; if there are none, removes spent rows of the write log.
    ///
    /// - Parameter isEmptying: whether rows are removed as soon as they are spent.
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

    /// Runs a transaction; if it fails, the next flush waits for the end of a pause.
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

    /// Stores a slice inside a transaction; the last slice makes the memtable's rows spent.
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
    /// Applies the rows that a previous process left in the write log.
    ///
    /// The rows are applied one after another: if the tables already contain some of them, only the
    /// whole sequence leads to the last state. Of each row the tables contain either all records of
    /// a document or none, because a row is never flushed in part.
    ///
    /// - Parameter pause: called between two transactions.
    /// - Returns: whether there were any rows.
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

    /// Adds the index terms that a file of an earlier version lacks.
    ///
    /// If the disk is full, the next opening of the file adds the terms.
    func addTerms(of connection: Connection) throws(StorageError) {
        let terms = AddedTerms(to: tables, of: connection)
        do throws(StorageError) {
            guard try !terms.areStored else { return }
            try transact { () throws(StorageError) in try terms.store() }
        } catch .full {
            return
        } catch {
            throw error
        }
    }

    /// - Parameter damaged: the shards whose indexes are rebuilt at the end.
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

    /// Applies a row inside a transaction.
    ///
    /// - Parameter row: the row; nil if it is damaged. The content of a damaged row is unknown, so
    ///   all headers become invalid.
    /// - Returns: the number of records, at least 1.
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
