import Chat
import Wire

/// The append-only table where a commit goes first.
///
/// A commit costs a page in the log for each page that it touches: a row at the end of one table
/// touches few, where the same records in the keyed tables touch one each and more. What is here
/// is folded into those later, thousands of records at a time in their order, and then removed.
///
/// Invariant: the tables, with every row of the journal applied in order, are what is committed. A
/// row is removed in a transaction after which the tables hold all that it says, and to apply a row
/// a second time changes nothing.
final class Journal {
    private let insert: Statement
    private let select: Statement
    private let delete: Statement
    private let seal = Seal()
    private var buffer = ByteWriter()
    /// The number of the last row.
    private(set) var last: Int64 = 0

    init(_ connection: Connection) throws(StorageError) {
        insert = try Statement(
            connection, "INSERT INTO journal VALUES(?,?)", doing: "appending to the journal")
        select = try Statement(
            connection, "SELECT number, body FROM journal WHERE number > ? ORDER BY number LIMIT 1",
            doing: "reading the journal")
        delete = try Statement(
            connection, "DELETE FROM journal WHERE number <= ?", doing: "emptying the journal")
    }

    /// Appends a row.
    func append(_ row: JournalRow) throws(StorageError) {
        buffer.removeAll()
        row.encode(into: &buffer)
        try insert.bind(last + 1, at: 1)
        let seed = UInt64(bitPattern: last + 1)
        try insert.bind(buffer.withUnsafeBytes { seal.seal($0, seed: seed) }, at: 2)
        try insert.run()
        last += 1
    }

    /// What was appended behind `number` was rolled back.
    func rolledBack(to number: Int64) { last = number }

    /// Removes the rows up to `number`; what they took is overwritten.
    func remove(upTo number: Int64) throws(StorageError) {
        try delete.bind(number, at: 1)
        try delete.run()
    }

    /// The first row behind `number`; its content nil where its bytes are not what was written.
    func row(
        after number: Int64
    ) throws(StorageError) -> (number: Int64, content: JournalRow?)? {
        try select.bind(number, at: 1)
        defer { select.reset() }
        guard try select.step() else { return nil }
        let found = select.number(0)
        last = max(last, found)
        guard let bytes = Seal.open(select.bytes(1), seed: UInt64(bitPattern: found)) else {
            return (found, nil)
        }
        do throws(WireError) {
            return (found, try JournalRow.decode(bytes))
        } catch .version(let version) {
            throw .newerFormat(Int(version))
        } catch {
            return (found, nil)
        }
    }
}
