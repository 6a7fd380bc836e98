import CRDT
import Chat
import Node
import Replication
import StorePort
import Wire

/// A simulated disk: commits are queued, and each takes effect completely or not at all.
///
/// The world decides when the first commit in the queue is done.
final class SimDisk {
    /// The writes of one commit, as bytes.
    struct Commit {
        struct Part {
            let shard: Int
            let header: [UInt8]
            /// The base of the header's vector; nil if the base on the disk stays.
            let base: [UInt8]?
            let records: [Record]
            let removed: [DocumentKey]
            let runs: [CountedRunWrite]
            let isReindexed: Bool
            /// Whether the shard replica is dropped with all its documents.
            let isDrop: Bool

            init(_ write: ShardWrite) {
                shard = Int(write.shard.number)
                header = write.header.encoded
                base = write.base
                records = write.records
                removed = write.removed
                runs = write.runs
                isReindexed = write.isReindexed
                isDrop = false
            }

            /// The removal of bad documents.
            init(removing keys: [DocumentKey], of shard: Int, header: [UInt8]) {
                self.shard = shard
                self.header = header
                base = nil
                records = []
                removed = keys
                runs = []
                isReindexed = true
                isDrop = false
            }

            init(dropping shard: Int) {
                self.shard = shard
                header = []
                base = nil
                records = []
                removed = []
                runs = []
                isReindexed = false
                isDrop = true
            }
        }

        let ticket: UInt64
        let parts: [Part]
        /// The earliest time that the node's clock showed since the turn before; nil if the clock
        /// has forgotten since then what it had seen.
        var wall: WallTime?
    }

    var state: DiskState
    /// The state that a `restore` puts back.
    var snapshot: DiskState?
    private(set) var waiting: [Commit] = []
    var isWriting = false
    /// The number of crashes and failures; a write that began before one never completes.
    private(set) var epoch = 0
    /// Whether commits fail.
    var isFull = false
    /// The number of active faults that make every commit take half a second.
    var isSlow = 0
    /// Whether a commit has failed; all commits handed in since then fail too, until `resume`.
    private(set) var hasFailed = false
    /// The limit of a batch of changes, in bytes; far smaller than the product's, so that pulls
    /// have several batches.
    let batchBytesMax: Int

    /// - Parameter batchBytesMax: differs from run to run.
    init(shards: Int, batchBytesMax: Int) {
        state = DiskState(shards: shards)
        self.batchBytesMax = batchBytesMax
    }

    var isEmpty: Bool { state.shards.allSatisfy(\.isEmpty) }

    /// Writes the headers of complete, empty shards: the cluster begins with this disk.
    func found() {
        for shard in state.shards.indices {
            state.shards[shard].claim = ReplicaHeader(isComplete: true)
            state.shards[shard].header = state.shards[shard].claim.encoded
        }
    }

    func hand(
        in writes: [ShardWrite], dropping drops: [Commit.Part], ticket: UInt64, at wall: WallTime?
    ) {
        let parts = writes.map(Commit.Part.init)
        waiting.append(Commit(ticket: ticket, parts: parts + drops, wall: wall))
    }

    /// Removes the times that the node's clock has seen, when the clock forgets them.
    func forgetTimes() {
        for index in waiting.indices { waiting[index].wall = nil }
        for shard in state.shards.indices { state.shards[shard].believed = .zero }
    }

    /// Ends the write under way.
    ///
    /// - Returns: its commit, and whether it failed; nil if no commit waits.
    func finish() -> (commit: Commit, isFailed: Bool)? {
        isWriting = false
        guard !waiting.isEmpty else { return nil }
        let commit = waiting.removeFirst()
        if isFull { hasFailed = true }
        return (commit, hasFailed)
    }

    func resume() {
        abandon()
        hasFailed = false
    }

    /// Discards all commits that are not done.
    func abandon() {
        waiting = []
        isWriting = false
        epoch += 1
    }

    func onCrash() {
        abandon()
        hasFailed = false
    }
}

