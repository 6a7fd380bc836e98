import CRDT
import Chat
import StorePort
import Wire

/// The reasons why a shard does not execute a request.
package enum ShardFailure: Error, Hashable, Sendable {
    case refused(Refusal)
    /// The replica must not be read yet, since it may be older than other replicas.
    case notReady
    /// No holder of the shard answers.
    case unreachable
    /// A member has been asked and has not answered: the request may have been executed.
    case unanswered
    /// No replica that can be reached is known to contain the changes that the connection has seen.
    case behind
    /// Too many requests wait for other members already.
    case overloaded
    /// The offset of this node's wall clock from the cluster's, in milliseconds; positive if this
    /// node's clock is ahead.
    case clock(Int64)
    case store(StoreFailure)
    /// A co-owner sent an invalid frame.
    case badFrame(WireError)
    /// A stored write has the same or a greater time: the new write was not executed.
    ///
    /// Clients never receive this failure: the client's node repeats the request with a greater
    /// time, or replies that the request may have been executed.
    case stale(HybridTimestamp)
    /// The client has given the operation a time that is too early or too late, so that it is not
    /// executed.
    ///
    /// - now: the node's wall clock, in milliseconds since 1970.
    case untimely(Timeliness, now: UInt64)
    /// The member cannot read the request or its document, since they are of a later version.
    case unsupported
}
