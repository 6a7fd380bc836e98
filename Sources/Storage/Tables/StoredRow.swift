import CRDT
import Chat
import Wire

/// The current row of a statement over `document`, with the columns `partition, kind, time, id,
/// body`.
struct StoredRow {
    static let columns = "d.partition, d.kind, d.time, d.id, d.body"
    static let columnsCount: Int32 = 5

    private let statement: Statement
    private let shard: ShardID
    /// The index of the first of the row's columns in the statement's result.
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

    /// The bits of the time; no valid row has a negative value, and no checksum matches one.
    var time: Int64 { statement.number(first + 2) }

    /// The document's canonical bytes; nil if they do not match their checksum under this key.
    var bytes: [UInt8]? {
        let seed = Seal.seed(
            shard: shard, partition: statement.bytes(first), kind: statement.number(first + 1),
            time: time, id: statement.bytes(first + 3))
        return Seal.open(statement.bytes(first + 4), seed: seed)
    }

    /// Returns whether the row of `place`, in the columns after those of `document`, is undamaged
    /// and leads to a document.
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

    /// The position of a walk that has reached this row.
    var position: WalkPosition {
        WalkPosition(
            partition: statement.text(first), kind: statement.number(first + 1), time: time,
            id: statement.text(first + 3))
    }

    func bad(_ key: DocumentKey) -> StorageError { .badRecord(shard, key) }

    /// - Throws: `badRecord` if the checksum or the decoding fails.
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
            // A document that exceeds a limit is not damaged: none is discarded for its size.
            throw .unfit("a document of shard \(shard) with more than \(limit) of something")
        } catch {
            throw .badRecord(shard, key)
        }
    }
}
