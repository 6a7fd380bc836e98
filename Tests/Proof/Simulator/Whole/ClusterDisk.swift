import CRDT
import Chat
import Node
import Replication
import StorePort
import Wire

/// The disk of one machine as its processes see it: commits are queued, and each takes effect
/// completely or not at all.
actor ClusterDisk: Store {
    private struct Commit {
        let writes: [ShardWrite]
        let drops: [ShardID]
        let settings: [Setting]
        let ticket: UInt64
        /// The number of failed commits that the process knew of.
        let failuresKnown: Int
        /// Whether the commit must succeed on a full disk.
        let isUrgent: Bool
    }

    private nonisolated let executor: ClusterExecutor
    private var host: ClusterHost?
    private let shards: Int
    private var disk: SimDisk
    private(set) var settings: [String: [UInt8]] = [:]
    private var waiting: [Commit] = []
    /// The shards whose replicas the process has begun to drop, until the world takes note.
    private var dropsBegun: [ShardID] = []
    private var failures = 0
    private var failuresKnown = 0
    private var isFull = false
    private var isUrgent = false

    /// The limit of a batch in bytes; far smaller than the product's, so that pulls have several.
    private static let batchBytesMax = 400
    private static let sizeBytes: UInt64 = 1 << 40

    init(shards: Int, on executor: ClusterExecutor) {
        self.shards = shards
        self.executor = executor
        disk = SimDisk(shards: shards, batchBytesMax: ClusterDisk.batchBytesMax)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    // MARK: The world's side

    var headers: [ShardID: [UInt8]] {
        var found: [ShardID: [UInt8]] = [:]
        for (number, shard) in disk.state.shards.enumerated() {
            found[ShardID(UInt16(number))] = shard.header
        }
        return found
    }

    var bases: [ShardID: [UInt8]] {
        var found: [ShardID: [UInt8]] = [:]
        for (number, shard) in disk.state.shards.enumerated() {
            found[ShardID(UInt16(number))] = shard.base
        }
        return found
    }

    /// Sets the host of a starting process, which is notified of commits.
    func serve(_ host: ClusterHost) { self.host = host }

    var isWaiting: Bool { !waiting.isEmpty }

    func takeDropsBegun() -> [ShardID] {
        defer { dropsBegun = [] }
        return dropsBegun
    }

    func setFull(_ isFull: Bool) { self.isFull = isFull }

    /// Ends the first commit in the queue: it is applied, or it fails.
    func finish() -> (ticket: UInt64, failure: StoreFailure?)? {
        guard !waiting.isEmpty else { return nil }
        let commit = waiting.removeFirst()
        guard commit.failuresKnown == failures else { return (commit.ticket, .full) }
        guard !isFull || commit.isUrgent else {
            failures += 1
            return (commit.ticket, .full)
        }
        apply(commit)
        return (commit.ticket, nil)
    }

    /// Discards the commits of a process that is gone.
    ///
    /// - Parameter keepsFirst: whether the commit under way is applied without anybody being
    ///   notified.
    func onCrash(keepsFirst: Bool) {
        if keepsFirst, !isFull, let first = waiting.first, first.failuresKnown == failures {
            apply(first)
        }
        waiting = []
        failuresKnown = failures
        isUrgent = false
    }

    func wipe() {
        disk = SimDisk(shards: shards, batchBytesMax: ClusterDisk.batchBytesMax)
        settings = [:]
        waiting = []
    }

    func holds(_ key: DocumentKey) -> Bool {
        disk.state.shards.contains { $0.documents[key] != nil }
    }

    /// The bytes of every document on the disk.
    var documents: [DocumentKey: [UInt8]] { documents(without: []) }

    /// The bytes of the documents on the disk that a commit under way does not drop.
    var documentsKept: [DocumentKey: [UInt8]] {
        documents(without: Set(waiting.flatMap(\.drops).map { Int($0.number) }))
    }

    private func documents(without dropped: Set<Int>) -> [DocumentKey: [UInt8]] {
        var found: [DocumentKey: [UInt8]] = [:]
        for (number, shard) in disk.state.shards.enumerated() where !dropped.contains(number) {
            for (key, document) in shard.documents { found[key] = document.bytes }
        }
        return found
    }

    private func apply(_ commit: Commit) {
        for setting in commit.settings { settings[setting.name] = setting.value }
        for shard in commit.drops { disk.state.shards[Int(shard.number)] = ShardDisk() }
        for write in commit.writes {
            let shard = Int(write.shard.number)
            disk.state.shards[shard].header = write.header.encoded
            disk.state.shards[shard].claim = write.header
            if let base = write.base { disk.state.shards[shard].base = base }
            if write.isReindexed { disk.state.shards[shard].misindexed = [] }
            for key in write.removed { disk.state.shards[shard].remove(key) }
            for record in write.records {
                disk.state.shards[shard].put(
                    ShardDisk.StoredDocument(
                        bytes: record.bytes, changedBy: record.changedBy, time: record.time,
                        digest: Document.digest(of: record.key, bytes: record.bytes),
                        greatest: write.header.latest), at: record.key)
                disk.state.shards[shard].indexKeys[record.key] =
                    record.indexKeys.isEmpty ? nil : record.indexKeys
            }
            for run in write.runs { disk.state.shards[shard].put(run) }
        }
    }

    private func append(
        _ writes: [ShardWrite], _ drops: [ShardID], _ settings: [Setting], _ ticket: UInt64
    ) {
        waiting.append(
            Commit(
                writes: writes, drops: drops, settings: settings, ticket: ticket,
                failuresKnown: failuresKnown, isUrgent: isUrgent))
        dropsBegun += drops
        host?.appendEffect(.commit)
    }

    private var waitingBytes: Int {
        waiting.reduce(0) { sum, commit in
            sum
                + commit.writes.reduce(0) { $0 + $1.records.reduce(0) { $0 + $1.bytes.count } }
        }
    }
}

// MARK: The process's side

extension ClusterDisk {
    nonisolated func commit(
        _ writes: [ShardWrite], drops: [ShardID], settings: [Setting], ticket: UInt64
    ) {
        assumeIsolated { $0.append(writes, drops, settings, ticket) }
    }

    nonisolated var diskSpace: DiskSpace? {
        let isFull = assumeIsolated { $0.isFull }
        return DiskSpace(
            freeBytes: isFull ? 0 : ClusterDisk.sizeBytes, totalBytes: ClusterDisk.sizeBytes,
            logBytes: 0, isReserved: true)
    }

    nonisolated func setUrgent(_ isUrgent: Bool) { assumeIsolated { $0.isUrgent = isUrgent } }

    nonisolated func makeReserve() {}

    nonisolated func emptyLog() { assumeIsolated { $0.host?.appendEffect(.emptyLog) } }

    nonisolated func backUp(to file: String) {}

    nonisolated func check(
        _ shard: ShardID, after mark: (any CheckMark)?, rowsMax: Int
    ) throws(StoreFailure) -> CheckedPart {
        try read { disk throws(StoreFailure) in
            disk.check(shard, after: mark, rowsMax: rowsMax)
        }
    }

    nonisolated func resume() { assumeIsolated { $0.failuresKnown = $0.failures } }

    nonisolated var queuedBytes: Int { assumeIsolated { $0.waitingBytes } }

    private nonisolated func read<Value: Sendable>(
        _ body: @Sendable (SimDisk) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        try assumeIsolated { disk -> Result<Value, StoreFailure> in
            do throws(StoreFailure) {
                return .success(try body(disk.disk))
            } catch {
                return .failure(error)
            }
        }.get()
    }

    nonisolated func document(
        _ key: DocumentKey, in shard: ShardID
    ) throws(StoreFailure) -> Document? {
        try read { disk throws(StoreFailure) in try disk.document(key, in: shard) }
    }

    nonisolated func history(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StoreFailure) {
        let found = try read { disk throws(StoreFailure) in
            var list: [Document] = []
            try disk.history(of: conversation, in: shard, page: page) { document in
                list.append(document)
                return true
            }
            return list
        }
        for document in found { guard handing(document) else { return } }
    }

    nonisolated func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID, partition: String?
    ) throws(StoreFailure) -> [DocumentKey] {
        try read { disk throws(StoreFailure) in
            try disk.keys(of: kind, carrying: term, in: shard, partition: partition)
        }
    }

    nonisolated func countedRuns(
        of conversation: ConversationID, in shard: ShardID, level: UInt8,
        from start: HybridTimestamp, to end: HybridTimestamp
    ) throws(StoreFailure) -> [CountedRun] {
        try read { disk throws(StoreFailure) in
            try disk.countedRuns(
                of: conversation, in: shard, level: level, from: start, to: end)
        }
    }

    nonisolated func participantStates(
        of conversation: ConversationID, in shard: ShardID
    ) throws(StoreFailure) -> [Document] {
        try read { disk throws(StoreFailure) in
            try disk.participantStates(of: conversation, in: shard)
        }
    }

    nonisolated func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StoreFailure) -> (encodedDocuments: [EncodedDocument], next: Dot?) {
        try read { disk throws(StoreFailure) in
            try disk.changes(
                in: shard, lackedBy: theirs, of: ours, after: cursor, bytesMax: bytesMax)
        }
    }

    nonisolated func remainder(
        of shard: ShardID, without bad: [DocumentKey]
    ) throws(StoreFailure) -> Remainder {
        try read { disk throws(StoreFailure) in try disk.remainder(of: shard, without: bad) }
    }
}
