import CRDT
import Chat
import Node
import Replication
import StorePort
import TestKit
import Wire

/// An executor that runs every job at once: all of a test is one thread.
final class InlineExecutor: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        job.runSynchronously(on: asUnownedSerialExecutor())
    }

    func checkIsolated() {}

    func isIsolatingCurrentContext() -> Bool? { true }
}

/// A clock that stands still until the test moves it.
final class FakeClock: Clock {
    nonisolated(unsafe) var milliseconds: UInt64 = 10_000
    nonisolated(unsafe) var wallMilliseconds: UInt64 = 1_800_000_000_000
    /// How long each look at the finer time takes.
    nonisolated(unsafe) var microsecondsOfLook: UInt64 = 0
    private nonisolated(unsafe) var looked: UInt64 = 0

    var microseconds: UInt64 {
        looked += microsecondsOfLook
        return milliseconds * 1_000 + looked
    }

    func pass(_ milliseconds: UInt64) {
        self.milliseconds += milliseconds
        wallMilliseconds += milliseconds
    }
}

/// The clocks of one machine, whose wall clock may be wrong.
final class WrongClock: Clock {
    private let right: FakeClock
    nonisolated(unsafe) var aheadMilliseconds: Int64 = 0

    init(_ right: FakeClock) { self.right = right }

    var milliseconds: UInt64 { right.milliseconds }

    var microseconds: UInt64 { right.microseconds }

    var wallMilliseconds: UInt64 {
        UInt64(Int64(right.wallMilliseconds) + aheadMilliseconds)
    }
}

final class SeededEntropy: Entropy {
    nonisolated(unsafe) private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    func next() -> UInt64 { random.next() }
}

/// A disk in memory; commits wait until the test completes or fails them.
final class MemoryStore: Store {
    struct Commit {
        let writes: [ShardWrite]
        let drops: [ShardID]
        let settings: [Setting]
        let ticket: UInt64
    }

    nonisolated(unsafe) private(set) var documents: [ShardID: [DocumentKey: Record]] = [:]
    nonisolated(unsafe) private(set) var headers: [ShardID: ReplicaHeader] = [:]
    nonisolated(unsafe) private(set) var bases: [ShardID: [UInt8]] = [:]
    nonisolated(unsafe) private(set) var runs: [CountedRunKey: CountedRun] = [:]
    /// The number of messages and runs that were read.
    nonisolated(unsafe) var rowsRead = 0
    nonisolated(unsafe) private(set) var settings: [String: [UInt8]] = [:]
    nonisolated(unsafe) private(set) var waiting: [Commit] = []
    /// The keys of applied records that stated a previous state which the disk did not hold.
    nonisolated(unsafe) private(set) var lies: [DocumentKey] = []
    nonisolated(unsafe) private(set) var resumptions = 0
    /// Called with each shard whose replica is about to be dropped.
    nonisolated(unsafe) var onDrop: (ShardID) -> Void = { _ in }
    nonisolated(unsafe) var queuedBytes = 0
    nonisolated(unsafe) var diskSpace: DiskSpace?
    nonisolated(unsafe) private(set) var isUrgent = false
    nonisolated(unsafe) private(set) var reservesMade = 0
    nonisolated(unsafe) private(set) var logsEmptied = 0
    nonisolated(unsafe) private(set) var backupsBegun: [String] = []
    nonisolated(unsafe) private(set) var rowsAsked: [Int] = []
    /// The greatest size of a batch of changes, in bytes, even where more is asked for.
    nonisolated(unsafe) var changesBytesMax = Int.max
    /// Documents to which no index leads.
    nonisolated(unsafe) var unindexed: Set<DocumentKey> = []
    /// Bytes that a later version wrote after each header.
    nonisolated(unsafe) var headerTail: [UInt8] = []
    /// Documents to which damaged rows of an index lead.
    nonisolated(unsafe) var misindexed: Set<DocumentKey> = []
    nonisolated(unsafe) private(set) var lossesForgotten = 0

    init() {}

    /// Creates a copy of a disk.
    init(copying other: MemoryStore) {
        documents = other.documents
        headers = other.headers
        bases = other.bases
        settings = other.settings
    }

    func commit(
        _ writes: [ShardWrite], drops: [ShardID], settings: [Setting], ticket: UInt64
    ) {
        waiting.append(
            Commit(writes: writes, drops: drops, settings: settings, ticket: ticket))
    }

    func resume() { resumptions += 1 }

    func setUrgent(_ isUrgent: Bool) { self.isUrgent = isUrgent }

    func makeReserve() { reservesMade += 1 }

    func emptyLog() { logsEmptied += 1 }

    func forgetLoss() { lossesForgotten += 1 }

    func backUp(to file: String) { backupsBegun.append(file) }

