import CRDT
import Chat
import Replication
import Wire

/// A write as it is sent to the shard that executes it: the mutation, with the identity and the
/// time that were assigned by the client or by the node that received the client's request.
package struct Operation: Hashable, Sendable {
    package let mutation: Mutation
    package var stamp: Stamp
    /// Earlier operations of the client that may still be executed.
    package var unsettled: Unsettled
    /// The users whom the user has blocked, if the reply counts unread messages.
    ///
    /// The list is encoded after the other values of a request.
    package var senders: BlockedSenders
    /// The refusal with which a client's operation is answered unless it is recorded already; nil
    /// for an operation that other shards do not forbid.
    ///
    /// The refusal is encoded after the other values of a request.
    package var refusal: Refusal?

    package init(
        _ mutation: Mutation, _ stamp: Stamp, after unsettled: Unsettled = Unsettled(),
        without senders: BlockedSenders = .none, refusing refusal: Refusal? = nil
    ) {
        self.mutation = mutation
        self.stamp = stamp
        self.unsettled = unsettled
        self.senders = senders
        self.refusal = refusal
    }
}

extension Operation: WireValue {
    package func encode(into writer: inout ByteWriter) {
        stamp.encode(into: &writer)
        unsettled.encode(into: &writer)
        mutation.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        stamp = try Stamp(from: &reader)
        unsettled = try Unsettled(from: &reader)
        mutation = try Mutation(from: &reader)
        senders = .none
    }
}

/// The operations of this process: the source of the next operation, and the operations that may
/// still be executed.
struct Operations: Sendable {
    var source: OperationSource
    /// By shard, the time of the last operation that was answered with "may be done".
    private var unsettled: [ShardID: HybridTimestamp] = [:]
    /// The clients' own operations that wait for this node's disk, by reply.
    var ofClients: [ReplySlot: Stamp] = [:]

    /// Forgets the operations of a connection that was closed.
    mutating func forgetClients(of session: UInt64) {
        guard !ofClients.isEmpty else { return }
        ofClients = ofClients.filter { $0.key.session != session }
    }

    init(process: ProcessID) { source = OperationSource(process: process) }

    mutating func noteUnsettled(_ time: HybridTimestamp, on shard: ShardID) {
        unsettled[shard] = max(unsettled[shard] ?? .zero, time)
    }

    /// Returns whether earlier operations of this process on the shard may still be executed, so
    /// that a write has to name them.
    func hasUnsettled(on shard: ShardID) -> Bool { !unsettled.isEmpty && unsettled[shard] != nil }

    /// Returns a write that names the operations of this process on the shard that may still be
    /// executed.
    ///
    /// The latest time of these operations is sufficient: the counter of the write itself shows
    /// which operations its process issued before.
    func naming(_ request: PeerRequest.Request, on shard: ShardID) -> PeerRequest.Request {
        guard !unsettled.isEmpty, case .write(var operation, let level, let attempt) = request,
            let time = unsettled[shard]
        else { return request }
        operation.unsettled.raiseTime(time)
        return .write(operation, level, attempt)
    }
}

extension PeerRequest.Request {
    /// Whether the request is a write that may get a greater time.
    var mayBeRaised: Bool {
        guard case .write(_, _, let attempt) = self else { return false }
        return attempt.mayBeRaised
    }
}
