import CRDT
import Chat
import Node
import Replication
import StorePort
import Wire

/// One shard on one disk, as the bytes that were committed.
struct ShardDisk {
    struct StoredDocument {
        let bytes: [UInt8]
        let changedBy: Context
        let time: HybridTimestamp
        let digest: Hash128
        /// The greatest stamp in the document.
        let greatest: HybridTimestamp
        /// Whether a byte has flipped; a reader detects it by the checksum.
        var isBad = false
    }

    /// Whether a process that starts from this disk has no replica of the shard.
    var isEmpty: Bool { !claim.isAnything && keys.isEmpty }

    /// Nil before the first commit.
    var header: [UInt8]?
    /// The base that the header refers to; it is not rewritten with every header.
    var base: [UInt8]?
    /// The decoded header.
    var claim = ReplicaHeader(isComplete: false)
    var documents: [DocumentKey: StoredDocument] = [:]
    /// The keys of `documents`, ascending.
    var keys: [DocumentKey] = []
    /// The index: the index keys of each document that has any.
    var indexKeys: [DocumentKey: [String]] = [:]
    /// The index of counted runs.
    private(set) var runs: [CountedRunKey: CountedRun] = [:]
    /// The documents whose index rows are damaged; a row's checksum reveals the damage.
    var misindexed: Set<DocumentKey> = []
    /// The sum of the documents' digests, computed independently of the header.
    var digest = Hash128.zero
    /// The greatest stamp of a document that the node's clock believed when the document arrived.
    var believed = HybridTimestamp.zero

    mutating func put(_ document: StoredDocument, at key: DocumentKey) {
        if let old = documents.updateValue(document, forKey: key) {
            digest -= old.digest
        } else {
            keys.insert(key, at: keys.firstIndex { key < $0 } ?? keys.endIndex)
        }
        digest += document.digest
    }

    mutating func believe(_ time: HybridTimestamp) { believed = max(believed, time) }

    mutating func put(_ write: CountedRunWrite) { runs[write.key] = write.run }

    mutating func remove(_ key: DocumentKey) {
        if key.kind == .message {
            runs = runs.filter { $0.key.conversation.text != key.partition }
        }
        guard let old = documents.removeValue(forKey: key) else { return }
        indexKeys[key] = nil
        misindexed.remove(key)
        digest -= old.digest
        keys.removeAll { $0 == key }
    }

    /// The keys of the documents whose bytes are bad, ascending.
    var badKeys: [DocumentKey] { keys.filter { documents[$0]?.isBad ?? false } }

    /// Returns the header of the documents that remain without `bad`.
    func header(without bad: Set<DocumentKey>) -> ReplicaHeader {
        var vector = Vector()
        var (digest, greatest) = (Hash128.zero, HybridTimestamp.zero)
        var counts: [UInt64] = []
        for key in keys where !bad.contains(key) {
            guard let stored = documents[key] else { continue }
            vector.insert(stored.changedBy)
            digest += stored.digest
            greatest = max(greatest, stored.greatest)
            while counts.count <= Int(key.kind.number) { counts.append(0) }
            counts[Int(key.kind.number)] += 1
        }
        return ReplicaHeader(
            remaining: vector, digest: digest, counts: counts, greatest: greatest)
    }
}

/// The state of one disk.
struct DiskState {
    var shards: [ShardDisk]

    init(shards: Int) { self.shards = Array(repeating: ShardDisk(), count: shards) }
}
