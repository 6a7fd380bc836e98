import CSQLite

/// The writing connection, and the management of its write-ahead log.
///
/// SQLite's automatic checkpoints are not used: they run inside a commit, before its completion is
/// called, and do not report their errors. Checkpoints run only on this connection, between two
/// commits: if another connection flushes the log while this one restarts it, SQLite before 3.51.3
/// may lose committed data (https://sqlite.org/wal.html#walresetbug).
final class WriterFile {
    /// The number of pages from which on the log is flushed into the file, about 32 MB.
    ///
    /// A page that many commits change is written to the file once for all of them. With SQLite's
    /// default of 1,000 pages, a row in a batch of 100 takes a fifth more time; a longer log causes
    /// a longer pause.
    static let logPagesMax: Int32 = 8_000

    private let connection: Connection
    private let tables: LoggedTables
    /// The number of pages in the log, as of the last commit.
    private let logPages: UnsafeMutablePointer<Int32>
    private var preallocation = WALPreallocation()
    private let mark: LogMarkFile
    private let places: DataPlaces
    private let file: String
    /// Whether `places` contains the log's path.
    private var isLogPlaced = false
    private var purging = PurgeSchedule()
    /// The last memtable that has to be flushed before the log is emptied.
    private var purgedMemtable: UInt64 = 0
    /// The fatal error of a commit or checkpoint, after which nothing is stored: the content of the
    /// disk is unknown, and another sync would not reveal it.
    private var failure: StorageError?
    private let onFailure: @Sendable (StorageError) -> Void

    /// Opens the tables, and applies the rows of the write log that a previous process left.
    ///
    /// - Parameters:
    ///   - onFolded: called for each memtable that has been flushed.
    ///   - onFailure: called once for the failure after which nothing is stored any more, and for
    ///     each damaged row of an index that is found.
    init(
        _ connection: Connection, _ limits: WriteLogLimits, in folder: String,
        places: DataPlaces,
        onFolded: @escaping @Sendable (UInt64) -> Void,
        onFailure: @escaping @Sendable (StorageError) -> Void
    ) throws(StorageError) {
        self.connection = connection
        self.onFailure = onFailure
        self.places = places
        file = folder + "/" + Format.fileName
        mark = try LogMarkFile(in: folder)
        tables = try LoggedTables(
            connection, limits, onFolded: onFolded, onDamage: onFailure)
        logPages = .allocate(capacity: 1)
        logPages.initialize(to: 0)
        sqlite3_wal_hook(
            connection.handle,
            { context, _, _, pages in
                context?.storeBytes(of: pages, as: Int32.self)
                return SQLITE_OK
            }, logPages)
        let hadRows = try tables.replay(afterEach: keepLogShort)
        try tables.addTerms(of: connection)
        guard hadRows else { return }
        // The replayed rows may have contained purged texts, so the log is emptied.
        purging.noteCommit(purges: true)
        truncateLog()
    }

    deinit { logPages.deallocate() }

    /// Stores the batches in one transaction, or none of them.
    func store(_ batches: [WriteBatch]) -> Result<StoredPlace, StorageError> {
        if let failure { return .failure(failure) }
        do throws(StorageError) {
            // After batches that may use the reserve, both logs are emptied to free space.
            let purges = batches.contains(where: \.mayUseReserve)
            let place = try tables.store(batches)
            if purges, case .writeLog(let memtable) = place { purgedMemtable = memtable }
            purging.noteCommit(purges: purges)
            try checkPlaces()
            return .success(place)
        } catch {
            recordError(error)
            return .failure(error)
        }
    }

    /// The time of the next flush if no commit precedes it; nil if there is nothing to flush.
    var foldingDue: MonotonicTime? { failure == nil ? tables.foldingDue : nil }

    /// Flushes the next records; if this fails, the writer repeats it later.
    func flushSlice() {
        do throws(StorageError) {
            try tables.flushSlice(isEmptying: isTruncationBlocked)
        } catch {
            recordError(error)
            purging.noteTruncation(succeeded: false)
        }
    }