extension SimDisk: DocumentReader {
    func document(_ key: DocumentKey, in shard: ShardID) throws(StoreFailure) -> Document? {
        guard let stored = state.shards[Int(shard.number)].documents[key] else { return nil }
        return try read(stored, at: key)
    }

    func history(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StoreFailure) {
        let disk = state.shards[Int(shard.number)]
        var found: [(position: HistoryPosition, key: DocumentKey)] = []
        for key in disk.keys where key.kind == .message && key.partition == conversation.text {
            guard let time = disk.documents[key]?.time, let id = MessageID(key.id) else { continue }
            let position = HistoryPosition(time: time, id: id)
            if page.admits(position) { found.append((position, key)) }
        }
        found.sort { page.isDescending ? $0.position > $1.position : $0.position < $1.position }
        for (_, key) in found {
            guard let stored = disk.documents[key] else { continue }
            guard handing(try read(stored, at: key)) else { return }
        }
    }

    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID, partition: String?
    ) throws(StoreFailure) -> [DocumentKey] {
        state.shards[Int(shard.number)].indexKeys.keys.filter { key in
            key.kind == kind && partition.map { $0 == key.partition } ?? true
                && state.shards[Int(shard.number)].indexKeys[key]?.contains(term) ?? false
        }.sorted()
    }

    func countedRuns(
        of conversation: ConversationID, in shard: ShardID, level: UInt8,
        from start: HybridTimestamp, to end: HybridTimestamp
    ) throws(StoreFailure) -> [CountedRun] {
        state.shards[Int(shard.number)].runs
            .filter { $0.key.conversation == conversation && $0.key.level == level }
            .values.sorted { $0.start < $1.start }
    }

    func participantStates(
        of conversation: ConversationID, in shard: ShardID
    ) throws(StoreFailure) -> [Document] {
        let disk = state.shards[Int(shard.number)]
        var participantStates: [Document] = []
        for key in disk.keys
        where key.kind == .participantState && key.partition == conversation.text {
            guard let stored = disk.documents[key] else { continue }
            participantStates.append(try read(stored, at: key))
        }
        return participantStates
    }

    func remainder(
        of shard: ShardID, without bad: [DocumentKey]
    ) throws(StoreFailure) -> Remainder {
        let disk = state.shards[Int(shard.number)]
        let found = disk.badKeys
        return Remainder(
            header: disk.header(without: Set(bad + found)), bad: found.filter { !bad.contains($0) })
    }

    func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StoreFailure) -> (encodedDocuments: [EncodedDocument], next: Dot?) {
        let disk = state.shards[Int(shard.number)]
        var found: [(dot: Dot, key: DocumentKey)] = []
        for key in disk.keys {
            for dot in disk.documents[key]?.changedBy.dots ?? []
            where !theirs.contains(dot) && !ours.seqs(of: dot.replica).isEmpty {
                if let cursor, dot <= cursor { continue }
                found.append((dot, key))
            }
        }
        found.sort { $0.dot < $1.dot }
        var encodedDocuments: [EncodedDocument] = []
        var taken: Set<DocumentKey> = []
        var size = 0
        for (index, (dot, key)) in found.enumerated() {
            guard let stored = disk.documents[key], !taken.contains(key) else { continue }
            guard !disk.misindexed.contains(key) else { throw .badIndex }
            guard !stored.isBad else { throw .badRecord(key) }
            let encodedDocument = EncodedDocument(key: key.encoded, bytes: stored.bytes)
            if !encodedDocuments.isEmpty, size + encodedDocument.size > min(bytesMax, batchBytesMax)
            {
                return (encodedDocuments, index > 0 ? found[index - 1].dot : dot)
            }
            encodedDocuments.append(encodedDocument)
            taken.insert(key)
            size += encodedDocument.size
        }
        return (encodedDocuments, nil)
    }

    private func read(
        _ stored: ShardDisk.StoredDocument, at key: DocumentKey
    ) throws(StoreFailure) -> Document {
        guard !stored.isBad else { throw .badRecord(key) }
        do throws(WireError) {
            return try Document(key, decoding: stored.bytes)
        } catch {
            throw .failed("\(key) does not decode: \(error)")
        }
    }
}
