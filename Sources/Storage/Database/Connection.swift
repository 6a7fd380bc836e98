import CSQLite

/// An SQLite connection that one thread at a time uses.
final class Connection {
    let handle: OpaquePointer

    /// - Parameter flags: `SQLITE_OPEN_…`; a mutex is not needed, since only one thread uses it.
    init(_ path: String, flags: Int32) throws(StorageError) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close(opened)
            throw StorageError(sqlite: code, doing: "opening \(path)")
        }
        handle = opened
        sqlite3_extended_result_codes(handle, 1)
    }

    func run(_ sql: String, doing: String) throws(StorageError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil), doing: doing)
    }

    /// Returns the number that a pragma reports.
    func number(of pragma: String) throws(StorageError) -> Int64 {
        let statement = try Statement(self, "PRAGMA \(pragma)", doing: "reading \(pragma)")
        defer { statement.finish() }
        return try statement.step() ? statement.number(0) : 0
    }

    func check(_ code: Int32, doing: String) throws(StorageError) {
        guard code == SQLITE_OK else {
            throw StorageError(sqlite: code, on: handle, doing: doing)
        }
    }

    /// Finalizes all prepared statements, then closes the connection.
    func close() {
        while let statement = sqlite3_next_stmt(handle, nil) { sqlite3_finalize(statement) }
        sqlite3_close(handle)
    }
}
