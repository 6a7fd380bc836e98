import CRDT
import Chat
import Replication
import StorePort
import Wire

/// The change of one document by a commit.
package struct DocumentChange: Sendable {
    /// The document before the change; nil if the document is new.
    package let before: Document?
    /// The states between `before` and `after`, in order.
    package let steps: [Document]
    package let after: Document
    /// The merged states of other nodes that lacked changes of this node's state, in merge order.
    package var crossed: [Document] = []
}

/// The documents of a shard that are in memory: the documents that wait for the disk, and a cache
/// of other documents.
struct ShardDocuments: Sendable {
    /// A document whose present state is not on disk.
    struct Pending: Sendable {
        var document: Document
        var digest: Hash128
        /// The length of the canonical bytes.
        var size: Int
        /// The canonical bytes; nil once a commit includes them.
        var bytes: [UInt8]?
        /// The state of the document's index rows on disk before the next write of the document.
        var previous: Record.Previous?
        /// The number of the last commit that includes the document; 0 before the first commit.
        var ticket: UInt64
        /// The document as the last commit stores it; before the first commit, the document on
        /// disk.
        var base: Document?
        /// The states since `base`, in order, without the present state.
        var steps: [Document] = []
        /// The merged states of other nodes since `base` that lacked changes of this node's state.
        var crossed: [Document] = []

        var found: Found { Found(document: document, digest: digest, size: size) }

        /// Whether the disk has the present state once the commit `ticket` is stored.
        func isStored(by ticket: UInt64) -> Bool { bytes == nil && self.ticket <= ticket }

        #if PlantedBugs
            /// Whether the index is not updated.
            var keepsIndexKeys = false
        #endif

        /// Returns the record to store and its change; nil if a commit already includes this state.
        mutating func handOut(_ ticket: UInt64) -> (record: Record, change: DocumentChange)? {
            guard let bytes else { return nil }
            let record = record(bytes)
            let change = DocumentChange(
                before: base, steps: steps, after: document, crossed: crossed)
            self.bytes = nil
            previous = Record.Previous(
                changedBy: record.changedBy, time: record.time, indexKeys: record.indexKeys)
            self.ticket = ticket
            base = document
            steps = []
            crossed = []
            return (record, change)
        }

        private func record(_ bytes: [UInt8]) -> Record {
            #if PlantedBugs
                if keepsIndexKeys {
                    return Record(
                        key: document.key, changedBy: document.changedBy,
                        time: document.historyTime, bytes: bytes,
                        indexKeys: previous?.indexKeys ?? [],
                        previous: previous, purges: document.purges)
                }
            #endif
            return Record(of: document, bytes: bytes, previous: previous, over: base)
        }
    }

    /// A document, with the digest and the size that are needed to change it.
    struct Found: Sendable {
        let document: Document
        let digest: Hash128
        /// The length of the canonical bytes.
        let size: Int
    }

    /// The greatest number of cached documents.
    ///
    /// The cache is emptied when this number is reached; documents in use are soon cached again.
    static let cachedMax = 512

    private(set) var pending: [DocumentKey: Pending] = [:]
    /// Whether a user of the shard has ever blocked another user; nil while this is unknown.
    var haveBlocks: Bool?
    /// Documents that are on disk; none of them is in `pending`.
    private var cached: [DocumentKey: Found] = [:]
    /// The documents that have changed since the last commit began, in order.
    private var changed: [DocumentKey] = []
    /// The changes of each commit that is underway, and the number of bytes that it writes.
    private var handedOut: [(ticket: UInt64, changes: [DocumentChange], rewritten: Int)] = []
    /// The size in bytes of the documents that have changed since the last commit began; a document
    /// counts once for each change.
    private var rewritten = 0
    /// The size in bytes of all changed documents that are not on disk yet.
    private(set) var unsettledBytes = 0

    /// The changes of each list that is read in slices, since its reading began, by slot.
    private var readings: [ReplySlot: ListReading.Changes] = [:]

    mutating func find(
        _ key: DocumentKey, in shard: ShardID, reader: any DocumentReader
    ) throws(StoreFailure) -> Found? {
        // A document is not both cached and pending. The cache is searched first, since
        // conversations in use are read most often.
        if let found = cached[key] { return found }
        if let entry = pending[key] { return entry.found }
        guard let document = try reader.document(key, in: shard) else { return nil }
        let (bytes, digest) = document.encodedWithDigest
        let found = Found(document: document, digest: digest, size: bytes.count)
        if key.kind != .filePart { cache(found) }
        return found
    }

