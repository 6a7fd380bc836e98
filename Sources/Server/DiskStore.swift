import CRDT
import Chat
import NetworkIO
import Node
import Replication
import Storage
import StorePort
import Wire

/// An adapter from the node's store to the database in its data folder.
final class DiskStore: Store {
    let database: Database
    let folder: String
    let loop: EventLoop
    /// The number of failed transactions that the node knows of.
    private let failuresKnown = Lock(0)
    /// Whether commits have to be accepted on a full disk.
    let isUrgent = Lock(false)
    /// The node that is told of commits; set once, before the first.
    let node = Lock<Node?>(nil)

    /// - Parameter database: reports its results on the node's event loop.
    init(_ database: Database, in folder: String, on loop: EventLoop) {
        self.database = database
        self.folder = folder
        self.loop = loop
    }

    func reportFailures(_ node: Node) {
        self.node.withLock { $0 = node }
        database.onFailure { error in
            node.assumeIsolated { node in
                if case .badIndex(let shard) = error {
                    node.onBadIndex(of: shard)
                } else {
                    node.onDiskFailed(error.sentence)
                }
            }
        }
    }

    var queuedBytes: Int { database.writer.queuedBytes }

    var usage: StoreUsage? { database.usage }

    func commit(
        _ writes: [ShardWrite], drops: [ShardID], settings: [Setting], ticket: UInt64
    ) {
        let batch = WriteBatch(
            shards: writes, settings: settings, dropped: drops,
            failuresKnown: failuresKnown.withLock { $0 }, isUrgent: isUrgent.withLock { $0 })
        let node = node.withLock { $0 }
        // After the frames of this turn: a co-owner's way to its disk is longer than this node's.
        loop.afterFlush { [database] in
            database.submit(batch) { error in
                node?.assumeIsolated {
                    $0.onCommitted(ticket, failure: error.map(StoreFailure.init))
                }
            }
        }
    }

    /// Reads, with the database's error in the node's terms; where no other read can be trusted
    /// either, the node is told as well.
    func read<Value>(
        _ body: () throws(StorageError) -> Value
    ) throws(StoreFailure) -> Value {
        do throws(StorageError) {
            return try body()
        } catch {
            if error.isFatal { reportFatal(error) }
            throw StoreFailure(error)
        }
    }

    func reportFatal(_ error: StorageError) {
        let node = node.withLock { $0 }
        loop.post { node?.assumeIsolated { $0.onDiskFailed(error.sentence) } }
    }

    func resume() {
        let failures = database.writer.failures
        failuresKnown.withLock { $0 = failures }
    }

    func document(
        _ key: DocumentKey, in shard: ShardID
    ) throws(StoreFailure) -> Document? {
        try read { () throws(StorageError) in
            try database.reader.documentInTurn(key, in: shard)
        }
    }

    func history(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StoreFailure) {
        try read { () throws(StorageError) in
            try database.reader.history(conversation, in: shard, page: page, handing: handing)
        }
    }

    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID, partition: String?
    ) throws(StoreFailure) -> [DocumentKey] {
        try read { () throws(StorageError) in
            try database.reader.keys(of: kind, carrying: term, in: shard, partition: partition)
        }
    }

    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID,
        after last: DocumentKey?, limit: Int
    ) throws(StoreFailure) -> [DocumentKey] {
        try read { () throws(StorageError) in
            try database.reader.keys(
                of: kind, carrying: term, in: shard, after: last, limit: limit)
        }
    }

    func shards(concerning user: UserID, upTo last: ShardID) throws(StoreFailure) -> Set<ShardID> {
        try read { () throws(StorageError) in
            try database.reader.shards(concerning: user, upTo: last)
        }
    }

    func countedRuns(
        of conversation: ConversationID, in shard: ShardID, level: UInt8,
        from start: HybridTimestamp, to end: HybridTimestamp
    ) throws(StoreFailure) -> [CountedRun] {
        try read { () throws(StorageError) in
            try database.reader.countedRuns(
                of: conversation, in: shard, level: level, from: start, to: end)
        }
    }

    func participantStates(
        of conversation: ConversationID, in shard: ShardID
    ) throws(StoreFailure) -> [Document] {
        try read { () throws(StorageError) in
            try database.reader.participantStates(of: conversation, in: shard)
        }
    }

    func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StoreFailure) -> (encodedDocuments: [EncodedDocument], next: Dot?) {
        try read { () throws(StorageError) in
            try database.reader.changes(
                in: shard, lackedBy: theirs, of: ours, after: cursor, bytesMax: bytesMax)
        }
    }

    func remainder(
        of shard: ShardID, without bad: [DocumentKey]
    ) throws(StoreFailure) -> Remainder {
        try read { () throws(StorageError) in
            try database.reader.remainder(of: shard, without: Set(bad))
        }
    }
}

extension StoreFailure {
    init(_ error: StorageError) {
        switch error {
        case .full: self = .full
        case .badRecord(_, let key): self = .badRecord(key)
        case .badIndex(_): self = .badIndex
        case .locked: self = .locked
        case .builtOnFailure: self = .full
        default: self = .failed(error.sentence)
        }
    }
}
