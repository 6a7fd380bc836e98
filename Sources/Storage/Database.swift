import CSQLite

/// A node's durable state: one SQLite file in a folder that one process holds at a time.
///
/// `Writer` has a connection and a thread of its own; `Reader` another connection, read from
/// synchronously by the thread of the event loop: to find the rows of a page of history takes
/// 10 µs, and to cross to another thread and back as long. Readers see what is committed.
// SAFETY: nothing in it changes but by `close`, which one thread calls, after its last read.
package final class Database: @unchecked Sendable {
    /// How long a statement waits for another program that has the file; no thread of ours makes
    /// another one wait.
    static let busyMillisecondsMax: Int32 = 1_000

    /// Has something run on the thread that reads, in the order in which it was handed in.
    package typealias Courier = @Sendable (@escaping @Sendable () -> Void) -> Void

    package let reader: Reader
    package let writer: Writer
    let folder: Folder
    private let courier: Courier
    private var isClosed = false

    /// Opens the file in `folder`; makes both where they are missing.
    ///
    /// - Parameter courier: brings what the writer has done to the thread that reads.
    package init(
        folder path: String, journal limits: JournalLimits = .standard, courier: @escaping Courier
    ) throws(StorageError) {
        self.courier = courier
        let folder = try Folder(path)
        do throws(StorageError) {
            let file = path + "/" + Format.fileName
            try Database.prepare(file, in: folder)
            (reader, writer) = try Database.open(file, limits, courier)
        } catch {
            folder.release()
            throw error
        }
        self.folder = folder
    }

    deinit { close() }

    /// Has the batch stored; from any thread.
    ///
    /// - Parameter then: told on the thread that reads when it is on disk, where that thread finds
    ///   it from then on, or why it is not.
    package func submit(
        _ batch: WriteBatch, then: @escaping @Sendable (StorageError?) -> Void
    ) {
        writer.submit(batch) { [reader, courier] outcome in
            courier {
                switch outcome {
                case .success(let place):
                    reader.noteStored(batch, place)
                    then(nil)
                case .failure(let error): then(error)
                }
            }
        }
    }

    /// Stores what was submitted, empties the log and lets go of the folder.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        reader.close()
        writer.close()
        folder.release()
    }

    /// Looks whose file it is before SQLite may touch it.
    private static func prepare(_ file: String, in folder: Folder) throws(StorageError) {
        guard let head = try FileHead(of: file) else {
            try Format.create(at: file)
            try folder.sync()
            return
        }
        guard head.applicationID == Format.applicationID else { throw .foreignFile }
        guard head.formatNumber <= Format.number else {
            throw .newerFormat(Int(head.formatNumber))
        }
    }

    private static func open(
        _ file: String, _ limits: JournalLimits, _ courier: @escaping Courier
    ) throws(StorageError) -> (Reader, Writer) {
        let connection = try openWriter(file)
        do throws(StorageError) {
            let reader = try openReader(file)
            do throws(StorageError) {
                let writer = try Writer(connection, limits) { [reader] generation in
                    courier { reader.noteFolded(generation) }
                }
                try writer.start()
                return (reader, writer)
            } catch {
                reader.close()
                throw error
            }
        } catch {
            connection.close()
            throw error
        }
    }

    private static func openWriter(_ file: String) throws(StorageError) -> Connection {
        let connection = try Connection(file, flags: SQLITE_OPEN_READWRITE)
        do throws(StorageError) {
            sqlite3_busy_timeout(connection.handle, busyMillisecondsMax)
            try Format.migrate(connection)
            try connection.run(
                """
                PRAGMA journal_mode = WAL;
                PRAGMA synchronous = FULL;
                PRAGMA secure_delete = ON;
                PRAGMA temp_store = MEMORY;
                PRAGMA trusted_schema = OFF;
                PRAGMA cache_size = -\(writerCacheKibibytes);
                """, doing: "opening the file for writing")
            try PageGaps.clean(connection)
            // A process that was killed may have left purged texts in the log.
            try connection.run(
                "PRAGMA wal_checkpoint(TRUNCATE)", doing: "folding the log into the file")
        } catch {
            connection.close()
            throw error
        }
        return connection
    }

    private static func openReader(_ file: String) throws(StorageError) -> Reader {
        let connection = try Connection(file, flags: SQLITE_OPEN_READONLY)
        do throws(StorageError) {
            sqlite3_busy_timeout(connection.handle, busyMillisecondsMax)
            try connection.run(
                "PRAGMA cache_size = -\(readerCacheKibibytes); PRAGMA trusted_schema = OFF;",
                doing: "opening the file for reading")
            return try Reader(connection)
        } catch {
            connection.close()
            throw error
        }
    }

    /// The pages that the ends of all conversations in use are on, and those above them: taken as
    /// they are used; with a quarter of it a row in a batch of 500 costs a fifth more.
    private static let writerCacheKibibytes = 65_536
    /// What is on no page of it is in the system's cache, a copy away.
    private static let readerCacheKibibytes = 8_192
}
