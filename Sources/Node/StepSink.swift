import Chat
import Wire

/// The sink of a request that the node makes itself: hands its outcome to the node, and what it saw
/// to the connection for which it was made.
final class StepSink: ReplySink {
    typealias Step = @Sendable (isolated Node, _ number: UInt64, Settled) -> Void
    typealias Seen = @Sendable (isolated Node, [Sighting]) -> Void

    private let node: Node
    private let client: (any ReplySink)?
    private let onSeen: Seen?
    private let onStep: Step

    init(
        _ node: Node, for client: (any ReplySink)? = nil, onSeen: Seen? = nil,
        onStep: @escaping Step
    ) {
        self.node = node
        self.client = client
        self.onSeen = onSeen
        self.onStep = onStep
    }

    func sight(of shard: ShardID) -> Sight? { client?.sight(of: shard) }

    func demand(on shard: ShardID) -> Demand? { client?.demand(on: shard) }

    func onSeen(_ sightings: [Sighting]) {
        client?.onSeen(sightings)
        guard let onSeen else { return }
        node.assumeIsolated { onSeen($0, sightings) }
    }

    func onLevel(_ sighting: Sighting) { client?.onLevel(sighting) }

    func forgetWitness(of shard: ShardID) { client?.forgetWitness(of: shard) }

    func onUnsettled(_ last: UnsettledOperation) { client?.onUnsettled(last) }

    /// A step watches nobody.
    func onEvent(_ event: WatchedEvent, token: String?) -> Bool { false }

    func isStillFull() -> Bool { false }

    func onSettled(_ number: UInt64, _ outcome: Settled) {
        node.assumeIsolated { [onStep] in onStep($0, number, outcome) }
    }
}
