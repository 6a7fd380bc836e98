import CSQLite
import Wire

/// The writing connection: what is stored by it, and the log in front of the file.
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
    private let tables: JournaledTables
    /// How many pages the log has, as the last commit said.
    private let logPages: UnsafeMutablePointer<Int32>
    private var purging = PurgeSchedule()
    /// The last generation that has to be folded before the log is emptied.
    private var purgedGeneration: UInt64 = 0
    /// A checkpoint that failed: whether what it wrote is on disk nobody knows.
    private var failure: StorageError?

    /// Applies what the journal holds from the life before.
    ///
    /// - Parameter onFolded: told of each generation of the journal that is in the tables.
    init(
        _ connection: Connection, _ limits: JournalLimits,
        onFolded: @escaping @Sendable (UInt64) -> Void
    ) throws(StorageError) {
        self.connection = connection
        tables = try JournaledTables(connection, limits, onFolded: onFolded)
        logPages = .allocate(capacity: 1)
        logPages.initialize(to: 0)
        sqlite3_wal_hook(
            connection.handle,
            { context, _, _, pages in
                context?.storeBytes(of: pages, as: Int32.self)
                return SQLITE_OK
            }, logPages)
        // Purged texts may have been among it.
        if try tables.replay() { truncateLog() }
    }

    deinit { logPages.deallocate() }

    /// Stores all of it in one transaction, or nothing.
    func store(_ batches: [WriteBatch]) -> Result<StoredPlace, StorageError> {
        if let failure { return .failure(failure) }
        do throws(StorageError) {
            let purges = batches.contains(where: \.purges)
            let place = try tables.store(batches, closingGeneration: isFoldDue)
            if purges, case .journal(let generation) = place { purgedGeneration = generation }
            purging.noteCommit(purges: purges)
            return .success(place)
        } catch {
            return .failure(error)
        }
    }

    /// When there is something to fold although nobody writes; nil where there is nothing.
    var foldingDue: MonotonicTime? { tables.foldingDue }

    /// Folds some records more; where the disk does not let it, later.
    func foldSlice() {
        guard failure == nil else { return }
        do throws(StorageError) {
            try tables.foldSlice()
        } catch {
            if case .io = error { failure = error }
            purging.noteTruncation(succeeded: false)
        }
    }
}

/// The log.
extension WriterFile {
    /// When the log has to be emptied since purged texts live on in it; nil where none does.
    var truncationDue: MonotonicTime? { purging.due }

    /// Whether purged texts may be in the journal still, in rows that are not folded.
    var isTruncationBlocked: Bool { tables.holdsGeneration(upTo: purgedGeneration) }

    /// Whether the log waits for that.
    private var isFoldDue: Bool {
        isTruncationBlocked && (truncationDue.map { $0 <= .now } ?? false)
    }

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
        // What cannot be folded is folded at the next start.
        do throws(StorageError) { try tables.foldAll() } catch { failure = failure ?? error }
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
