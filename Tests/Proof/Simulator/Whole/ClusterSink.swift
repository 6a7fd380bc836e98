import Node
import Replication
import Session
import Wire

/// A client's session whose node has no memory for about every second large list.
///
/// Uses a random stream of its own, so that these draws change nothing else of a seed's run.
final class ClusterSink: ReplySink {
    private let session: Session
    private nonisolated(unsafe) var random: SeededRandom

    init(_ session: Session, _ id: UInt64, seed: UInt64) {
        self.session = session
        random = SeededRandom(seed: seed ^ id, stream: 142)
    }

    func reserveList(_ number: UInt64, _ bytes: Int, isFurther: Bool) -> Bool {
        guard isFurther || random.chance(percent: 50) else { return false }
        return session.reserveList(number, bytes, isFurther: isFurther)
    }

    // MARK: As the session has it

    var clientKind: ClientKind { session.clientKind }
    func onSettled(_ number: UInt64, _ outcome: ReplyResult) { session.onSettled(number, outcome) }
    func onStored(_ replies: ArraySlice<(slot: ReplySlot, stored: Stored)>) {
        session.onStored(replies)
    }
    func onListDelayed(_ number: UInt64) { session.onListDelayed(number) }
    func sessionVector(of shard: ShardID) -> SessionVector? { session.sessionVector(of: shard) }
    func constraint(on shard: ShardID) -> ReadConstraint? { session.constraint(on: shard) }
    func onSeen(_ observations: [Observation]) { session.onSeen(observations) }
    func onTold(_ observation: Observation) { session.onTold(observation) }
    func onWritten(_ write: Write, isHere: Bool) { session.onWritten(write, isHere: isHere) }
    func onCaughtUp(_ observation: Observation) { session.onCaughtUp(observation) }
    func forgetReplica(of shard: ShardID) { session.forgetReplica(of: shard) }
    func onUnsettled(_ last: UnsettledOperation) { session.onUnsettled(last) }
    func onEvent(_ event: WatchedEvent, token: String?) -> Bool {
        session.onEvent(event, token: token)
    }
    func isStillFull() -> Bool { session.isStillFull() }
}
