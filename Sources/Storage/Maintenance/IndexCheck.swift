import CRDT
import Chat
import Replication
import StorePort
import Wire

extension Reader {
    /// Reads the next documents of a shard, at most `rowsMax`; checks their bytes and index rows.
    package func checkedPart(
        of shard: ShardID, after position: WalkPosition?, rowsMax: Int
    ) throws(StorageError) -> CheckedPart {
        var part = CheckedPart()
        var found: [(key: DocumentKey, bytes: [UInt8]?)] = []
        part.next = try walk(shard, after: position, rowsMax: rowsMax) { found.append(($0, $1)) }
        for (key, bytes) in found { try check(key, bytes, of: shard, in: &part) }
        return part
    }

    private func check(
        _ key: DocumentKey, _ bytes: [UInt8]?, of shard: ShardID, in part: inout CheckedPart
    ) throws(StorageError) {
        guard let bytes else { return part.add(bad: key) }
        let document: Document
        do throws(WireError) {
            document = try Document(key, decoding: bytes)
        } catch .tooLong(_, _) {
            // A document that exceeds a limit is not damaged, but its part of the sums is unknown.
            part.isKnown = false
            return
        } catch {
            return part.add(bad: key)
        }
        part.add(document, bytes: bytes, isIndexed: try isIndexed(document, in: shard))
    }

    /// Returns whether a document is stored in this state and found by its key, terms and dots.
    ///
    /// The check compares the indexes with the document, since no checksum reveals a missing row.
    package func isIndexed(
        _ document: Document, in shard: ShardID
    ) throws(StorageError) -> Bool {
        do throws(StorageError) {
            guard try self.document(document.key, in: shard) == document else { return false }
            // Earlier versions did not store the term `Term.item` for items that they received from
            // peers. An item without this term is still found; only some refusals are 404, not 403.
            for term in document.indexKeys where term != Term.item {
                guard try finds(document.key, by: term, in: shard) else { return false }
            }
            for dot in document.changedBy.dots {
                guard try leads(dot, to: document.key, in: shard) else { return false }
            }
            return true
        } catch .badRecord(_, _) {
            return false
        } catch .badIndex(_) {
            return false
        } catch {
            throw error
        }
    }

    private func leads(
        _ dot: Dot, to key: DocumentKey, in shard: ShardID
    ) throws(StorageError) -> Bool {
        var sought = Vector()
        sought.insert(dot)
        let before = dot.seq > 1 ? Dot(replica: dot.replica, seq: dot.seq - 1) : nil
        let found = try changes(
            in: shard, lackedBy: Vector(), of: sought, after: before, bytesMax: 1)
        return found.encodedDocuments.first?.key == key.encoded
    }
}
