import CSQLite

/// The steps that open a database: checks of its file, recovery of its logs, and the two
/// connections.
struct Opening {
    let file: String
    let reserve: Reserve?
    let limits: WriteLogLimits
    let courier: Database.Courier
    let failureReport: FailureReport
    let places: DataPlaces

    /// Checks that this program wrote the file before SQLite may change it; creates a missing file.
    ///
    /// - Returns: a description of the acknowledged commits that are missing; nil if none are.
    func prepare(in folder: Folder) throws(StorageError) -> String? {
        let note = LossNote(in: folder.path)
        let known = try note.read()
        guard let head = try FileHead(of: file) else {
            try Format.create(at: file)
            try folder.sync()
            LogMarkFile.remove(in: folder.path)
            return known
        }
        guard head.applicationID == Format.applicationID else { throw .foreignFile }
        try Format.check(head.formatNumber)
        if head.isWithoutLog {
            LogMarkFile.remove(in: folder.path)
            return known
        }
        if let known { return known }
        let damage = try LogCheck(file, in: folder.path).damage()
        if let damage { try note.write(damage) }
        return damage
    }

    /// Opens both connections; on a full disk, removes the reserve for deletions first.
    func open(in folder: String) throws(StorageError) -> (Reader, Writer) {
        do throws(StorageError) {
            let opened = try openBoth(folder)
            reserve?.makeWherePossible()
            return opened
        } catch .full {
            guard reserve?.giveUp() ?? false else { throw .full }
            return try openBoth(folder)
        } catch {
            throw error
        }
    }

    private func openBoth(_ folder: String) throws(StorageError) -> (Reader, Writer) {
        let connection = try openWriter(folder)
        do throws(StorageError) {
            let reader = try openReader()
            do throws(StorageError) {
                let writer = try Writer(
                    connection, limits, reserve: reserve, in: folder, places: places,
                    onFolded: { [reader, courier] memtable in
                        courier { reader.noteFolded(memtable) }
                    },
                    onFailure: { [failureReport, courier] error in
                        courier { failureReport.say(error) }
                    })
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

    private func openWriter(_ folder: String) throws(StorageError) -> Connection {
        let connection = try Connection(file, flags: SQLITE_OPEN_READWRITE)
        do throws(StorageError) {
            sqlite3_busy_timeout(connection.handle, Database.busyMillisecondsMax)
            try Format.check(try connection.number(of: "user_version"))
            try connection.run(
                """
                PRAGMA journal_mode = WAL;
                PRAGMA synchronous = FULL;
                PRAGMA secure_delete = ON;
                PRAGMA temp_store = MEMORY;
                PRAGMA trusted_schema = OFF;
                PRAGMA cache_size = -\(Opening.writerCacheKibibytes);
                """, doing: "opening the file for writing")
            try FreeSpaceZeroing.clean(connection)
            // A process that was killed may have left purged texts in the log.
            if try flushLog(connection) { LogMarkFile.remove(in: folder) }
        } catch {
            connection.close()
            throw error
        }
        return connection
    }

    /// - Returns: whether the log is empty.
    private func flushLog(_ connection: Connection) throws(StorageError) -> Bool {
        do throws(StorageError) {
            return try connection.number(of: "wal_checkpoint(TRUNCATE)") == 0
        } catch .full {
            // The log stays unchanged until the disk has space.
            return false
        } catch {
            throw error
        }
    }

    private func openReader() throws(StorageError) -> Reader {
        let connection = try Connection(file, flags: SQLITE_OPEN_READONLY)
        do throws(StorageError) {
            sqlite3_busy_timeout(connection.handle, Database.busyMillisecondsMax)
            try connection.run(
                """
                PRAGMA cache_size = -\(Opening.readerCacheKibibytes);
                PRAGMA trusted_schema = OFF;
                """,
                doing: "opening the file for reading")
            return try Reader(connection)
        } catch {
            connection.close()
            throw error
        }
    }

    /// The writer's page cache in KiB, allocated on use: for the pages that a slice changes and
    /// their parent pages.
    private static let writerCacheKibibytes = 16_384
    /// The reader's page cache in KiB; other pages are copied from the operating system's cache.
    private static let readerCacheKibibytes = 8_192
}
