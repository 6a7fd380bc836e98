import CSQLite
import Glibc

/// A copy of the file while it is written to, made on a thread and by connections of its own.
///
/// All of it is one state of the file: what was committed when it began. Writers do not wait for
/// it; the log that they append to cannot be emptied before it is done.
// SAFETY: `isCancelled` and `folding` are under the monitor; `thread` belongs to the thread that
// starts and joins it; all else is set once.
package final class Backup: @unchecked Sendable {
    package typealias Completion = @Sendable (Result<UInt64, StorageError>) -> Void

    /// 1 MiB, then others have the disk for a moment.
    private static let pagesPerStep: Int32 = 256
    private static let pauseMicroseconds: UInt32 = 1_000
    /// After so many steps what was copied is synced, so that the sync of no commit has to wait for
    /// more than that: 32 MiB.
    private static let stepsPerSync = 32

    /// What is left free on the disk: twice of what a node takes for too little.
    private static let freeBytesMin: UInt64 = 32 << 20

    private let source: String
    private let target: String
    private let writer: Writer
    private let then: Completion
    private let monitor = Monitor()
    private var isCancelled = false
    /// What came of flushing the write log; nil until it is done.
    private var folding: Result<Void, StorageError>?
    private var thread: pthread_t?

    /// - Parameters:
    ///   - source: the database's file.
    ///   - writer: who writes to it.
    ///   - target: a path in a folder that is there; nothing may be there under it.
    ///   - then: told how many bytes the copy has, or why there is none; on the backup's thread.
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

    /// Gives up what is not done, and waits for its end.
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

    /// What was deleted before stands in the write log still, and would be copied.
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

    /// Under another name until it is whole and on disk.
    private func copy() throws(StorageError) -> UInt64 {
        guard access(target, F_OK) != 0 else { throw .exists }
        try checkRoom()
        // A name that nobody has: what is there under another one may be another program's.
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
        // Not a renaming, which would put it in the place of what came there meanwhile.
        guard link(draft, target) == 0 else {
            throw errno == EEXIST ? .exists : .system(doing: "naming \(target)")
        }
        try Folder.syncParent(of: target)
        let bytes = lseek(file, 0, SEEK_END)
        return UInt64(max(0, bytes))
    }

    /// Whoever may ask for copies must not fill the disk with them.
    private func checkRoom() throws(StorageError) {
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
        // One read transaction over all steps: another connection's commit would have the copy
        // begin anew.
        try from.run("BEGIN; SELECT count(*) FROM copy;", doing: "beginning a backup")
        let into = try Connection(draft, flags: SQLITE_OPEN_READWRITE)
        defer { into.close() }
        try into.run(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;", doing: "making a backup")
        // Pages in the log are as they were before they were cleaned.
        try FreeSpaceZeroing.clean(into)
        guard let copying = sqlite3_backup_init(into.handle, "main", from.handle, "main") else {
            throw StorageError(sqlite: sqlite3_errcode(into.handle), doing: "beginning a backup")
        }
        let code = step(copying, file)
        let finished = sqlite3_backup_finish(copying)
        guard !monitor.withLock({ isCancelled }) else { throw .closed }
        try into.check(code == SQLITE_DONE ? finished : code, doing: "making a backup")
    }

    /// - Returns: `SQLITE_DONE`, or why not.
    private func step(_ copying: OpaquePointer, _ file: Int32) -> Int32 {
        var steps = 0
        while !monitor.withLock({ isCancelled }) {
            let code = sqlite3_backup_step(copying, Backup.pagesPerStep)
            switch code & 0xFF {
            case SQLITE_OK, SQLITE_BUSY, SQLITE_LOCKED: usleep(Backup.pauseMicroseconds)
            default: return code
            }
            steps += 1
            // Should it fail, so will the last one.
            if steps % Backup.stepsPerSync == 0 { fdatasync(file) }
        }
        return SQLITE_ABORT
    }

    /// Has the copy be read without a log beside it.
    ///
    /// Source: "Database File Format", 1.3.3 File format version numbers.
    private func standAlone(_ file: Int32) throws(StorageError) {
        let legacy: [UInt8] = [1, 1]
        guard pwrite(file, legacy, 2, 18) == 2 else { throw .system(doing: "making a backup") }
    }
}

extension Database {
    /// Copies all that is committed into a file, while serving.
    ///
    /// - Parameters:
    ///   - target: a path under which nothing may be; its folder has to be there.
    ///   - then: told how many bytes the copy has, or why there is none, on another thread.
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
