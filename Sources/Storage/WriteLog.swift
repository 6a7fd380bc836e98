import Chat
import Wire

/// The append-only table where a commit goes first.
///
/// A commit costs a page in the log for each page that it touches: a row at the end of one table
/// touches few, where the same records in the keyed tables touch one each and more. What is here is
/// flushed into those later, thousands of records at a time in their order. From then on its rows
/// are spent, and are removed as others come: what a transaction frees and writes over goes to the
/// log once, where what it only frees goes there as zeros.
///
/// Invariant: the tables, with every row of the write log applied in order, are what is committed.
/// A row is removed in a transaction after which the tables hold all that it and every row before
/// it say. To apply the rows that are left a second time, from the first to the last, changes
/// nothing.
final class WriteLog {
    /// Which rows there are; their numbers have no gaps.
    struct Extent {
        /// The number of the first row.
        var first: Int64 = 1
        /// The number of the last row; less than the first where there is none.
        var last: Int64 = 0
        /// The number of the last row that is spent.
        var spent: Int64 = 0
        /// How many bytes were appended for which no spent row was removed yet.
        var bytesUnpaid = 0
    }

    private let insert: Statement
    private let select: Statement
    private let delete: Statement
    private let seal = Seal()
    private var buffer = ByteWriter()
    private var extent = Extent()
    /// How many bytes each row has that was appended by this process, from the number on.
    private var sizes: (from: Int64, bytes: [Int]) = (1, [])

    init(_ connection: Connection) throws(StorageError) {
        insert = try Statement(
            connection, "INSERT INTO journal VALUES(?,?)", doing: "appending to the journal")
        select = try Statement(
            connection, "SELECT number, body FROM journal WHERE number > ? ORDER BY number LIMIT 1",
            doing: "reading the journal")
        delete = try Statement(
            connection, "DELETE FROM journal WHERE number <= ?", doing: "emptying the journal")
    }

    /// The number of the last row.
    var last: Int64 { extent.last }

    /// Whether rows wait to be removed.
    var holdsSpent: Bool { extent.first <= extent.spent }

    /// Appends a row, in the place of spent ones.
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

    /// The tables hold all that the rows up to `number` say; those that were spent before go.
    func spend(upTo number: Int64) throws(StorageError) {
        try removeSpent()
        extent.spent = number
    }

    /// Removes every row that is spent.
    func removeSpent() throws(StorageError) {
        if holdsSpent { try remove(upTo: extent.spent) }
    }

    /// Removes the rows up to `number`; what they took is overwritten.
    func remove(upTo number: Int64) throws(StorageError) {
        try delete.bind(number, at: 1)
        try delete.run()
        extent.first = max(extent.first, number + 1)
    }

    /// Has `body` change rows; where it fails, its transaction is rolled back.
    func keepingTrack(of body: () throws(StorageError) -> Void) throws(StorageError) {
        let before = extent
        do throws(StorageError) {
            try body()
        } catch {
            extent = before
            throw error
        }
    }

    /// Removes spent rows that have about as many bytes as what is appended.
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

    /// Forgets those of rows that are gone or were rolled back; before a transaction changes rows,
    /// which may be rolled back as well.
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

    /// The first row behind `number`; its content nil where its bytes are not what was written.
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
