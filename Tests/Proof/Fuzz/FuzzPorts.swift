import CRDT
import Chat
import Node
import Replication
import StorePort
import Wire

/// An executor that runs every job where it is enqueued: a run has one thread.
final class FuzzExecutor: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        job.runSynchronously(on: asUnownedSerialExecutor())
    }

    func checkIsolated() {}

    func isIsolatingCurrentContext() -> Bool? { true }
}

/// A clock that is advanced explicitly, random numbers that count up, and a silent host.
final class FuzzHost: Host, Clock, Entropy {
    nonisolated(unsafe) private(set) var milliseconds: UInt64 = 10_000
    nonisolated(unsafe) private var last: UInt64 = 0
    nonisolated(unsafe) private(set) var hasEnded = false

    var wallMilliseconds: UInt64 { 1_800_000_000_000 + milliseconds }

    func pass(milliseconds: UInt64) { self.milliseconds += milliseconds }

    func next() -> UInt64 {
        last += 1
        return last
    }

    func dial(_ address: String) {}
    func onReady() {}
    func end(_ ending: Ending) { hasEnded = true }
    func turnAgain() {}
    func setClientsPaused(_ isPaused: Bool) {}
    func log(_ level: LogLevel, _ line: String) {}
    var residentBytes: UInt64 { 0 }
}

/// The member's connection, which reads the cluster's settings from the node's hello.
final class FuzzChannel: Channel {
    let id: UInt64 = 1
    nonisolated(unsafe) private(set) var cluster: ClusterSettings?
    nonisolated(unsafe) private var cutter = EnvelopeCutter()

    func send(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { cutter.append($0) }
        while let payload = decoded({ try cutter.next() }) {
            guard let payload else { return }
            var reader = ByteReader(payload)
            guard let frame = decoded({ try PeerFrame(from: &reader) }) else {
                preconditionFailure("a node sends what can be read")
            }
            if case .hello(let hello) = frame { cluster = hello.cluster }
        }
    }

    var queuedBytes: Int { 0 }
    func setPaused(_ isPaused: Bool) {}
    func close() {}
}

/// A store in memory.
final class FuzzStore: Store {
    nonisolated(unsafe) private var documents: [ShardID: [DocumentKey: Document]] = [:]
    nonisolated(unsafe) private var tickets: [UInt64] = []

    func commit(
        _ writes: [ShardWrite], drops: [ShardID], settings: [Setting], ticket: UInt64
    ) {
        for shard in drops { documents[shard] = nil }
        for write in writes {
            for key in write.removed { documents[write.shard]?[key] = nil }
            for record in write.records {
                guard let document = decoded({ try Document(record.key, decoding: record.bytes) })
                else { preconditionFailure("what is stored can be read") }
                documents[write.shard, default: [:]][record.key] = document
            }
        }
        tickets.append(ticket)
    }

    func takeCommitted() -> [UInt64] {
        defer { tickets = [] }
        return tickets
    }

    func resume() {}
    var queuedBytes: Int { 0 }

    // The memory is never full, never damaged and never backed up.
    var diskSpace: DiskSpace? { nil }
    func setUrgent(_ isUrgent: Bool) {}
    func makeReserve() {}
    func emptyLog() {}
    func backUp(to file: String) {}

    func check(
        _ shard: ShardID, after mark: (any CheckMark)?, rowsMax: Int
    ) throws(StoreFailure) -> CheckedPart {
        var part = CheckedPart()
        for document in all(in: shard) {
            part.add(document, bytes: document.encoded, isIndexed: true)
        }
        return part
    }

    func document(_ key: DocumentKey, in shard: ShardID) throws(StoreFailure) -> Document? {
        documents[shard]?[key]
    }

    func history(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StoreFailure) {
        for document in all(in: shard) where document.message != nil {
            guard document.key.partition == conversation.text else { continue }
            guard handing(document) else { return }
        }
    }

    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID, partition: String?
    ) throws(StoreFailure) -> [DocumentKey] {
        all(in: shard).filter { document in
            document.key.kind == kind && document.indexKeys.contains(term)
                && (partition.map { $0 == document.key.partition } ?? true)
        }.map(\.key)
    }

    func participantStates(
        of conversation: ConversationID, in shard: ShardID
    ) throws(StoreFailure) -> [Document] {
        all(in: shard).filter {
            $0.participantState != nil && $0.key.partition == conversation.text
        }
    }

    func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StoreFailure) -> (encodedDocuments: [EncodedDocument], next: Dot?) {
        let encodedDocuments = all(in: shard).map {
            EncodedDocument(key: $0.key.encoded, bytes: $0.encoded)
        }
        return (encodedDocuments, nil)
    }

    func remainder(
        of shard: ShardID, without bad: [DocumentKey]
    ) throws(StoreFailure) -> Remainder {
        throw .failed("no record is bad here")
    }

    private func all(in shard: ShardID) -> [Document] {
        (documents[shard] ?? [:]).values.sorted { $0.key < $1.key }
    }
}
