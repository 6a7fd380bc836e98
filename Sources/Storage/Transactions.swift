import CSQLite

/// All or nothing.
struct Transactions {
    private let connection: Connection
    private let begin: Statement
    private let commit: Statement

    init(_ connection: Connection) throws(StorageError) {
        self.connection = connection
        begin = try Statement(connection, "BEGIN IMMEDIATE", doing: "beginning a transaction")
        commit = try Statement(connection, "COMMIT", doing: "committing")
    }

    /// What `body` changed in memory has to be taken back by who called.
    func run(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        do throws(StorageError) {
            try begin.run()
            try body()
            try commit.run()
        } catch {
            // Some errors have rolled back already.
            if sqlite3_get_autocommit(connection.handle) == 0 {
                sqlite3_exec(connection.handle, "ROLLBACK", nil, nil, nil)
            }
            throw error
        }
    }
}
