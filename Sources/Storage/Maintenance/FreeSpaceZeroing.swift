import CSQLite

/// The zeroing of old bytes that SQLite leaves in a page's gap, the unused bytes in its middle.
///
/// SQLite's `secure_delete` zeroes a row in the page from which the row is deleted. But when pages
/// are balanced, rows move to other pages and their old bytes remain: a text that is deleted later
/// survives in the old page, in 3 of 4 runs of a random load. Therefore the gap of every page is
/// zeroed when the page is written to the file. The write-ahead log has to keep pages unchanged,
/// under its checksums; it is emptied after a purge.
enum FreeSpaceZeroing {
    /// The greatest number of pages of a file, which limits its size to 128 GiB.
    ///
    /// An overflow page or free page starts with the number of the next page. Below 2^25 pages the
    /// first byte of that number is 0 or 1, so it is never mistaken for the type of a page with
    /// rows.
    static let pagesMax = 1 << 25 - 1

    /// The method tables that zero gaps, one for each of SQLite's original tables.
    // SAFETY: the property is set once, before any writer's thread starts.
    private static let methods = MethodTable()

    // SAFETY: `made` is accessed only under the monitor; the tables in it are never freed.
    private final class MethodTable: @unchecked Sendable {
        private let monitor = Monitor()
        private var made: [UnsafePointer<sqlite3_io_methods>: UnsafePointer<sqlite3_io_methods>] =
            [:]

        /// Returns a method table that zeroes gaps when writing, followed in memory by the
        /// original.
        func cleaning(
            _ original: UnsafePointer<sqlite3_io_methods>
        ) -> UnsafePointer<sqlite3_io_methods> {
            monitor.withLock {
                if let known = made[original] { return known }
                let pair = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 2)
                pair.initialize(repeating: original.pointee, count: 2)
                pair.pointee.xWrite = { FreeSpaceZeroing.write($0, $1, $2, $3) }
                made[original] = UnsafePointer(pair)
                return UnsafePointer(pair)
            }
        }
    }

    /// Makes the connection zero the gap of every page that it writes to the database file; pages
    /// in the log stay unchanged.
    static func clean(_ connection: Connection) throws(StorageError) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(
            connection.handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        try connection.check(code, doing: "finding the file")
        guard let file, let original = file.pointee.pMethods else {
            throw .refused(code: SQLITE_ERROR, doing: "finding the file")
        }
        file.pointee.pMethods = methods.cleaning(original)
        try connection.run("PRAGMA max_page_count = \(pagesMax)", doing: "limiting the file")
    }

    private static func write(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32,
        _ offset: Int64
    ) -> Int32 {
        guard let write = file?.pointee.pMethods?[1].xWrite else { return SQLITE_IOERR }
        guard let bytes, Int(count) == Format.pageBytes else {
            return write(file, bytes, count, offset)
        }
        return withUnsafeTemporaryAllocation(byteCount: Format.pageBytes, alignment: 8) { page in
            page.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            if let gap = gap(in: UnsafeRawBufferPointer(page), isFirst: offset == 0) {
                UnsafeMutableRawBufferPointer(rebasing: page[gap]).initializeMemory(
                    as: UInt8.self, repeating: 0)
            }
            return write(file, page.baseAddress, count, offset)
        }
    }

    /// Returns the bytes between the row pointers of a page and its rows; nil for a page without
    /// rows.
    ///
    /// Source: "Database File Format", 1.6 B-tree Pages.
    static func gap(in page: UnsafeRawBufferPointer, isFirst: Bool) -> Range<Int>? {
        let head = isFirst ? 100 : 0
        let headBytes: Int
        switch page[head] {
        case 2, 5: headBytes = 12
        case 10, 13: headBytes = 8
        default: return nil
        }
        let rows = Int(page[head + 3]) << 8 | Int(page[head + 4])
        let start = head + headBytes + 2 * rows
        let stated = Int(page[head + 5]) << 8 | Int(page[head + 6])
        let end = stated == 0 ? 1 << 16 : stated
        return start <= end && end <= page.count ? start..<end : nil
    }
}
