import CRDT
import Chat
import Wire

/// A row of `document` under a statement: its columns are `partition, kind, time, id, body`.
struct StoredRow {
    static let columns = "d.partition, d.kind, d.time, d.id, d.body"
    static let columnsCount: Int32 = 5

    private let statement: Statement
    private let shard: ShardID
    /// The first of the columns.
    private let first: Int32

    init(_ statement: Statement, shard: ShardID, first: Int32 = 0) {
        self.statement = statement
        self.shard = shard
        self.first = first
    }

    var key: DocumentKey {
        let kind = UInt8(truncatingIfNeeded: statement.number(first + 1))
        return DocumentKey(
            checked: DocumentKey.Kind(number: kind), partition: statement.text(first),
            id: statement.text(first + 3))
    }

    /// Negative in no row that was written, so that bits that are none fit no checksum.
    var time: Int64 { statement.number(first + 2) }

    /// The document's canonical bytes, nil where they are not what was written under this key.
    var bytes: [UInt8]? {
        let seed = Seal.seed(
            shard: shard, partition: statement.bytes(first), kind: statement.number(first + 1),
            time: time, id: statement.bytes(first + 3))
        return Seal.open(statement.bytes(first + 4), seed: seed)
    }

    /// Whether the row of `place`, in the columns behind, is what was written for this key, and
    /// leads to a document.
    func isPlaced(as key: DocumentKey) -> Bool {
        let column = first + StoredRow.columnsCount
        var (partition, id) = (key.partition, key.id)
        let sum = partition.withUTF8 { partition in
            id.withUTF8 { id in
                Seal.sum(
                    ofPlace: UnsafeRawBufferPointer(id), time: statement.number(column),
                    shard: shard, partition: UnsafeRawBufferPointer(partition))
            }
        }
        return statement.number(column + 1) == sum && !statement.isNull(first)
    }

    /// Where a walk stands that has come to this row.
    var position: WalkPosition {
        WalkPosition(
            partition: statement.text(first), kind: statement.number(first + 1), time: time,
            id: statement.text(first + 3))
    }

    func bad(_ key: DocumentKey) -> StorageError { .badRecord(shard, key) }

    /// - Throws: `badRecord` where checksum or decoding fails.
    func document(_ key: DocumentKey) throws(StorageError) -> Document {
        guard let bytes else { throw .badRecord(shard, key) }
        return try StoredRow.document(key, in: shard, decoding: bytes)
    }

    static func document(
        _ key: DocumentKey, in shard: ShardID, decoding bytes: [UInt8]
    ) throws(StorageError) -> Document {
        do throws(WireError) {
            return try Document(key, decoding: bytes)
        } catch .tooLong(_, let limit) {
            // Not damage: what was stored once is not thrown away for its size.
            throw .unfit("a document of shard \(shard) with more than \(limit) of something")
        } catch {
            throw .badRecord(shard, key)
        }
    }
}
