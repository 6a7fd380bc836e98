import CSQLite

/// The writing connection: what is stored by it, and the log in front of the file.
///
/// Not SQLite's own checkpoints: those run inside a commit, before anybody is told of it, and keep
/// their errors to themselves. And on this connection alone, between two commits: where another one
/// flushes the log while this one begins it anew, SQLite before 3.51.3 may lose what was committed
/// (https://sqlite.org/wal.html#walresetbug).
final class WriterFile {
    /// When the log is flushed into the file: 32 MB.
    ///
    /// A page that many commits touch is written to the file once for all of them; with the
    /// default of 1,000 pages a row in a batch of 100 costs a fifth more. A longer log costs a
    /// longer pause.
    static let logPagesMax: Int32 = 8_000

    private let connection: Connection
    private let tables: LoggedTables
    /// How many pages the log has, as the last commit said.
    private let logPages: UnsafeMutablePointer<Int32>
    private var room = WALPreallocation()
    private let mark: LogMarkFile
    private let places: DataPlaces
    private let file: String
    /// Whether the log is among the places.
    private var isLogPlaced = false
    private var purging = PurgeSchedule()
    /// The last memtable that has to be flushed before the log is emptied.
    private var purgedMemtable: UInt64 = 0
    /// A commit or a checkpoint that failed and not for want of room: what is on disk nobody knows,
    /// and another sync would not tell.
    private var failure: StorageError?
    private let onFailure: @Sendable (StorageError) -> Void

    /// Applies what the write log holds from the life before.
    ///
    /// - Parameters:
    ///   - onFolded: told of each memtable of the write log that is in the tables.
    ///   - onFailure: told once of the failure after which nothing is stored any more, and of each
    ///     damaged row of an index that was met.
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
        guard try tables.replay(afterEach: keepLogShort) else { return }
        // Purged texts may have been among it.
        purging.noteCommit(purges: true)
        truncateLog()
    }

    deinit { logPages.deallocate() }

    /// Stores all of it in one transaction, or nothing.
    func store(_ batches: [WriteBatch]) -> Result<StoredPlace, StorageError> {
        if let failure { return .failure(failure) }
        do throws(StorageError) {
            // Where room is short, write log and log are kept short as well.
            let purges = batches.contains(where: \.mayUseReserve)
            let place = try tables.store(batches)
            if purges, case .writeLog(let memtable) = place { purgedMemtable = memtable }
            purging.noteCommit(purges: purges)
            try checkPlaces()
            return .success(place)
        } catch {
            note(error)
            return .failure(error)
        }
    }

    /// When there is something to flush although nobody writes; nil where there is nothing.
    var foldingDue: MonotonicTime? { failure == nil ? tables.foldingDue : nil }

    /// Flushes some records more; where the disk does not let it, later.
    func flushSlice() {
        do throws(StorageError) {
            try tables.flushSlice(isEmptying: isTruncationBlocked)
        } catch {
            note(error)
            purging.noteTruncation(succeeded: false)
        }
    }

    /// - Throws: `displaced` where a restart would not find what was stored.
    private func checkPlaces() throws(StorageError) {
        if !isLogPlaced {
            isLogPlaced = true
            let path = file + "-wal"
            guard let log = FileStatus(of: path) else { throw .displaced(path) }
            places.add(path, log.identity)
        }
        if let displaced = places.displaced { throw .displaced(displaced) }
    }

    private func note(_ error: StorageError) {
        switch error {
        case .io, .corrupt, .displaced:
            guard failure == nil else { return }
            failure = error
            onFailure(error)
        default: return
        }
    }
}

/// The log.
extension WriterFile {
    /// When the log has to be emptied since purged texts live on in it; nil where none does.
    var truncationDue: MonotonicTime? { failure == nil ? purging.due : nil }

    /// Whether purged texts may be in the write log still.
    var isTruncationBlocked: Bool { tables.holdsMemtable(upTo: purgedMemtable) }

    /// Marks how much of the log is synced, once whoever waited for a commit was told of it.
    ///
    /// A process that is killed in between leaves a mark that tells of less.
    func noteLog() {
        if failure == nil { mark.note(frames: logPages.pointee, of: connection) }
    }

    /// Has the next commits write over what is there.
    func keepLogReady() {
        if failure == nil { room.keep(ahead: logPages.pointee, of: connection) }
    }

    /// Flushes a long log into the file, as far as no reader is on it.
    func keepLogShort() {
        guard failure == nil, logPages.pointee >= WriterFile.logPagesMax else { return }
        checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    }

    /// Empties the log, so that no text that was purged is left in it; later, where a reader is
    /// on it.
    func truncateLog() {
        if failure == nil { _ = truncated() }
    }

    /// Empties the write log and the log.
    ///
    /// - Returns: why they are not empty; `refused` where a reader is on the log.
    func emptyLog() -> StorageError? { flushWriteLog() ?? truncated() }

    /// - Returns: why the write log is not empty.
    func flushWriteLog() -> StorageError? {
        if let failure { return failure }
        do throws(StorageError) {
            try tables.flushAll()
            return nil
        } catch {
            note(error)
            return error
        }
    }

    private func truncated() -> StorageError? {
        sqlite3_busy_timeout(connection.handle, 0)
        // Before it is gone: from then on nothing that is in it is needed.
        if isFolded() { mark.clear() }
        let error = checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
        sqlite3_busy_timeout(connection.handle, Database.busyMillisecondsMax)
        purging.noteTruncation(succeeded: error == nil)
        guard error == nil else { return error }
        logPages.pointee = 0
        room.noteTruncation()
        // Pages in memory are as they were before they were cleaned on their way into the file:
        // changed once more, they would bring old texts back into the log.
        sqlite3_db_release_memory(connection.handle)
        return nil
    }

    /// What cannot be flushed or emptied is at the next start.
    ///
    /// What lies under the names of files that were displaced is another program's.
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

    /// Flushes what no reader is on, and says whether that is all that the log holds.
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
            sqlite: code, on: connection.handle, doing: "folding the log into the file")
        // A full disk or a reader on the log: it stays where it is and is flushed later.
        note(error)
        return error
    }
}