    /// Checks documents in the order of keys, at most `rowsMax`.
    func check(
        _ shard: ShardID, after mark: (any CheckMark)?, rowsMax: Int
    ) throws(StoreFailure) -> CheckedPart {
        rowsAsked.append(rowsMax)
        var part = CheckedPart()
        let after = (mark as? KeyMark)?.key
        let keys = (documents[shard] ?? [:]).keys.sorted().filter { key in
            after.map { $0 < key } ?? true
        }
        for key in keys.prefix(rowsMax) {
            guard let record = documents[shard]?[key] else { continue }
            do throws(StoreFailure) {
                let isIndexed = !unindexed.contains(key) && !misindexed.contains(key)
                part.add(try decode(record), bytes: record.bytes, isIndexed: isIndexed)
            } catch {
                part.add(bad: key)
            }
        }
        if keys.count > rowsMax { part.next = KeyMark(key: keys[rowsMax - 1]) }
        return part
    }

    /// Stores the oldest commit that waits.
    func completeFirst() -> UInt64? {
        guard let commit = takeFirst() else { return nil }
        for shard in commit.drops {
            onDrop(shard)
            headers[shard] = nil
            bases[shard] = nil
            documents[shard] = nil
        }
        for write in commit.writes { apply(write) }
        for setting in commit.settings { settings[setting.name] = setting.value }
        return commit.ticket
    }

    /// Removes the oldest commit that waits without storing it.
    func takeFirst() -> Commit? { waiting.isEmpty ? nil : waiting.removeFirst() }

    func apply(_ write: ShardWrite) {
        headers[write.shard] = write.header
        if let base = write.base { bases[write.shard] = base }
        if write.isReindexed {
            let keys = Set((documents[write.shard] ?? [:]).keys)
            unindexed.subtract(keys)
            misindexed.subtract(keys)
        }
        for key in write.removed { documents[write.shard]?[key] = nil }
        for write in write.runs { runs[write.key] = write.run }
        for record in write.records {
            if unindexed.remove(record.key) != nil {
                documents[write.shard, default: [:]][record.key] = record
                continue
            }
            let held = documents[write.shard]?[record.key]
            if held?.changedBy != record.previous?.changedBy || held?.time != record.previous?.time
                || held?.indexKeys != record.previous?.indexKeys
            {
                lies.append(record.key)
            }
            documents[write.shard, default: [:]][record.key] = record
        }
    }

    /// Drops what is lost with a process: commits that were not stored.
    func crash() { waiting = [] }

    func document(_ key: DocumentKey, in shard: ShardID) throws(StoreFailure) -> Document? {
        guard let record = documents[shard]?[key] else { return nil }
        return try decode(record)
    }

    private func decode(_ record: Record) throws(StoreFailure) -> Document {
        do throws(WireError) {
            return try Document(record.key, decoding: record.bytes)
        } catch {
            throw .badRecord(record.key)
        }
    }

    func remainder(
        of shard: ShardID, without bad: [DocumentKey]
    ) throws(StoreFailure) -> Remainder {
        var (vector, digest, counts) = (Vector(), Hash128.zero, [UInt64](repeating: 0, count: 4))
        for record in (documents[shard] ?? [:]).values where !bad.contains(record.key) {
            vector.insert(record.changedBy)
            digest += Document.digest(of: record.key, bytes: record.bytes)
            counts[Int(record.key.kind.number)] += 1
        }
        let header = ReplicaHeader(
            remaining: vector, digest: digest, counts: counts,
            greatest: headers[shard]?.greatest ?? .zero)
        return Remainder(header: header, bad: [])
    }

    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID, partition: String?
    ) throws(StoreFailure) -> [DocumentKey] {
        (documents[shard] ?? [:]).values.filter { record in
            record.key.kind == kind && record.indexKeys.contains(term)
                && (partition.map { $0 == record.key.partition } ?? true)
        }.map(\.key).sorted()
    }

    func participantStates(
        of conversation: ConversationID, in shard: ShardID
    ) throws(StoreFailure) -> [Document] {
        var participantStates: [Document] = []
        for record in (documents[shard] ?? [:]).values.sorted(by: { $0.key < $1.key })
        where record.key.kind == .participantState && record.key.partition == conversation.text {
            participantStates.append(try decode(record))
        }
        return participantStates
    }

    func history(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StoreFailure) {
        let records = (documents[shard] ?? [:]).values.filter { record in
            guard record.key.kind == .message, record.key.partition == conversation.text,
                let id = MessageID(record.key.id)
            else { return false }
            return page.admits(HistoryPosition(time: record.time, id: id))
        }
        let ascending = records.sorted { ($0.time, $0.key.id) < ($1.time, $1.key.id) }
        for record in page.isDescending ? ascending.reversed() : ascending {
            rowsRead += 1
            guard handing(try decode(record)) else { return }
        }
    }

    /// Returns as few runs as the port allows.
    func countedRuns(
        of conversation: ConversationID, in shard: ShardID, level: UInt8,
        from start: HybridTimestamp, to end: HybridTimestamp
    ) throws(StoreFailure) -> [CountedRun] {
        let all = runs.filter { $0.key.conversation == conversation && $0.key.level == level }
            .values.sorted { $0.start < $1.start }
        let first = all.last { $0.start <= start }?.start ?? start
        let found = all.filter { $0.start >= first && ($0.start <= start || $0.start < end) }
        rowsRead += found.count
        return found
    }

    func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StoreFailure) -> (encodedDocuments: [EncodedDocument], next: Dot?) {
        let replicas = Set(ours.entries.map(\.replica))
        var rows: [(dot: Dot, record: Record)] = []
        for record in (documents[shard] ?? [:]).values where !unindexed.contains(record.key) {
            for dot in record.changedBy.dots
            where replicas.contains(dot.replica) && !theirs.contains(dot) {
                rows.append((dot, record))
            }
        }
        rows.sort { $0.dot < $1.dot }
        var encodedDocuments: [EncodedDocument] = []
        var taken: Set<DocumentKey> = []
        var size = 0
        var last: Dot?
        for row in rows where cursor.map({ $0 < row.dot }) ?? true {
            if misindexed.contains(row.record.key) { throw .badIndex }
            guard !taken.contains(row.record.key) else {
                last = row.dot
                continue
            }
            let encodedDocument = EncodedDocument(
                key: row.record.key.encoded, bytes: row.record.bytes)
            let most = min(bytesMax, changesBytesMax)
            if !encodedDocuments.isEmpty, size + encodedDocument.size > most {
                return (encodedDocuments, last)
            }
            taken.insert(row.record.key)
            encodedDocuments.append(encodedDocument)
            size += encodedDocument.size
            last = row.dot
        }
        return (encodedDocuments, nil)
    }
}

