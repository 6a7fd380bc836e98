import Wire

/// The numbers that stand for replicas in rows: 1 or 2 bytes where an id takes 16.
final class ReplicaNumbers {
    private let find: Statement
    private let insert: Statement?
    /// Only what the file has: the number of a replica never changes, nor goes.
    private var known: [ReplicaID: Int64] = [:]
    /// The one that was asked for last: what is written together was mostly made by one.
    private var last: (replica: ReplicaID, number: Int64)?

    /// - Parameter interning: whether a replica without a number gets one.
    init(_ connection: Connection, interning: Bool) throws(StorageError) {
        find = try Statement(
            connection, "SELECT number FROM replica WHERE id = ?", doing: "finding a replica")
        insert =
            try interning
            ? Statement(
                connection, "INSERT INTO replica(id) VALUES(?)", doing: "storing a replica")
            : nil
    }

    func forget() {
        known.removeAll()
        last = nil
    }

    /// - Returns: nil where the replica has no number and gets none.
    func number(of replica: ReplicaID) throws(StorageError) -> Int64? {
        if let last, last.replica == replica { return last.number }
        var number = known[replica]
        if number == nil { number = try stored(replica) }
        if number == nil { number = try interned(replica) }
        last = number.map { (replica, $0) }
        return number
    }

    private func interned(_ replica: ReplicaID) throws(StorageError) -> Int64? {
        guard let insert else { return nil }
        try insert.bind(replica, at: 1)
        try insert.run()
        return try stored(replica)
    }

    private func stored(_ replica: ReplicaID) throws(StorageError) -> Int64? {
        try find.bind(replica, at: 1)
        defer { find.reset() }
        guard try find.step() else { return nil }
        let number = find.number(0)
        known[replica] = number
        return number
    }
}
