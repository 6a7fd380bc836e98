import CSQLite
import Wire

/// A prepared SQLite statement that is used many times.
///
/// Texts are copied into a buffer of the statement and bound without another copy. Bytes are bound
/// in place, so they have to remain valid until the last `step`.
final class Statement {
    private let handle: OpaquePointer
    private let doing: String
    /// The buffer for texts: `nameBytesMax` bytes for each parameter.
    private let texts: UnsafeMutableRawBufferPointer
    private(set) var isOpen = false

    /// - Parameter doing: the purpose of the statement, for an error sentence.
    init(_ connection: Connection, _ sql: String, doing: String) throws(StorageError) {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(
            connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared else {
            throw StorageError(sqlite: code, doing: doing)
        }
        handle = prepared
        self.doing = doing
        texts = .allocate(
            byteCount: Int(sqlite3_bind_parameter_count(prepared)) * nameBytesMax, alignment: 1)
    }

    deinit { texts.deallocate() }

    func bind(_ number: Int64, at index: Int32) throws(StorageError) {
        try check(sqlite3_bind_int64(handle, index, number))
    }

    /// - Returns: the bound bytes.
    /// - Throws: `StorageError.unfit` if the text is longer than `nameBytesMax` bytes.
    @discardableResult
    func bind(
        _ text: String, at index: Int32
    ) throws(StorageError) -> UnsafeRawBufferPointer {
        let start = texts.baseAddress.map { $0 + Int(index - 1) * nameBytesMax }
        var text = text
        let count = text.withUTF8 { bytes in
            if bytes.count <= nameBytesMax, let from = bytes.baseAddress {
                start?.copyMemory(from: from, byteCount: bytes.count)
            }
            return bytes.count
        }
        guard count <= nameBytesMax else { throw .unfit("a text of \(count) bytes in a key") }
        let place = start?.assumingMemoryBound(to: CChar.self)
        try check(sqlite3_bind_text(handle, index, place, Int32(count), nil))
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    /// Binds an id as 16 bytes, big-endian.
    func bind(_ id: RandomID, at index: Int32) throws(StorageError) {
        guard let start = texts.baseAddress else { return }
        let place = start + Int(index - 1) * nameBytesMax
        place.storeBytes(of: id.high.bigEndian, as: UInt64.self)
        place.storeBytes(of: id.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        try check(sqlite3_bind_blob(handle, index, place, 16, nil))
    }

    func bind(_ bytes: UnsafeRawBufferPointer, at index: Int32) throws(StorageError) {
        try check(
            sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), nil))
    }

    /// Advances to the next row; returns whether there is one.
    func step() throws(StorageError) -> Bool {
        isOpen = true
        let code = sqlite3_step(handle)
        guard code != SQLITE_ROW else { return true }
        guard code == SQLITE_DONE else {
            throw StorageError(sqlite: code, on: sqlite3_db_handle(handle), doing: doing)
        }
        return false
    }

    /// Runs a statement that has no result rows, with the bound values.
    func run() throws(StorageError) {
        defer { reset() }
        _ = try step()
    }

    /// Ends the open read, so that the parameters can be bound again.
    func reset() {
        sqlite3_reset(handle)
        isOpen = false
    }

    func finish() { sqlite3_finalize(handle) }

    private func check(_ code: Int32) throws(StorageError) {
        guard code == SQLITE_OK else { throw StorageError(sqlite: code, doing: doing) }
    }
}

/// The columns of the current row; their bytes are valid until the next step.
extension Statement {
    func number(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(
            start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}
