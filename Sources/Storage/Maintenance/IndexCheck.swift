import CRDT
import Chat
import Replication
import StorePort
import Wire

extension Reader {
    /// Reads the next documents of a shard, at most `rowsMax`, and checks their bytes and that
    /// every index leads to them.
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
            // Not damage: a reader gets the error. What the document adds to the sums is not known.
            part.isKnown = false
            return
        } catch {
            return part.add(bad: key)
        }
        part.add(document, bytes: bytes, isIndexed: try isIndexed(document, in: shard))
    }

    /// Whether a document is stored in this state and is found by its key, by its terms and by each
    /// of its seqs.
    ///
    /// This compares the index with the documents, since a missing row has no checksum that fails.
    package func isIndexed(
        _ document: Document, in shard: ShardID
    ) throws(StorageError) -> Bool {
        do throws(StorageError) {
            guard try self.document(document.key, in: shard) == document else { return false }
            // An earlier version stored no term of all items for those that it replicated. Without
            // it an item is found all the same; only a refusal is 404 in place of 403.
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
