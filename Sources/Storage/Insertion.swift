/// Stores rows of one table, many with one statement where there are many.
///
/// To begin and to end a statement costs a third of what its row costs.
struct Insertion {
    /// How many rows one statement stores: so many that what it keeps to take itself back, a copy
    /// of each page that it changes, is shared by many rows.
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

    /// - Parameter bind: binds a row to a statement, its first column behind the index given; which
    ///   of the statement's rows it is comes last.
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
