import Chat
import Wire

/// The sink of a request that the node makes itself.
///
/// The sink passes the outcome to the node. The sink passes observations and requests for memory to
/// the connection for which the node made the request.
final class StepSink: ReplySink {
    typealias Step = @Sendable (isolated Node, _ number: UInt64, ReplyResult) -> Void
    typealias Seen = @Sendable (isolated Node, [Observation]) -> Void

    private let node: Node
    private let client: (any ReplySink)?
    /// The number of the connection's request to which the node's request belongs; nil if the
    /// node's request reserves no memory on behalf of the connection.
    private let clientNumber: UInt64?
    /// Whether the connection will be shown the data that the request has seen.
    private let isShown: Bool
    private let onSeen: Seen?
    private let onStep: Step

    init(
        _ node: Node, for client: (any ReplySink)? = nil, at clientNumber: UInt64? = nil,
        isShown: Bool = true, onSeen: Seen? = nil, onStep: @escaping Step
    ) {
        self.node = node
        self.client = client
        self.isShown = isShown
        self.clientNumber = clientNumber
        self.onSeen = onSeen
        self.onStep = onStep
    }

    func onListDelayed(_ number: UInt64) {
        if let clientNumber { client?.onListDelayed(clientNumber) }
    }

    func reserveList(_ number: UInt64, _ bytes: Int, isFurther: Bool) -> Bool {
        clientNumber.flatMap { client?.reserveList($0, bytes, isFurther: isFurther) } ?? true
    }

    func sessionVector(of shard: ShardID) -> SessionVector? { client?.sessionVector(of: shard) }

    func constraint(on shard: ShardID) -> ReadConstraint? { client?.constraint(on: shard) }

    func onSeen(_ observations: [Observation]) {
        if isShown { client?.onSeen(observations) }
        guard let onSeen else { return }
        node.assumeIsolated { onSeen($0, observations) }
    }

    func onCaughtUp(_ observation: Observation) { client?.onCaughtUp(observation) }

    func forgetReplica(of shard: ShardID) { client?.forgetReplica(of: shard) }

    func onUnsettled(_ last: UnsettledOperation) { client?.onUnsettled(last) }

    /// Returns false, since the node's own requests watch no user.
    func onEvent(_ event: WatchedEvent, token: String?) -> Bool { false }

    func isStillFull() -> Bool { false }

    func onSettled(_ number: UInt64, _ outcome: ReplyResult) {
        node.assumeIsolated { [onStep] in onStep($0, number, outcome) }
    }
}
