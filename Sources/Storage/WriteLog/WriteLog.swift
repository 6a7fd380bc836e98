import Chat
import Wire

/// The append-only table to which each commit is written first.
///
/// A commit costs a page in SQLite's write-ahead log for each page that it touches. A row at the
/// end of one table touches few pages; the same records in the keyed tables touch at least one page
/// each. The rows are flushed into those tables later, thousands of records at a time, in the order
/// of their keys. Rows whose records are flushed are called spent; they are removed when other rows
/// are appended. If a transaction frees a page and reuses it, the page is written to the
/// write-ahead log once; a page that is only freed is also written there, as zeros.
///
/// Invariant: the tables with every row of the write log applied in order are the committed state.
/// A row is removed in a transaction after which the tables contain the effect of that row and of
/// every row before it. Applying the remaining rows again, from the first to the last, changes
/// nothing.
final class WriteLog {
    /// The numbers of the existing rows, which have no gaps.
    struct Extent {
        /// The number of the first row of the write log.
        var first: Int64 = 1
        /// The number of the last row; less than `first` if there are no rows.
        var last: Int64 = 0
        /// The number of the last row that is spent, so that its removal is allowed.
        var spent: Int64 = 0
        /// The number of appended bytes for which no spent row has been removed yet.
        var bytesUnpaid = 0
    }

    private let insert: Statement
    private let select: Statement
    private let delete: Statement
    private let seal = Seal()
    private var buffer = ByteWriter()
    private var extent = Extent()
    /// The sizes in bytes of the rows that this process has appended, beginning with row `from`.
    private var sizes: (from: Int64, bytes: [Int]) = (1, [])

    init(_ connection: Connection) throws(StorageError) {
        insert = try Statement(
            connection, "INSERT INTO journal VALUES(?,?)", doing: "appending to the write log")
        select = try Statement(
            connection, "SELECT number, body FROM journal WHERE number > ? ORDER BY number LIMIT 1",
            doing: "reading the write log")
        delete = try Statement(
            connection, "DELETE FROM journal WHERE number <= ?", doing: "emptying the write log")
    }

    /// The number of the last row.
    var last: Int64 { extent.last }

    /// Whether the table still contains spent rows.
    var holdsSpent: Bool { extent.first <= extent.spent }

    /// Appends a row, and removes spent rows of about the same size.
    func append(_ row: WriteLogRow) throws(StorageError) {
        buffer.removeAll()
        row.encode(into: &buffer)
        forgetSizes()
        try removeSpent(for: buffer.count)
        let number = extent.last + 1
        try insert.bind(number, at: 1)
        let seed = UInt64(bitPattern: number)
        try insert.bind(buffer.withUnsafeBytes { seal.seal($0, seed: seed) }, at: 2)
        try insert.run()
        sizes.bytes.append(buffer.count)
        extent.last = number
    }

    /// Marks the rows up to `number` as spent, since the tables contain their effect; removes the
    /// rows that were already spent.
    func spend(upTo number: Int64) throws(StorageError) {
        try removeSpent()
        extent.spent = number
    }

    /// Removes every spent row of the write log.
    func removeSpent() throws(StorageError) {
        if holdsSpent { try remove(upTo: extent.spent) }
    }

    /// Removes the rows up to `number`; `secure_delete` overwrites their bytes.
    func remove(upTo number: Int64) throws(StorageError) {
        try delete.bind(number, at: 1)
        try delete.run()
        extent.first = max(extent.first, number + 1)
    }

    /// Runs a transaction that changes rows, and restores the extent if it fails.
    func keepingTrack(of body: () throws(StorageError) -> Void) throws(StorageError) {
        let before = extent
        do throws(StorageError) {
            try body()
        } catch {
            extent = before
            throw error
        }
    }

    /// Removes spent rows with about `bytes` bytes, the size of the row to append.
    private func removeSpent(for bytes: Int) throws(StorageError) {
        guard holdsSpent else {
            extent.bytesUnpaid = 0
            return
        }
        extent.bytesUnpaid += bytes
        var end = extent.first - 1
        while end < extent.spent, size(of: end + 1) <= extent.bytesUnpaid {
            end += 1
            extent.bytesUnpaid -= size(of: end)
        }
        if end >= extent.first { try remove(upTo: end) }
    }

    private func size(of number: Int64) -> Int { sizes.bytes[Int(number - sizes.from)] }

    /// Discards the sizes of rows that were removed or rolled back; called only at the start of an
    /// append, so that a failed transaction need not restore the sizes.
    private func forgetSizes() {
        guard extent.first <= extent.last else {
            sizes = (extent.last + 1, [])
            return
        }
        sizes.bytes.removeSubrange(Int(extent.last + 1 - sizes.from)...)
        let gone = Int(extent.first - sizes.from)
        guard gone > sizes.bytes.count / 2 else { return }
        sizes.bytes.removeFirst(gone)
        sizes.from = extent.first
    }

    /// Returns the first row after `number`; its content is nil if its bytes are damaged.
    func row(
        after number: Int64
    ) throws(StorageError) -> (number: Int64, content: WriteLogRow?)? {
        try select.bind(number, at: 1)
        defer { select.reset() }
        guard try select.step() else { return nil }
        let found = select.number(0)
        extent.last = max(extent.last, found)
        guard let bytes = Seal.open(select.bytes(1), seed: UInt64(bitPattern: found)) else {
            return (found, nil)
        }
        do throws(WireError) {
            return (found, try WriteLogRow.decode(bytes))
        } catch .version(let version) {
            throw .newerFormat(Int(version))
        } catch {
            return (found, nil)
        }
    }
}
