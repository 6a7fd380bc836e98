import Wire

/// The numbers that represent replica ids in rows, with 1 or 2 bytes instead of 16.
final class ReplicaNumbers {
    private let select: Statement
    private let insert: Statement?
    /// The numbers in the file, all read at the first query; a replica id's number changes only
    /// when damage is repaired.
    private var known: [ReplicaID: Int64] = [:]
    private var isWhole = false
    private var greatest: Int64 = 0
    /// The last result, kept since rows that are written together mostly have the same replica id.
    private var last: (replica: ReplicaID, number: Int64)?

    /// - Parameter interning: whether a replica id without a number gets one.
    init(_ connection: Connection, interning: Bool) throws(StorageError) {
        select = try Statement(
            connection, "SELECT number, id, sum FROM replica", doing: "reading replicas")
        insert =
            try interning
            ? Statement(
                connection, "INSERT INTO replica VALUES(?,?,?)", doing: "storing a replica")
            : nil
    }

    func removeAll() {
        known.removeAll(keepingCapacity: true)
        isWhole = false
        last = nil
    }

    /// - Parameter shard: the shard that the caller reads or writes, which a `badIndex` error
    ///   names.
    /// - Returns: the number; nil if the replica id has no number and gets none.
    /// - Throws: `badIndex` if a row is damaged, since the row may be that of `replica`.
    func number(of replica: ReplicaID, in shard: ShardID) throws(StorageError) -> Int64? {
        if let last, last.replica == replica { return last.number }
        if !isWhole { try readAll(for: shard) }
        var number = known[replica]
        if number == nil { number = try interned(replica) }
        last = number.map { (replica, $0) }
        return number
    }

    private func interned(_ replica: ReplicaID) throws(StorageError) -> Int64? {
        guard let insert else { return nil }
        let number = greatest + 1
        try insert.bind(number, at: 1)
        try insert.bind(replica, at: 2)
        try insert.bind(Seal.sum(ofReplica: replica, number: number), at: 3)
        try insert.run()
        greatest = number
        known[replica] = number
        return number
    }

    private func readAll(for shard: ShardID) throws(StorageError) {
        greatest = 0
        defer { select.reset() }
        while try select.step() {
            let (number, id) = (select.number(0), select.bytes(1))
            guard id.count == 16, select.number(2) == Seal.sum(ofReplica: id, number: number)
            else { throw .badIndex(shard) }
            let replica = ReplicaID(
                high: id.loadUnaligned(as: UInt64.self).bigEndian,
                low: id.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian)
            known[replica] = number
            greatest = max(greatest, number)
        }
        isWhole = true
    }
}

/// The statements that check all replica numbers and remove damaged ones.
struct ReplicaCheck {
    private let select: Statement
    private let delete: Statement
    private let orphans: Statement

    init(_ connection: Connection) throws(StorageError) {
        select = try Statement(
            connection, "SELECT number, id, sum FROM replica", doing: "checking replicas")
        delete = try Statement(
            connection, "DELETE FROM replica WHERE number = ?", doing: "removing a replica")
        orphans = try Statement(
            connection,
            """
            SELECT DISTINCT shard FROM dots
            WHERE replica NOT IN (SELECT number FROM replica) ORDER BY shard
            """, doing: "looking for dots without a replica")
    }

    /// Removes damaged rows of `replica`, inside a transaction.
    ///
    /// - Returns: the shards with dots whose replica number has no row any more; the indexes of
    ///   these shards have to be rebuilt.
    func mend() throws(StorageError) -> Set<ShardID> {
        var bad: [Int64] = []
        while try select.step() {
            let (number, id) = (select.number(0), select.bytes(1))
            if select.number(2) != Seal.sum(ofReplica: id, number: number) { bad.append(number) }
        }
        select.reset()
        guard !bad.isEmpty else { return [] }
        for number in bad {
            try delete.bind(number, at: 1)
            try delete.run()
        }
        defer { orphans.reset() }
        var shards: Set<ShardID> = []
        while try orphans.step() {
            if let number = UInt16(exactly: orphans.number(0)) { shards.insert(ShardID(number)) }
        }
        return shards
    }
}
