import CRDT
import Chat
import Replication
import StorePort
import Wire

/// The position in a walk through a shard's documents; the walk continues after it.
package struct WalkPosition: CheckMark, Hashable {
    let partition: String
    let kind: Int64
    let time: Int64
    let id: String
}

/// The statements that read all documents of a shard in the order of their keys.
struct Walks {
    private let first: Statement
    private let behind: Statement

    init(_ connection: Connection) throws(StorageError) {
        func prepare(_ place: String) throws(StorageError) -> Statement {
            try Statement(
                connection,
                """
                SELECT \(StoredRow.columns) FROM document d
                WHERE shard = ?1 AND kind < \(DocumentKey.Kind.countedRun(0).number) \(place)
                ORDER BY partition, kind, time, id
                """, doing: "walking through a shard")
        }
        first = try prepare("")
        behind = try prepare("AND (partition, kind, time, id) > (?2, ?3, ?4, ?5)")
    }

    /// Binds the statement for a walk's next part; the caller steps and resets it.
    func open(_ shard: ShardID, after position: WalkPosition?) throws(StorageError) -> Statement {
        let statement = position == nil ? first : behind
        precondition(!statement.isOpen, "nobody walks through a shard while being handed one")
        try statement.bind(Int64(shard.number), at: 1)
        guard let position else { return statement }
        try statement.bind(position.partition, at: 2)
        try statement.bind(position.kind, at: 3)
        try statement.bind(position.time, at: 4)
        try statement.bind(position.id, at: 5)
        return statement
    }
}

extension Reader {
    /// Recomputes a shard's header from its undamaged documents.
    ///
    /// - Throws: `unfit` at a document that exceeds a limit, which is not damaged.
    package func remainder(
        of shard: ShardID, without bad: Set<DocumentKey>
    ) throws(StorageError) -> Remainder {
        try checkOpen()
        var sum = DocumentSum()
        var alsoBad: [DocumentKey] = []
        let statement = try walks.open(shard, after: nil)
        defer { statement.reset() }
        let row = StoredRow(statement, shard: shard)
        let layers = overlay.layers(of: shard)
        while try statement.step() {
            let key = row.key
            guard !bad.contains(key), layers?.record(key) == nil else { continue }
            do throws(StorageError) {
                guard let bytes = row.bytes else { throw .badRecord(shard, key) }
                sum.add(try StoredRow.document(key, in: shard, decoding: bytes), bytes: bytes)
            } catch .badRecord(_, let key) {
                alsoBad.append(key)
            } catch {
                throw error
            }
        }
        for record in layers?.records ?? [] where !bad.contains(record.key) {
            let document = try StoredRow.document(
                record.key, in: shard, decoding: record.bytes)
            sum.add(document, bytes: record.bytes)
        }
        return Remainder(header: ReplicaHeader(remaining: sum), bad: alsoBad)
    }

    /// Calls `handing` with the next documents of a shard, in the order of their keys on disk.
    ///
    /// A record of the write log has the place in the order that it will have in the tables, so a
    /// flush between two parts does not change the order.
    ///
    /// - Parameters:
    ///   - position: the last position of the previous part; nil for the first part.
    ///   - rowsMax: the most documents in a part, so that a long walk can be made in short parts.
    ///   - handing: called with nil instead of bytes for a damaged document.
    /// - Returns: the position for the next part; nil if no document is left.
    package func walk(
        _ shard: ShardID, after position: WalkPosition?, rowsMax: Int,
        handing: (DocumentKey, [UInt8]?) -> Void
    ) throws(StorageError) -> WalkPosition? {
        try checkOpen()
        let statement = try walks.open(shard, after: position)
        defer { statement.reset() }
        let row = StoredRow(statement, shard: shard)
        let layers = overlay.layers(of: shard)
        var unflushed = (layers?.walk(after: position) ?? [])[...]
        var handed = 0
        var last = position
        /// Calls `handing` with the write log's records before `limit`; with all if it is nil.
        func handUnflushed(before limit: WalkPosition?) {
            while handed < rowsMax, let next = unflushed.first,
                limit.map({ next.position < $0 }) ?? true
            {
                unflushed = unflushed.dropFirst()
                handing(next.record.key, next.record.bytes)
                last = next.position
                handed += 1
            }
        }
        while handed < rowsMax {
            guard try statement.step() else {
                handUnflushed(before: nil)
                return unflushed.isEmpty ? nil : last
            }
            let key = row.key
            handUnflushed(before: row.position)
            // If the write log has a later state of the document, the row is skipped.
            guard handed < rowsMax, layers?.record(key) == nil else { continue }
            handing(key, row.bytes)
            last = row.position
            handed += 1
        }
        return last
    }
}

extension WalkPosition: Comparable {
    init(_ record: Record) {
        self.init(
            partition: record.key.partition, kind: Int64(record.key.kind.number),
            time: Int64(bitPattern: record.time.bits), id: record.key.id)
    }

    package static func < (left: WalkPosition, right: WalkPosition) -> Bool {
        (left.partition, left.kind, left.time, left.id)
            < (right.partition, right.kind, right.time, right.id)
    }
}
