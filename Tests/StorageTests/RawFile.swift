import CRDT
import CSQLite
import Chat
import Storage
import Testing
import Wire

/// The database's file, read past `Storage` as an operator's `sqlite3` reads it.
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

    /// Returns the rows, each column as text.
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

    /// Returns the rows of `term`: `kind word partition/id`.
    func indexKeys() throws -> [String] {
        try rows("SELECT kind, word, partition, id FROM term")
            .map { "\($0[0]) \($0[1]) \($0[2])/\($0[3])" }.sorted()
    }

    /// Returns the contents of `dots`: `replica seq partition/id`.
    func dots() throws -> [String] {
        try dotPlaces().map { replica, seq, place in
            "\(replica) \(seq) \(place.key.partition)/\(place.key.id)"
        }.sorted()
    }

    func dotPlaces() throws -> [(replica: String, seq: UInt64, place: DotPlace)] {
        let blocks = try rows(
            """
            SELECT lower(hex(r.id)), block, hex(body) FROM dots d
            JOIN replica r ON r.number = d.replica ORDER BY shard, replica, block
            """)
        return try blocks.flatMap { row in
            try block(row[1], row[2]).places.map { (row[0], $0.seq, $0.place) }
        }
    }

    /// Decodes a block from a row's columns; its checksum is left out.
    func block(_ number: String, _ hexadecimal: String) throws -> DotBlock {
        let digits = Array(hexadecimal.utf8.dropFirst(16))
        let bytes = try stride(from: 0, to: digits.count, by: 2).map { place in
            let pair = String(decoding: digits[place..<place + 2], as: UTF8.self)
            return try #require(UInt8(pair, radix: 16))
        }
        let block = DotBlock(try #require(Int64(number)), decoding: bytes)
        return try #require(block)
    }
}

extension Chats {
    var dotRows: [String] {
        dots.map { "\($0.replica) \($0.seq) \($1.partition)/\($1.id)" }.sorted()
    }
}
