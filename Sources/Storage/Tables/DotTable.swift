import CRDT
import Chat
import Wire

/// A change of the document place that the table `dots` records for one dot.
struct DotChange {
    let shard: ShardID
    let replica: Int64
    let seq: UInt64
    /// The new place; nil if the dot is removed.
    let place: DotPlace?

    /// Whether one change precedes another in the order of the table.
    static func comesBefore(_ left: DotChange, _ right: DotChange) -> Bool {
        if left.shard != right.shard { return left.shard < right.shard }
        return (left.replica, left.seq) < (right.replica, right.seq)
    }

    func isInBlock(of other: DotChange) -> Bool {
        shard == other.shard && replica == other.replica
            && DotBlock.number(of: seq) == DotBlock.number(of: other.seq)
    }
}

/// The statements that write the table `dots`.
final class DotTable {
    private let select: Statement
    private let insert: Statement
    private let delete: Statement
    private let seal = Seal()
    private var buffer = ByteWriter()

    init(_ connection: Connection) throws(StorageError) {
        select = try Statement(
            connection, "SELECT body FROM dots WHERE shard = ? AND replica = ? AND block = ?",
            doing: "reading dots")
        insert = try Statement(
            connection, "INSERT OR REPLACE INTO dots VALUES(?,?,?,?)", doing: "storing dots")
        delete = try Statement(
            connection, "DELETE FROM dots WHERE shard = ? AND replica = ? AND block = ?",
            doing: "removing dots")
    }

    /// Stores changes of different dots, inside the open transaction.
    ///
    /// - Throws: `badIndex` at a damaged block, since overwriting it would lose its other places.
    func store(_ changes: [DotChange]) throws(StorageError) {
        let changes = changes.sorted(by: DotChange.comesBefore)
        var next = 0
        while next < changes.count {
            let first = changes[next]
            let number = DotBlock.number(of: first.seq)
            var block = try stored(first.shard, first.replica, number)
            while next < changes.count, changes[next].isInBlock(of: first) {
                block.set(changes[next].place, at: changes[next].seq)
                next += 1
            }
            try put(block, first.shard, first.replica)
        }
    }

    private func stored(
        _ shard: ShardID, _ replica: Int64, _ number: Int64
    ) throws(StorageError) -> DotBlock {
        try bind(shard, replica, number, to: select)
        defer { select.reset() }
        guard try select.step() else { return DotBlock(number) }
        return try DotBlock(number, sealed: select.bytes(0), shard, replica)
    }

    private func put(
        _ block: DotBlock, _ shard: ShardID, _ replica: Int64
    ) throws(StorageError) {
        let statement = block.isEmpty ? delete : insert
        try bind(shard, replica, block.number, to: statement)
        if !block.isEmpty {
            buffer.removeAll()
            block.encode(into: &buffer)
            let seed = Seal.seed(shard: shard, replica: replica, block: block.number)
            try insert.bind(buffer.withUnsafeBytes { seal.seal($0, seed: seed) }, at: 4)
        }
        try statement.run()
    }

    private func bind(
        _ shard: ShardID, _ replica: Int64, _ number: Int64, to statement: Statement
    ) throws(StorageError) {
        try statement.bind(Int64(shard.number), at: 1)
        try statement.bind(replica, at: 2)
        try statement.bind(number, at: 3)
    }
}

extension DotBlock {
    /// Decodes a sealed row.
    ///
    /// - Throws: `badIndex` if the bytes are damaged.
    init(
        _ number: Int64, sealed: UnsafeRawBufferPointer, _ shard: ShardID, _ replica: Int64
    ) throws(StorageError) {
        let seed = Seal.seed(shard: shard, replica: replica, block: number)
        guard let bytes = Seal.open(sealed, seed: seed),
            let block = DotBlock(number, decoding: bytes)
        else { throw .badIndex(shard) }
        self = block
    }
}

extension Seal {
    static func seed(shard: ShardID, replica: Int64, block: Int64) -> UInt64 {
        UInt64(shard.number) << 48 ^ UInt64(bitPattern: replica) << 32 ^ UInt64(bitPattern: block)
    }
}
