/// The statements that insert rows into one table, up to 64 rows with one statement.
///
/// Starting and ending a statement takes a third of the time of inserting a row.
struct Insertion {
    /// The number of rows of the large statement, which share one statement journal: SQLite copies
    /// each page that a statement changes into that journal.
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

    /// Inserts the rows, with the large statement as long as at least `rowsMax` rows are left.
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
