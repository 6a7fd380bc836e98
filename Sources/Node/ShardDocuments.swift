import CRDT
import Chat
import Wire

/// What a commit does to one document on disk.
package struct DocumentChange: Sendable {
    /// Nil where it was not there.
    package let before: Document?
    /// What it was in between, in order.
    package let steps: [Document]
    package let after: Document
    /// What others had of it, who did not know all that was here; in the order in which it came.
    package var crossed: [Document] = []
}

/// The documents of a shard that are in memory: those on their way to disk, and some that are
/// there.
struct ShardDocuments: Sendable {
    /// A document that the disk does not hold yet as it is here.
    struct Pending: Sendable {
        var document: Document
        var digest: Hash128
        /// How many canonical bytes it has.
        var size: Int
        /// Its canonical bytes, until they are handed to the disk.
        var bytes: [UInt8]?
        /// What the disk will hold when the next write of it arrives.
        var previous: Record.Previous?
        /// The last commit it was handed to; 0 before the first.
        var ticket: UInt64
        /// As the last commit that it was handed to stores it; before the first, as the disk has
        /// it.
        var base: Document?
        /// What it was since then, in order, before what it is.
        var steps: [Document] = []
        /// What came since then that did not know all that was here.
        var crossed: [Document] = []

        var found: Found { Found(document: document, digest: digest, size: size) }

        /// Whether the disk holds it as it is once that commit is there.
        func isStored(by ticket: UInt64) -> Bool { bytes == nil && self.ticket <= ticket }

        #if PlantedBugs
            /// Whether the index is not told of the change.
            var keepsIndexKeys = false
        #endif

        /// What the commit is to store, and what it changes by that; nil where it has it already.
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
            return Record(of: document, bytes: bytes, previous: previous)
        }
    }

    /// A document as it was found, with what is needed to change it.
    struct Found: Sendable {
        let document: Document
        let digest: Hash128
        /// How many canonical bytes it has.
        let size: Int
    }

    /// How many documents stay in memory that are on disk too.
    ///
    /// What nobody touches leaves: when it is full, all of them go.
    static let cachedMax = 512

    private(set) var pending: [DocumentKey: Pending] = [:]
    /// None of what is pending.
    private var cached: [DocumentKey: Found] = [:]
    /// Changed since the last commit was handed out, in order.
    private var changed: [DocumentKey] = []
    /// What was handed out with which commit, and how many bytes that rewrote.
    private var handedOut: [(ticket: UInt64, changes: [DocumentChange], rewritten: Int)] = []
    /// The bytes of the documents that were changed since the last commit was handed out: a
    /// document counts for each change.
    private var rewritten = 0
    /// The same of all that is not on disk yet.
    private(set) var unsettledBytes = 0

    mutating func find(
        _ key: DocumentKey, in shard: ShardID, reader: any DocumentReader
    ) throws(StoreFailure) -> Found? {
        // It is in one of the two; what is asked for most often is the conversation written to.
        if let found = cached[key] { return found }
        if let entry = pending[key] { return entry.found }
        guard let document = try reader.document(key, in: shard) else { return nil }
        let (bytes, digest) = document.encodedWithDigest
        let found = Found(document: document, digest: digest, size: bytes.count)
        cache(found)
        return found
    }

    /// Keeps a changed document until it is on disk.
    ///
    /// - Parameter old: as it was found; nil where there was none.
    mutating func put(_ document: Document, bytes: [UInt8], digest: Hash128, replacing old: Found?)
    {
        let key = document.key
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

    /// What was put last is what came joined with what was here.
    mutating func noteCrossed(_ theirs: Document) { pending[theirs.key]?.crossed.append(theirs) }

    #if PlantedBugs
        mutating func keepIndexKeys(of key: DocumentKey) { pending[key]?.keepsIndexKeys = true }
    #endif

    /// Whether it changed since the last commit was handed out.
    func isHandedOutLater(_ key: DocumentKey) -> Bool { pending[key]?.bytes != nil }

    /// Hands what changed to the commit `ticket`.
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

    /// - Returns: what is on disk by it that was not, in the order in which it was changed.
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
                // A message is seldom asked for again; who writes in a conversation always reads
                // it.
                if key.kind != .message {
                    cache(entry.found)
                }
            }
        }
        return stored
    }

    /// What the disk holds of a document, as far as commits are known to be done.
    ///
    /// A read of the disk may show a commit that nobody has heard of yet.
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

    /// Back to what is on disk.
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
