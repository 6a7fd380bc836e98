import CSQLite

/// The writing connection: transactions, and the log in front of the file.
///
/// Not SQLite's own checkpoints: those run inside a commit, before anybody is told of it, and keep
/// their errors to themselves.
final class WriterFile {
    /// When the log is folded into the file: 32 MB.
    ///
    /// A page that many commits touch is written to the file once for all of them; with the
    /// default of 1,000 pages a row in a batch of 100 costs a fifth more. A longer log costs a
    /// longer pause.
    static let logPagesMax: Int32 = 8_000

    private let connection: Connection
    private let tables: Tables
    private let begin: Statement
    private let commit: Statement
    /// How many pages the log has, as the last commit said.
    private let logPages: UnsafeMutablePointer<Int32>
    private var purging = PurgeSchedule()
    /// A checkpoint that failed: whether what it wrote is on disk nobody knows.
    private var failure: StorageError?

    init(_ connection: Connection) throws(StorageError) {
        self.connection = connection
        tables = try Tables(connection)
        begin = try Statement(connection, "BEGIN IMMEDIATE", doing: "beginning a transaction")
        commit = try Statement(connection, "COMMIT", doing: "committing")
        logPages = .allocate(capacity: 1)
        logPages.initialize(to: 0)
        sqlite3_wal_hook(
            connection.handle,
            { context, _, _, pages in
                context?.storeBytes(of: pages, as: Int32.self)
                return SQLITE_OK
            }, logPages)
    }

    deinit { logPages.deallocate() }

    /// When the log has to be emptied since purged texts live on in it; nil where none does.
    var truncationDue: MonotonicTime? { purging.due }

    /// Stores all of it in one transaction, or nothing.
    func store(_ batches: [WriteBatch]) -> StorageError? {
        if let failure { return failure }
        do throws(StorageError) {
            try begin.run()
            try apply(batches)
            try commit.run()
        } catch {
            rollBack()
            return error
        }
        purging.noteCommit(purges: batches.contains(where: \.purges))
        return nil
    }

    private func apply(_ batches: [WriteBatch]) throws(StorageError) {
        // Of a shard's headers in one transaction only the last shows.
        var last: [ShardIndex: Int] = [:]
        var count = 0
        for batch in batches {
            for write in batch.shards {
                last[write.shard.number] = count
                count += 1
            }
            for shard in batch.dropped { last[shard.number] = nil }
        }
        var start = 0
        for batch in batches {
            try tables.apply(batch) { last[batch.shards[$0].shard.number] == start + $0 }
            start += batch.shards.count
        }
    }

    private typealias ShardIndex = UInt16

    private func rollBack() {
        tables.rolledBack()
        // Some errors have rolled back already.
        guard sqlite3_get_autocommit(connection.handle) == 0 else { return }
        sqlite3_exec(connection.handle, "ROLLBACK", nil, nil, nil)
    }
}

/// The log.
extension WriterFile {
    /// Folds a long log into the file, as far as no reader is on it.
    func keepLogShort() {
        guard logPages.pointee >= WriterFile.logPagesMax else { return }
        checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    }

    /// Empties the log, so that no text that was purged is left in it; later, where a reader is
    /// on it.
    func truncateLog() {
        sqlite3_busy_timeout(connection.handle, 0)
        let isEmpty = checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
        sqlite3_busy_timeout(connection.handle, Database.busyMillisecondsMax)
        purging.noteTruncation(succeeded: isEmpty)
        // Pages in memory are as they were before they were cleaned on their way into the file:
        // changed once more, they would bring old texts back into the log.
        if isEmpty { sqlite3_db_release_memory(connection.handle) }
    }

    func close() {
        truncateLog()
        connection.close()
    }

    @discardableResult
    private func checkpoint(_ mode: Int32) -> Bool {
        let code = sqlite3_wal_checkpoint_v2(connection.handle, nil, mode, nil, nil)
        guard code != SQLITE_OK else { return true }
        let error = StorageError(sqlite: code, doing: "folding the log into the file")
        // A full disk or a reader on the log: it stays where it is and is folded later.
        if case .io = error { failure = error }
        if case .corrupt = error { failure = error }
        return false
    }
}

/// When to empty the log after texts were purged.
struct PurgeSchedule {
    /// A pause in the writing that counts as idle.
    private static let idleMilliseconds: UInt64 = 20
    /// How long a purged text stays in the log of a node that never pauses.
    private static let delayMillisecondsMax: UInt64 = 1_000
    private static let retryMilliseconds: UInt64 = 50

    /// The latest moment for the oldest purge that the log still knows.
    private var deadline: MonotonicTime?
    private(set) var due: MonotonicTime?

    mutating func noteCommit(purges: Bool) {
        guard purges || deadline != nil else { return }
        let now = MonotonicTime.now
        let latest = deadline ?? now.after(milliseconds: PurgeSchedule.delayMillisecondsMax)
        deadline = latest
        due = min(now.after(milliseconds: PurgeSchedule.idleMilliseconds), latest)
    }

    mutating func noteTruncation(succeeded: Bool) {
        if succeeded {
            deadline = nil
            due = nil
        } else if deadline != nil {
            due = MonotonicTime.now.after(milliseconds: PurgeSchedule.retryMilliseconds)
        }
    }
}