    /// - Throws: `displaced` if a restart would not find the stored data.
    private func checkPlaces() throws(StorageError) {
        if !isLogPlaced {
            isLogPlaced = true
            let path = file + "-wal"
            guard let log = FileStatus(of: path) else { throw .displaced(path) }
            places.add(path, log.identity)
        }
        if let displaced = places.displaced { throw .displaced(displaced) }
    }

    private func recordError(_ error: StorageError) {
        guard error.isFatal, failure == nil else { return }
        failure = error
        onFailure(error)
    }
}

/// The write-ahead log.
extension WriterFile {
    /// The time at which the log has to be emptied of purged texts; nil if it contains none.
    var truncationDue: MonotonicTime? { failure == nil ? purging.due : nil }

    /// Whether purged texts may still be in the write log.
    var isTruncationBlocked: Bool { tables.holdsMemtable(upTo: purgedMemtable) }

    /// Writes the mark of the synced log, after the completions of the commits have been called.
    ///
    /// A process that is killed before this call leaves an older mark.
    func noteLog() {
        if failure == nil { mark.record(frames: logPages.pointee, of: connection) }
    }

    /// Allocates space in the log for the next commits.
    func keepLogReady() {
        if failure == nil { preallocation.keep(ahead: logPages.pointee, of: connection) }
    }

    /// Flushes a long log into the file, up to the part that readers still use.
    func keepLogShort() {
        guard failure == nil, logPages.pointee >= WriterFile.logPagesMax else { return }
        checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    }

    /// Empties the log, so that no purged text remains in it; if a reader uses the log, the writer
    /// repeats this later.
    func truncateLog() {
        if failure == nil { _ = truncated() }
    }

    /// Empties the write log and the write-ahead log.
    ///
    /// - Returns: the error if they are not empty; `locked` if a reader uses the log.
    func emptyLog() -> StorageError? { flushWriteLog() ?? truncated() }

    /// - Returns: the error if the write log is not empty.
    func flushWriteLog() -> StorageError? {
        if let failure { return failure }
        do throws(StorageError) {
            try tables.flushAll()
            return nil
        } catch {
            recordError(error)
            return error
        }
    }

    private func truncated() -> StorageError? {
        sqlite3_busy_timeout(connection.handle, 0)
        // The mark is cleared once the whole log is in the file, before the log is emptied.
        if isFolded() { mark.clear() }
        let error = checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
        sqlite3_busy_timeout(connection.handle, Database.busyMillisecondsMax)
        purging.noteTruncation(succeeded: error == nil)
        guard error == nil else { return error }
        logPages.pointee = 0
        preallocation.noteTruncation()
        // Pages in SQLite's cache still contain old texts that were zeroed only in the file; a
        // later change of such a page would write them to the log again.
        sqlite3_db_release_memory(connection.handle)
        return nil
    }

    /// Flushes and empties both logs as far as possible; the next start completes this.
    ///
    /// If the data files were displaced, the log under their name is not removed, since it belongs
    /// to another program.
    func close() {
        var isKept: Int32 = 1
        if case .displaced = failure {
            sqlite3_file_control(
                connection.handle, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
        }
        let isEmpty = emptyLog() == nil
        connection.close()
        if isEmpty { mark.remove() }
    }

    /// Flushes the part of the log that no reader uses; returns whether that is the whole log.
    private func isFolded() -> Bool {
        var (frames, folded): (Int32, Int32) = (-1, -1)
        let code = sqlite3_wal_checkpoint_v2(
            connection.handle, nil, SQLITE_CHECKPOINT_PASSIVE, &frames, &folded)
        return code == SQLITE_OK && frames == folded
    }

    @discardableResult
    private func checkpoint(_ mode: Int32) -> StorageError? {
        let code = sqlite3_wal_checkpoint_v2(connection.handle, nil, mode, nil, nil)
        guard code != SQLITE_OK else { return nil }
        let error = StorageError(
            sqlite: code, on: connection.handle, doing: "moving the log into the file")
        // If the disk is full or a reader uses the log, the log is kept and flushed later.
        recordError(error)
        return error
    }
}
