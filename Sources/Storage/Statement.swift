import CSQLite
import Wire

/// A statement prepared once and used again and again.
///
/// Texts are copied into a buffer of the statement's own and bound without a further copy; bytes
/// are bound where they lie, so they have to stay there until the last `step`.
final class Statement {
    private let handle: OpaquePointer
    private let doing: String
    /// One place of `nameBytesMax` bytes for each parameter.
    private let texts: UnsafeMutableRawBufferPointer
    private(set) var isOpen = false

    /// - Parameter doing: what it is for, in the words of an error.
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

    /// - Returns: the bytes where they are bound.
    /// - Throws: `StorageError.unfit` where the text is longer than a name may be.
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

    /// An id, big-endian.
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

    /// Whether there is a row.
    func step() throws(StorageError) -> Bool {
        isOpen = true
        let code = sqlite3_step(handle)
        guard code != SQLITE_ROW else { return true }
        guard code == SQLITE_DONE else {
            throw StorageError(sqlite: code, on: sqlite3_db_handle(handle), doing: doing)
        }
        return false
    }

    /// Runs a statement that gives no rows, with what is bound.
    func run() throws(StorageError) {
        defer { reset() }
        _ = try step()
    }

    /// Makes it ready to be bound again; ends the read that it had open.
    func reset() {
        sqlite3_reset(handle)
        isOpen = false
    }

    func finish() { sqlite3_finalize(handle) }

    private func check(_ code: Int32) throws(StorageError) {
        guard code == SQLITE_OK else { throw StorageError(sqlite: code, doing: doing) }
    }
}

/// Columns of the row that the last step found; their bytes lie there until the next step.
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
