import CSQLite

/// How a database is opened: whose file it is, what was left in the log and in the journal, and the
/// two connections.
struct Opening {
    let file: String
    let reserve: Reserve?
    let limits: JournalLimits
    let courier: Database.Courier
    let failureReport: FailureReport

    /// Looks whose file it is before SQLite may touch it.
    func prepare(in folder: Folder) throws(StorageError) {
        guard let head = try FileHead(of: file) else {
            try Format.create(at: file)
            try folder.sync()
            return
        }
        guard head.applicationID == Format.applicationID else { throw .foreignFile }
        guard Format.reads(Int64(head.formatNumber)) else {
            throw .newerFormat(Format.own(Int64(head.formatNumber)))
        }
    }

    /// On a disk that is full, what is kept for deleting is given up for the start.
    func open() throws(StorageError) -> (Reader, Writer) {
        do throws(StorageError) {
            let opened = try openBoth()
            reserve?.makeWherePossible()
            return opened
        } catch .full {
            guard reserve?.giveUp() ?? false else { throw .full }
            return try openBoth()
        } catch {
            throw error
        }
    }

    private func openBoth() throws(StorageError) -> (Reader, Writer) {
        let connection = try openWriter()
        do throws(StorageError) {
            let reader = try openReader()
            do throws(StorageError) {
                let writer = try Writer(
                    connection, limits, reserve: reserve,
                    onFolded: { [reader, courier] generation in
                        courier { reader.noteFolded(generation) }
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

    private func openWriter() throws(StorageError) -> Connection {
        let connection = try Connection(file, flags: SQLITE_OPEN_READWRITE)
        do throws(StorageError) {
            sqlite3_busy_timeout(connection.handle, Database.busyMillisecondsMax)
            try Format.migrate(connection)
            try connection.run(
                """
                PRAGMA journal_mode = WAL;
                PRAGMA synchronous = FULL;
                PRAGMA secure_delete = ON;
                PRAGMA temp_store = MEMORY;
                PRAGMA trusted_schema = OFF;
                PRAGMA cache_size = -\(Opening.writerCacheKibibytes);
                """, doing: "opening the file for writing")
            try PageGaps.clean(connection)
            // A process that was killed may have left purged texts in the log.
            try foldLog(connection)
        } catch {
            connection.close()
            throw error
        }
        return connection
    }

    private func foldLog(_ connection: Connection) throws(StorageError) {
        do throws(StorageError) {
            try connection.run(
                "PRAGMA wal_checkpoint(TRUNCATE)", doing: "folding the log into the file")
        } catch .full {
            // The log stays as it is until there is room.
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

    /// The pages that a slice of a generation is on, and those above: taken as they are used.
    private static let writerCacheKibibytes = 16_384
    /// What is on no page of it is in the system's cache, a copy away.
    private static let readerCacheKibibytes = 8_192
}
