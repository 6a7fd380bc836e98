import CRDT
import Chat
import Replication
import Wire

/// A durable store.
///
/// The result of a commit is reported to `Node.onCommitted`, in the order of tickets.
package protocol Store: DocumentReader, Maintenance, AnyObject, Sendable {
    /// Commits the writes of all these shards in one transaction, on a thread of its own.
    ///
    /// After a failed commit, all commits handed in before `resume` fail too, because they build on
    /// it.
    ///
    /// - Parameter drops: shards whose replicas are deleted before anything is written.
    func commit(
        _ writes: [ShardWrite], drops: [ShardID], settings: [Setting], ticket: UInt64)

    /// Accepts commits again after one has failed.
    func resume()

    /// The number of bytes that wait to be committed.
    var queuedBytes: Int { get }

    /// The disk space that the store uses; nil if it has none, or cannot tell.
    var usage: StoreUsage? { get }
}

extension Store {
    package var usage: StoreUsage? { nil }
}
