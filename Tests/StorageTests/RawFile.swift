import CRDT
import CSQLite
import Chat
import Testing
import Wire

/// The file seen past `Storage`, as an operator's `sqlite3` sees it.
final class RawFile {
    private let handle: OpaquePointer

    init(_ path: String) throws {
        var opened: OpaquePointer?
        #expect(sqlite3_open(path, &opened) == SQLITE_OK)
        handle = try #require(opened)
        sqlite3_busy_timeout(handle, 2_000)
    }

    deinit { sqlite3_close(handle) }

    func run(_ sql: String) { #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK) }

    /// The rows, each column as text.
    func rows(_ sql: String) throws -> [[String]] {
        var prepared: OpaquePointer?
        #expect(sqlite3_prepare_v2(handle, sql, -1, &prepared, nil) == SQLITE_OK)
        let statement = try #require(prepared)
        defer { sqlite3_finalize(statement) }
        var rows: [[String]] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            rows.append(
                (0..<sqlite3_column_count(statement)).map { column in
                    sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
                })
        }
        return rows
    }

    /// The rows of `term`: `kind word partition/id`.
    func terms() throws -> [String] {
        try rows("SELECT kind, word, partition, id FROM term")
            .map { "\($0[0]) \($0[1]) \($0[2])/\($0[3])" }.sorted()
    }

    /// The rows of `dot`: `replica seq partition/id`.
    func dots() throws -> [String] {
        try rows(
            """
            SELECT lower(hex(r.id)), seq, partition, d.id FROM dot d
            JOIN replica r ON r.number = d.replica
            """
        ).map { "\($0[0]) \($0[1]) \($0[2])/\($0[3])" }.sorted()
    }
}

extension Chats {
    var dotRows: [String] {
        dots.map { "\($0.replica) \($0.seq) \($1.partition)/\($1.id)" }.sorted()
    }
}
