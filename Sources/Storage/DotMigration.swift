import CRDT
import Chat
import Wire

/// Makes the table `dots` of a file that has a row for each dot, in the table `dot`.
struct DotMigration {
    private static let changesAtATime = 4_096

    private let select: Statement
    private let dots: DotTable

    /// - Parameter connection: inside a transaction that has made the table.
    init(_ connection: Connection) throws(StorageError) {
        dots = try DotTable(connection)
        select = try Statement(
            connection,
            """
            SELECT shard, replica, seq, partition, kind, time, id FROM dot
            ORDER BY shard, replica, seq
            """, doing: "reading the table of dots")
    }

    /// The statement ends with this: the table that it reads is to go.
    func run() throws(StorageError) {
        defer { select.finish() }
        var changes: [DotChange] = []
        while try select.step() {
            guard let change else { continue }
            changes.append(change)
            guard changes.count >= DotMigration.changesAtATime else { continue }
            try dots.store(changes)
            changes.removeAll(keepingCapacity: true)
        }
        try dots.store(changes)
    }

    /// Nil for a row that is damaged, and leads nowhere.
    private var change: DotChange? {
        let (partition, id) = (select.text(3), select.text(6))
        guard let shard = UInt16(exactly: select.number(0)),
            let seq = UInt64(exactly: select.number(2)),
            let kind = UInt8(exactly: select.number(4)),
            let time = UInt64(exactly: select.number(5)),
            isName(partition.utf8), id.isEmpty || isName(id.utf8)
        else { return nil }
        let key = DocumentKey(checked: .init(number: kind), partition: partition, id: id)
        return DotChange(
            shard: ShardID(shard), replica: select.number(1), seq: seq,
            place: DotPlace(key: key, time: HybridTimestamp(bits: time)))
    }
}
