import CRDT
import Chat
import StorePort
import Wire

/// The reasons for which a shard does not do what was requested.
package enum ShardFailure: Error, Hashable, Sendable {
    case refused(Refusal)
    /// The replica must not be read yet: it may be older than others.
    case notReady
    /// No holder of the shard answers.
    case unreachable
    /// A member has been asked and has not answered: the request may have been executed.
    case unanswered
    /// No replica that can be reached is known to hold what the connection has seen.
    case behind
    /// Too many requests wait for other members already.
    case overloaded
    /// The offset of this node's wall clock from the cluster's, in milliseconds; positive if it is
    /// ahead.
    case clock(Int64)
    case store(StoreFailure)
    /// A co-owner sent an invalid frame.
    case badFrame(WireError)
    /// A write here has the same or a greater time: nothing was done, and a greater one is needed.
    ///
    /// Clients never get this: the node that read the line asks again with a greater time, or
    /// replies that the request may be done.
    case stale(HybridTimestamp)
    /// The member that was asked does not know this request, or cannot read the document concerned:
    /// they are of a later version.
    case unsupported
}
