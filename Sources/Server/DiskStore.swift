import CRDT
import Chat
import NetworkIO
import Node
import Replication
import Storage
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

    var usage: StoreUsage? {
        database.usage.map {
            StoreUsage(
                databaseBytes: $0.databaseBytes, logBytes: $0.logBytes, freeBytes: $0.freeBytes)
        }
    }

    func commit(
        _ writes: [ShardWrite], drops: [ShardID], settings: [Setting], ticket: UInt64
    ) {
        let batch = WriteBatch(
            shards: writes.map { write in
                let runs = write.runs.map {
                    Record($0.run, of: $0.key.conversation, level: $0.key.level)
                }
                return CopyWrite(
                    shard: write.shard,
                    header: HeaderRows(header: write.header.encoded, base: write.base),
                    documents: runs.isEmpty ? write.records : write.records + runs,
                    removed: write.removed,
                    isReindexed: write.isReindexed)
            },
            settings: settings.map { ($0.name, $0.value) }, dropped: drops,
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

    /// Returns a read's error; where no other read can be trusted either, the node is told as well.
    func failure(_ error: StorageError) -> StoreFailure {
        switch error {
        case .io, .corrupt, .displaced:
            let node = node.withLock { $0 }
            loop.post { node?.assumeIsolated { $0.onDiskFailed(error.sentence) } }
        default: break
        }
        return StoreFailure(error)
    }

    func resume() {
        let failures = database.writer.failures
        failuresKnown.withLock { $0 = failures }
    }

    func document(
        _ key: DocumentKey, in shard: ShardID
    ) throws(StoreFailure) -> Document? {
        do throws(StorageError) {
            return try database.reader.documentInTurn(key, in: shard)
        } catch {
            throw failure(error)
        }
    }

    func history(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StoreFailure) {
        do throws(StorageError) {
            try database.reader.history(conversation, in: shard, page: page, handing: handing)
        } catch {
            throw failure(error)
        }
    }

    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID, partition: String?
    ) throws(StoreFailure) -> [DocumentKey] {
        do throws(StorageError) {
            return try database.reader.keys(
                of: kind, carrying: term, in: shard, partition: partition)
        } catch {
            throw failure(error)
        }
    }

    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID,
        after last: DocumentKey?, limit: Int
    ) throws(StoreFailure) -> [DocumentKey] {
        do throws(StorageError) {
            return try database.reader.keys(
                of: kind, carrying: term, in: shard, after: last, limit: limit)
        } catch {
            throw failure(error)
        }
    }

    func shards(concerning user: UserID, upTo last: ShardID) throws(StoreFailure) -> Set<ShardID> {
        do throws(StorageError) {
            return try database.reader.shards(concerning: user, upTo: last)
        } catch {
            throw failure(error)
        }
    }

    func countedRuns(
        of conversation: ConversationID, in shard: ShardID, level: UInt8,
        from start: HybridTimestamp, to end: HybridTimestamp
    ) throws(StoreFailure) -> [CountedRun] {
        do throws(StorageError) {
            return try database.reader.countedRuns(
                of: conversation, in: shard, level: level, from: start, to: end)
        } catch {
            throw failure(error)
        }
    }

    func participantStates(
        of conversation: ConversationID, in shard: ShardID
    ) throws(StoreFailure) -> [Document] {
        do throws(StorageError) {
            return try database.reader.participantStates(of: conversation, in: shard)
        } catch {
            throw failure(error)
        }
    }

    func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StoreFailure) -> (encodedDocuments: [EncodedDocument], next: Dot?) {
        do throws(StorageError) {
            let found = try database.reader.changes(
                in: shard, lackedBy: theirs, of: ours, after: cursor, bytesMax: bytesMax)
            let encodedDocuments = found.records.map {
                EncodedDocument(key: $0.key.encoded, bytes: $0.bytes)
            }
            return (encodedDocuments, found.next)
        } catch {
            throw failure(error)
        }
    }

    func remainder(
        of shard: ShardID, without bad: [DocumentKey]
    ) throws(StoreFailure) -> Remainder {
        do throws(StorageError) {
            let sum = try database.reader.remaining(in: shard, without: Set(bad))
            let header = ReplicaHeader(
                remaining: sum.vector, digest: sum.digest, counts: sum.counts,
                greatest: sum.greatest)
            return Remainder(header: header, bad: sum.alsoBad)
        } catch {
            throw failure(error)
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
