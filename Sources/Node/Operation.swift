import CRDT
import Chat
import Wire

/// A write on its way to where it is executed: the mutation, and the identity and time that the
/// node gave it that read its line.
package struct Operation: Hashable, Sendable {
    package let mutation: Mutation
    package var stamp: Stamp
    /// What its client issued earlier and may yet be executed.
    package var unsettled: Unsettled

    package init(_ mutation: Mutation, _ stamp: Stamp, after unsettled: Unsettled = Unsettled()) {
        self.mutation = mutation
        self.stamp = stamp
        self.unsettled = unsettled
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
    }
}

/// The operations of this process: what is next, and what was answered with "may be done".
struct Operations: Sendable {
    var source: OperationSource
    /// When the last operation on each shard was issued that was answered so.
    private var unsettled: [ShardID: HybridTimestamp] = [:]

    init(process: ProcessID) { source = OperationSource(process: process) }

    mutating func noteUnsettled(_ time: HybridTimestamp, on shard: ShardID) {
        unsettled[shard] = max(unsettled[shard] ?? .zero, time)
    }

    /// Whether a request on the shard is to be named by `naming`.
    func hasUnsettled(on shard: ShardID) -> Bool { !unsettled.isEmpty && unsettled[shard] != nil }

    /// The request with when this process last issued what may yet be executed on the shard.
    ///
    /// The counter of the request's own operation says the rest: all that its process issued before
    /// is earlier.
    func naming(_ request: PeerRequest.Request, on shard: ShardID) -> PeerRequest.Request {
        guard !unsettled.isEmpty, case .write(var operation, let level, let attempt) = request,
            let time = unsettled[shard]
        else { return request }
        operation.unsettled.note(time)
        return .write(operation, level, attempt)
    }
}

extension PeerRequest.Request {
    /// Whether it is a write that may get another time.
    var mayBeRaised: Bool {
        guard case .write(_, _, let attempt) = self else { return false }
        return attempt.mayBeRaised
    }
}
