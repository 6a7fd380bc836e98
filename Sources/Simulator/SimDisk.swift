import CRDT
import Chat
import Node
import Replication
import Wire

/// A simulated disk: commits wait in line, each is there as a whole or not at all.
///
/// Time is the world's: it says when the first in line is done.
final class SimDisk {
    /// What one commit writes, as bytes.
    struct Commit {
        struct Part {
            let shard: Int
            let header: [UInt8]
            /// Nil where that on the disk stays as it is.
            let base: [UInt8]?
            let records: [Record]
            let removed: [DocumentKey]
            let runs: [CountedRunWrite]
            let isReindexed: Bool
            /// The copy goes, with all that is in it.
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

            /// What is set aside.
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
        /// The earliest that the node's clock showed since the commit before was handed in; nil
        /// where it has forgotten since what it had seen.
        var wall: WallTime?
    }

    var state: DiskState
    /// Put back by a `restore`.
    var snapshot: DiskState?
    private(set) var waiting: [Commit] = []
    var isWriting = false
    /// Grows with every crash, so that what was begun before it is never finished.
    private(set) var epoch = 0
    /// Commits fail.
    var isFull = false
    /// How many faults make every commit take half a second.
    var isSlow = 0
    /// A commit failed: all that were handed in since fail too, until `resume`.
    private(set) var hasFailed = false
    /// How large a batch of changes may be here: far smaller than a real one, so that pulls have
    /// several.
    let batchBytesMax: Int

    /// - Parameter reader: limits that differ from run to run.
    init(shards: Int, batchBytesMax: Int) {
        state = DiskState(shards: shards)
        self.batchBytesMax = batchBytesMax
    }

    var isEmpty: Bool { state.shards.allSatisfy(\.isEmpty) }

    /// Writes what says that the cluster begins with this copy.
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

    /// The node's clock forgets what it has seen.
    func forgetTimes() {
        for index in waiting.indices { waiting[index].wall = nil }
        for shard in state.shards.indices { state.shards[shard].believed = .zero }
    }

    /// The commit under way is over.
    ///
    /// - Returns: it, and whether it failed.
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

    /// Forgets all that is not done.
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
