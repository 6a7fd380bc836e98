import Foundation

#if canImport(SQLite3)
    import SQLite3
#else
    import CSQLite
#endif

/// An error of the store on this device, with SQLite's code and sentence.
struct StoreError: Error, Equatable, CustomStringConvertible {
    let code: Int32
    let message: String

    /// Whether the file is damaged, or no file of a store.
    var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) }

    var description: String { "The store on this device failed: \(message) (\(code))" }
}

/// A value of a column.
enum SQLiteValue: Equatable {
    case integer(Int64)
    case text(String)
    case blob(Data)
    case null
}

/// A file of SQLite that one thread at a time uses.
///
/// A committed transaction survives a power failure (`synchronous=FULL`). The write-ahead log is
/// kept short, since a long one makes the next opening slow.
final class SQLiteDatabase {
    /// Milliseconds that a statement waits for another process, such as an app's extension.
    private static let patience: Int32 = 1_000

    /// The connection; nil when it is closed.
    private var handle: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]

    /// Opens or creates a file.
    ///
    /// - Parameter path: the path of the file, or `:memory:`.
    init(path: String) throws(StoreError) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "no memory"
            sqlite3_close_v2(opened)
            throw StoreError(code: code, message: message)
        }
        handle = opened
        sqlite3_busy_timeout(opened, Self.patience)
        try run("PRAGMA journal_mode=WAL")
        try run("PRAGMA synchronous=FULL")
        try run("PRAGMA wal_autocheckpoint=200")
    }

    deinit { close() }

    /// Closes the file; every further use throws an error.
    func close() {
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Runs a statement, with its parameters in order, and drops its rows.
    func run(_ sql: String, _ values: SQLiteValue...) throws(StoreError) {
        _ = try rows(sql, values)
    }

    /// Returns the rows of a statement, with its parameters in order.
    func rows(_ sql: String, _ values: SQLiteValue...) throws(StoreError) -> [[SQLiteValue]] {
        try rows(sql, values)
    }

    /// Runs several changes as one: all of them are stored, or none.
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try run("BEGIN IMMEDIATE")
        do {
            try body()
            try run("COMMIT")
        } catch {
            do {
                try run("ROLLBACK")
            } catch {
                // SQLite has rolled back by itself.
            }
            throw error
        }
    }

    /// Moves the write-ahead log into the file, for instance before the app is suspended.
    func shorten() throws(StoreError) {
        try run("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    private func rows(_ sql: String, _ values: [SQLiteValue]) throws(StoreError) -> [[SQLiteValue]]
    {
        let statement = try prepared(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in zip(Int32(1)..., values) {
            try check(bind(value, to: index, of: statement))
        }
        var rows: [[SQLiteValue]] = []
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { return rows }
            guard code == SQLITE_ROW else { throw error(code) }
            rows.append((0..<sqlite3_column_count(statement)).map { value(of: statement, $0) })
        }
    }

    private func prepared(_ sql: String) throws(StoreError) -> OpaquePointer {
        if let known = statements[sql] { return known }
        guard handle != nil else {
            throw StoreError(code: SQLITE_MISUSE, message: "The store is closed")
        }
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v3(handle, sql, -1, 0, &statement, nil))
        guard let statement else { throw StoreError(code: SQLITE_MISUSE, message: sql) }
        statements[sql] = statement
        return statement
    }

    private func bind(
        _ value: SQLiteValue, to index: Int32, of statement: OpaquePointer
    ) -> Int32 {
        // SQLite copies the bytes, which are gone when the call returns.
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .integer(let number): return sqlite3_bind_int64(statement, index, number)
        case .text(let text): return sqlite3_bind_text(statement, index, text, -1, copied)
        case .blob(let data):
            return data.withUnsafeBytes { bytes in
                sqlite3_bind_blob64(
                    statement, index, bytes.baseAddress, UInt64(bytes.count), copied)
            }
        case .null: return sqlite3_bind_null(statement, index)
        }
    }

    private func value(of statement: OpaquePointer, _ column: Int32) -> SQLiteValue {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_TEXT:
            return sqlite3_column_text(statement, column).map { .text(String(cString: $0)) }
                ?? .null
        case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(statement, column))
            guard let bytes = sqlite3_column_blob(statement, column) else { return .blob(Data()) }
            return .blob(Data(bytes: bytes, count: count))
        default: return .null
        }
    }

    private func check(_ code: Int32) throws(StoreError) {
        guard code == SQLITE_OK else { throw error(code) }
    }

    private func error(_ code: Int32) -> StoreError {
        StoreError(code: code, message: String(cString: sqlite3_errmsg(handle)))
    }
}
