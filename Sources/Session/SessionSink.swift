import Admin
import Node
import Replication
import Wire

/// The node's calls to a session: results of requests, observations of replicas, and events.
extension Session {
    package nonisolated func sessionVector(of shard: ShardID) -> SessionVector? {
        assumeIsolated { $0.state.sessionVector(of: shard) }
    }

    package nonisolated var clientKind: ClientKind { assumeIsolated { $0.signIn.clientKind } }

    package nonisolated func constraint(on shard: ShardID) -> ReadConstraint? {
        assumeIsolated { $0.state.constraint(on: shard) }
    }

    package nonisolated func onSeen(_ observations: [Observation]) {
        assumeIsolated { $0.state.recordObservations(observations) }
    }

    package nonisolated func onTold(_ observation: Observation) {
        assumeIsolated { $0.state.noteTold(observation) }
    }

    package nonisolated func onWritten(_ write: Write, isHere: Bool) {
        assumeIsolated { $0.state.recordWrite(write, isHere: isHere) }
    }

    package nonisolated func onCaughtUp(_ observation: Observation) {
        assumeIsolated { $0.state.level(observation) }
    }

    package nonisolated func forgetReplica(of shard: ShardID) {
        assumeIsolated { $0.state.forgetReplica(of: shard) }
    }

    package nonisolated func onUnsettled(_ last: UnsettledOperation) {
        assumeIsolated { $0.state.recordUnsettled(last) }
    }

    package nonisolated func onListDelayed(_ number: UInt64) {
        assumeIsolated { $0.dropEstimate(of: number) }
    }

    package nonisolated func reserveList(
        _ number: UInt64, _ bytes: Int, isFurther: Bool
    ) -> Bool {
        assumeIsolated { $0.reserve(bytes, for: number, isFurther: isFurther) }
    }

    package nonisolated func onSettled(_ number: UInt64, _ outcome: ReplyResult) {
        assumeIsolated {
            $0.settle(number, outcome)
            $0.sendSettled()
        }
    }

    package nonisolated func onStored(
        _ replies: ArraySlice<(slot: ReplySlot, stored: Stored)>
    ) {
        assumeIsolated {
            for (slot, stored) in replies { $0.settle(slot.number, .stored(stored)) }
            $0.sendSettled()
        }
    }

    package nonisolated func onEvent(_ event: WatchedEvent, token: String?) -> Bool {
        assumeIsolated { $0.tell(event, token) }
    }

    package nonisolated func isStillFull() -> Bool { assumeIsolated { $0.noteFull() } }
}