    /// Keeps a changed document in memory until the document is on disk.
    ///
    /// - Parameter old: the document before the change; nil for a new document.
    mutating func put(_ document: Document, bytes: [UInt8], digest: Hash128, replacing old: Found?)
    {
        let key = document.key
        if key.kind == .blocks { haveBlocks = true }
        for slot in readings.keys { readings[slot]?.note(document) }
        rewritten += bytes.count
        unsettledBytes += bytes.count
        if old != nil, let index = pending.index(forKey: key) {
            if pending.values[index].bytes == nil {
                changed.append(key)
            } else {
                pending.values[index].steps.append(pending.values[index].document)
            }
            pending.values[index].document = document
            pending.values[index].digest = digest
            pending.values[index].size = bytes.count
            pending.values[index].bytes = bytes
            return
        }
        changed.append(key)
        if old != nil { cached[key] = nil }
        let previous = old.map { Record.Previous(of: $0.document) }
        pending[key] = Pending(
            document: document, digest: digest, size: bytes.count, bytes: bytes,
            previous: previous, ticket: 0, base: old?.document)
    }

    // MARK: Lists

    /// Begins to record the changes of a list that is read in slices.
    mutating func follow(_ slot: ReplySlot, _ reading: ListReading) {
        if readings[slot] == nil { readings[slot] = ListReading.Changes(of: reading) }
    }

    func isFollowed(_ slot: ReplySlot) -> Bool { readings[slot] != nil }

    mutating func takeChanges(for slot: ReplySlot) -> [DocumentKey] {
        readings[slot]?.takeAll() ?? []
    }

    mutating func unfollow(_ slot: ReplySlot) { readings[slot] = nil }

    /// Records that the last `put` stored the merge of another node's state with this node's state.
    mutating func noteCrossed(_ theirs: Document) { pending[theirs.key]?.crossed.append(theirs) }

    #if PlantedBugs
        mutating func keepIndexKeys(of key: DocumentKey) { pending[key]?.keepsIndexKeys = true }
    #endif

    /// Returns whether the document has changed since the last commit began.
    func isHandedOutLater(_ key: DocumentKey) -> Bool { pending[key]?.bytes != nil }

    /// Returns the records of the changed documents for the commit `ticket`.
    mutating func takeRecords(for ticket: UInt64) -> [Record] {
        guard !changed.isEmpty else { return [] }
        var changes: [DocumentChange] = []
        changes.reserveCapacity(changed.count)
        var records: [Record] = []
        records.reserveCapacity(changed.count)
        for key in changed {
            guard let index = pending.index(forKey: key),
                let (record, change) = pending.values[index].handOut(ticket)
            else { continue }
            records.append(record)
            changes.append(change)
        }
        handedOut.append((ticket, changes, rewritten))
        rewritten = 0
        changed.removeAll(keepingCapacity: changed.count <= ShardDocuments.cachedMax)
        return records
    }

    /// - Returns: the changes that the commit and earlier commits have stored, in order.
    mutating func onCommitted(_ ticket: UInt64) -> [DocumentChange] {
        var stored: [DocumentChange] = []
        while let first = handedOut.first, first.ticket <= ticket {
            handedOut.removeFirst()
            unsettledBytes -= first.rewritten
            stored = stored.isEmpty ? first.changes : stored + first.changes
            for key in first.changes.lazy.map(\.after.key) {
                guard let index = pending.index(forKey: key),
                    pending.values[index].isStored(by: ticket)
                else { continue }
                let entry = pending.remove(at: index).value
                // A message is seldom read again, and the part of a file is large; a conversation's
                // document is read for every write in the conversation.
                if key.kind != .message, key.kind != .filePart {
                    cache(entry.found)
                }
            }
        }
        return stored
    }

    /// Returns a document in the state after all commits that are known to be stored.
    ///
    /// A read of the disk may already show a later commit.
    func stored(
        _ key: DocumentKey, otherwise read: () throws(StoreFailure) -> Document?
    ) throws(StoreFailure) -> Document? {
        guard let entry = pending[key] else { return try read() }
        for commit in handedOut {
            if let change = commit.changes.first(where: { $0.after.key == key }) {
                return change.before
            }
        }
        return entry.base
    }

    /// Drops all documents in memory, which returns to the state on disk.
    mutating func removeAll() {
        self = ShardDocuments()
    }

    private mutating func cache(_ found: Found) {
        if cached.count >= ShardDocuments.cachedMax {
            cached.removeAll(keepingCapacity: true)
        }
        cached[found.document.key] = found
    }
}