struct KeyMark: CheckMark {
    let key: DocumentKey
}

extension MemoryStore {
    /// Inverts a byte.
    func spoil(_ key: DocumentKey, in shard: ShardID) {
        change(key, in: shard) { $0[1] ^= 0xFF }
    }

    /// Removes a document without changing the header.
    func lose(_ key: DocumentKey, in shard: ShardID) { documents[shard]?[key] = nil }

    private func change(
        _ key: DocumentKey, in shard: ShardID, _ body: (inout [UInt8]) -> Void
    ) {
        guard let old = documents[shard]?[key] else { return }
        var bytes = old.bytes
        body(&bytes)
        documents[shard]?[key] = Record(
            key: key, changedBy: old.changedBy, time: old.time, bytes: bytes,
            indexKeys: old.indexKeys,
            previous: nil, purges: false)
    }
}

final class FakeHost: Host {
    nonisolated(unsafe) var dialed: [String] = []
    nonisolated(unsafe) var endings: [Ending] = []
    nonisolated(unsafe) var lines: [String] = []
    nonisolated(unsafe) var isReady = false
    nonisolated(unsafe) var wantsTurn = false
    let residentBytes: UInt64 = 0

    func dial(_ address: String) { dialed.append(address) }
    func onReady() { isReady = true }
    func end(_ ending: Ending) { endings.append(ending) }
    func turnAgain() { wantsTurn = true }
    func setClientsPaused(_ isPaused: Bool) {}
    func log(_ level: LogLevel, _ line: String) { lines.append(line) }
}

final class RecordingSink: ReplySink {
    nonisolated(unsafe) private(set) var outcomes: [UInt64: ReplyResult] = [:]

    /// The operations that may still be executed, as the node reported.
    nonisolated(unsafe) private(set) var unsettled = Unsettled()

    /// The last observation that was shown to it.
    nonisolated(unsafe) private(set) var shown: Observation?
    /// All observations of the last list, or of the last read.
    nonisolated(unsafe) private(set) var allShown: [Observation] = []
    /// For how many large lists there is memory.
    nonisolated(unsafe) var memory = Int.max
    /// The numbers of the lists that waited for memory.
    nonisolated(unsafe) private(set) var delayed: [UInt64] = []

    func onListDelayed(_ number: UInt64) { delayed.append(number) }

    func reserveList(_ number: UInt64, _ bytes: Int, isFurther: Bool) -> Bool {
        guard !isFurther else { return true }
        guard memory > 0 else { return false }
        memory -= 1
        return true
    }

    func onSettled(_ number: UInt64, _ outcome: ReplyResult) { outcomes[number] = outcome }

    func onUnsettled(_ last: UnsettledOperation) { unsettled.insertOperation(last) }

    func onSeen(_ observations: [Observation]) {
        shown = observations.last ?? shown
        allShown = observations
    }

    func onEvent(_ event: WatchedEvent, token: String?) -> Bool { false }

    func isStillFull() -> Bool { false }
}
