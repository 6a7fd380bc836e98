/// The statements that insert rows into one table, up to 64 rows with one statement.
///
/// Starting and ending a statement costs a third of what its row costs.
struct Insertion {
    /// The number of rows of the large statement; that many rows share the statement journal, which
    /// copies each page that the statement changes.
    static let rowsMax = 64

    private let one: Statement
    private let many: Statement
    private let columns: Int32

    init(
        _ connection: Connection, into table: String, columns: Int, doing: String
    ) throws(StorageError) {
        let row = "(" + Array(repeating: "?", count: columns).joined(separator: ",") + ")"
        let rows = Array(repeating: row, count: Insertion.rowsMax).joined(separator: ",")
        let head = "INSERT OR REPLACE INTO \(table) VALUES"
        one = try Statement(connection, head + row, doing: doing)
        many = try Statement(connection, head + rows, doing: doing)
        self.columns = Int32(columns)
    }

    /// Inserts the rows, with the large statement as long as enough of them are left.
    ///
    /// - Parameter bind: binds one row to a statement; its arguments are the row, the statement,
    ///   the index before the row's first column, and the number of the row within the statement.
    func store<Row>(
        _ rows: ArraySlice<Row>,
        bind: (Row, Statement, Int32, Int) throws(StorageError) -> Void
    ) throws(StorageError) {
        var next = rows.startIndex
        while rows.endIndex - next >= Insertion.rowsMax {
            for place in 0..<Insertion.rowsMax {
                try bind(rows[next + place], many, Int32(place) * columns, place)
            }
            try many.run()
            next += Insertion.rowsMax
        }
        for row in rows[next...] {
            try bind(row, one, 0, 0)
            try one.run()
        }
    }
}
