import CRDT
import Chat
import Replication
import Wire

/// Why a store cannot do what it was asked.
package enum StoreFailure: Error, Hashable, Sendable {
    /// The disk is full: nothing was written.
    case full
    /// A document's bytes are not what was written.
    case badRecord(DocumentKey)
    /// Anything else: what was being done, and what the system said.
    case failed(String)
}

/// What one commit stores of a shard: what changed, and the header that counts it.
package struct ShardWrite: Sendable {
    package let shard: ShardID
    package let header: CopyHeader
    package let records: [Record]
}

/// The documents that are on disk.
///
/// Reads are synchronous and see only what is committed.
package protocol DocumentReader {
    func document(_ key: DocumentKey, in shard: ShardID) throws(StoreFailure) -> Document?

    /// Hands out the messages of a page in the page's direction, until told to stop.
    func history(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StoreFailure)

    /// The documents of which some last seq is counted in `ours` and not in `theirs`, in order of
    /// seq, without an upper bound; at least one, unless there is none.
    func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StoreFailure) -> (parcels: [Parcel], next: Dot?)
}

/// A durable store.
///
/// A commit's result comes back as `Node.onCommitted`, in order of tickets.
package protocol Store: DocumentReader, AnyObject, Sendable {
    /// Commits the writes of all these shards in one transaction, on a thread of its own.
    ///
    /// After a commit failed, every one handed in before `resume` fails too: they build on it.
    func commit(_ writes: [ShardWrite], ticket: UInt64)

    func resume()

    /// How many bytes wait to be committed.
    var queuedBytes: Int { get }

    /// Keeps a setting, with the next commit at the latest.
    func keep(_ value: [UInt8], as setting: String)
}

/// Where random bits come from.
package protocol Entropy: AnyObject, Sendable {
    func next() -> UInt64
}

extension Entropy {
    package func nextID() -> RandomID { RandomID(high: next(), low: next()) }
}

/// What time it is.
package protocol Clock: AnyObject, Sendable {
    /// Monotonic; what everything that waits uses.
    var milliseconds: UInt64 { get }
    /// Since 1970; only for stamps, and for the edit window.
    var wallMilliseconds: UInt64 { get }
}

/// Where replies go once they may be sent.
package protocol ReplySink: AnyObject, Sendable {
    func onSettled(_ number: UInt64, _ outcome: Settled)
}

/// What became of a reply that waited.
package enum Settled: Hashable, Sendable {
    case stored(Stored)
    /// The commit failed: nothing was changed.
    case failed(StoreFailure)
}
