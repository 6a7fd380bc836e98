import CSQLite
import Glibc

/// An online copy of the database file, made by a separate thread with separate connections.
///
/// The copy is one state of the file: the committed state when the copy began. The writer does not
/// wait for the copy, but cannot empty the write-ahead log before the copy is finished.
// SAFETY: `isCancelled` and `folding` are under the monitor; only the thread that starts and joins
// `thread` uses it; all else is set once.
package final class Backup: @unchecked Sendable {
    package typealias Completion = @Sendable (Result<UInt64, StorageError>) -> Void

    /// The number of pages copied between pauses, in which others may use the disk: 1 MiB.
    private static let pagesPerStep: Int32 = 256
    private static let pauseMicroseconds: UInt32 = 1_000
    /// The number of steps between two syncs of the copy: 32 MiB, the most that the sync of a
    /// commit has to wait for.
    private static let stepsPerSync = 32

    /// The free space that a backup leaves on the disk, in bytes: twice the amount that a node
    /// considers too little.
    private static let freeBytesMin: UInt64 = 32 << 20

    private let source: String
    private let target: String
    private let writer: Writer
    private let then: Completion
    private let monitor = Monitor()
    private var isCancelled = false
    /// The result of flushing the write log; nil until the flush has ended.
    private var folding: Result<Void, StorageError>?
    private var thread: pthread_t?

    /// - Parameters:
    ///   - source: the database file.
    ///   - writer: the writer of that file.
    ///   - target: the path of the copy; its folder must exist, and the path must have no file.
    ///   - then: called on the backup's thread with the size of the copy in bytes, or the error.
    init(
        of source: String, by writer: Writer, to target: String, then: @escaping Completion
    ) {
        self.writer = writer
        self.source = source
        self.target = target
        self.then = then
    }

    func start() throws(StorageError) {
        thread = try BlockingThread.start(doing: "starting a backup's thread") { self.run() }
    }

    /// Stops an unfinished backup and waits for its thread to end.
    func cancel() {
        monitor.withLock { isCancelled = true }
        guard let thread else { return }
        self.thread = nil
        pthread_join(thread, nil)
    }

    private func run() {
        do throws(StorageError) {
            try flushWriteLog()
            then(.success(try copy()))
        } catch {
            then(.failure(error))
        }
    }

    /// Flushes the write log, which may still contain deleted texts that would be copied.
    private func flushWriteLog() throws(StorageError) {
        writer.perform(.flushWriteLog) { [self] error in
            monitor.withLock {
                folding = error.map { .failure($0) } ?? .success(())
                monitor.signal()
            }
        }
        let outcome: Result<Void, StorageError> = monitor.withLock {
            while true {
                if let outcome = folding { return outcome }
                monitor.wait(until: nil)
            }
        }
        try outcome.get()
    }

    /// Copies the file under a temporary name, and renames the copy once it is complete and synced.
    private func copy() throws(StorageError) -> UInt64 {
        guard access(target, F_OK) != 0 else { throw .exists }
        try checkFreeSpace()
        // The temporary name is random; a file with a fixed name may be another program's.
        let draft = target + ".partial-" + String(UInt64.random(in: .min ... .max), radix: 16)
        let file = open(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .system(doing: "making \(draft)") }
        defer {
            close(file)
            unlink(draft)
        }
        try fill(draft, file)
        try standAlone(file)
        guard fsync(file) == 0 else { throw .system(doing: "syncing \(draft)") }
        // The final name is made by `link`, since a rename would replace a file that another
        // program has created meanwhile.
        guard link(draft, target) == 0 else {
            throw errno == EEXIST ? .exists : .system(doing: "naming \(target)")
        }
        try Folder.syncParent(of: target)
        let bytes = lseek(file, 0, SEEK_END)
        return UInt64(max(0, bytes))
    }

    /// Checks that enough of the disk remains free, since repeated backups must not fill it.
    private func checkFreeSpace() throws(StorageError) {
        var disk = statvfs()
        guard statvfs(Folder.parent(of: target), &disk) == 0 else {
            throw .system(doing: "asking how full it is")
        }
        let unit = UInt64(disk.f_frsize)
        let bytes = [source, source + "-wal"].reduce(0) {
            $0 + (FileStatus(of: $1)?.bytesCount ?? 0)
        }
        let kept = min(Backup.freeBytesMin, UInt64(disk.f_blocks) * unit / 8)
        guard UInt64(disk.f_bavail) * unit >= bytes + kept else { throw .full }
    }

    private func fill(_ draft: String, _ file: Int32) throws(StorageError) {
        let from = try Connection(source, flags: SQLITE_OPEN_READONLY)
        defer { from.close() }
        sqlite3_busy_timeout(from.handle, Database.busyMillisecondsMax)
        // One read transaction includes all steps; without it, SQLite restarts the backup after
        // each commit of another connection.
        try from.run("BEGIN; SELECT count(*) FROM copy;", doing: "beginning a backup")
        let into = try Connection(draft, flags: SQLITE_OPEN_READWRITE)
        defer { into.close() }
        try into.run(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;", doing: "making a backup")
        // Pages that are read from the write-ahead log have not been zeroed.
        try FreeSpaceZeroing.clean(into)
        guard let copying = sqlite3_backup_init(into.handle, "main", from.handle, "main") else {
            throw StorageError(sqlite: sqlite3_errcode(into.handle), doing: "beginning a backup")
        }
        let code = step(copying, file)
        let finished = sqlite3_backup_finish(copying)
        guard !monitor.withLock({ isCancelled }) else { throw .closed }
        try into.check(code == SQLITE_DONE ? finished : code, doing: "making a backup")
    }

    /// - Returns: `SQLITE_DONE`, or the code of the error.
    private func step(_ copying: OpaquePointer, _ file: Int32) -> Int32 {
        var steps = 0
        while !monitor.withLock({ isCancelled }) {
            let code = sqlite3_backup_step(copying, Backup.pagesPerStep)
            switch code & 0xFF {
            case SQLITE_OK, SQLITE_BUSY, SQLITE_LOCKED: usleep(Backup.pauseMicroseconds)
            default: return code
            }
            steps += 1
            // The result is ignored: if this sync fails, the last sync also fails and reports it.
            if steps % Backup.stepsPerSync == 0 { fdatasync(file) }
        }
        return SQLITE_ABORT
    }

    /// Marks the copy as a file without a write-ahead log.
    ///
    /// Source: "Database File Format", 1.3.3 File format version numbers.
    private func standAlone(_ file: Int32) throws(StorageError) {
        let legacy: [UInt8] = [1, 1]
        guard pwrite(file, legacy, 2, 18) == 2 else { throw .system(doing: "making a backup") }
    }
}

extension Database {
    /// Copies the committed state into a file while the database stays in use.
    ///
    /// - Parameters:
    ///   - target: the path of the copy; its folder must exist, and the path must have no file.
    ///   - then: called on another thread with the size of the copy in bytes, or the error.
    package func backUp(
        to target: String, then: @escaping Backup.Completion
    ) throws(StorageError) {
        guard !isClosed else { throw .closed }
        backup?.cancel()
        let backup = Backup(of: file, by: writer, to: target, then: then)
        try backup.start()
        self.backup = backup
    }
}
