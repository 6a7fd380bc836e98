import CSQLite

/// The statements that run a closure in one transaction.
struct Transactions {
    private let connection: Connection
    private let begin: Statement
    private let commit: Statement

    init(_ connection: Connection) throws(StorageError) {
        self.connection = connection
        begin = try Statement(connection, "BEGIN IMMEDIATE", doing: "beginning a transaction")
        commit = try Statement(connection, "COMMIT", doing: "committing")
    }

    /// Runs `body` in a transaction, and rolls back if it fails; the caller reverts changes in
    /// memory.
    func run(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        do throws(StorageError) {
            try begin.run()
            try body()
            try commit.run()
        } catch {
            // The rollback is skipped after errors for which SQLite rolls back by itself.
            if sqlite3_get_autocommit(connection.handle) == 0 {
                sqlite3_exec(connection.handle, "ROLLBACK", nil, nil, nil)
            }
            throw error
        }
    }
}
