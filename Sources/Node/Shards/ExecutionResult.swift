import CRDT
import Replication
import Wire

/// The result of a request that was executed in a shard of this node.
struct ExecutionResult: Sendable {
    let outcome: Completion
    /// Whether the reply may be sent at once, without waiting for disks.
    let isSettled: Bool
    /// The greatest timestamp in the shard.
    let greatestTime: HybridTimestamp
}

extension Shard {
    /// Executes a read or a write.
    func carryOut(_ request: PeerRequest.Request, for slot: ReplySlot) -> ExecutionResult {
        let failure: ShardFailure
        switch request {
        case .write(let operation, let level, let attempt):
            switch submit(operation, for: slot, level: level, attempt: attempt) {
            case .success(let accepted):
                return carriedOut(.written(accepted.receipt, in: id), isSettled: false)
            case .failure(let reason): failure = reason
            }
        case .read(let query, let user), .list(let query, let user, _, _):
            switch answer(query, for: user, slot: slot) {
            case .success(let answer):
                return carriedOut(
                    .found(answer.findings, isPartial: false), isSettled: answer.isSettled)
            case .failure(let reason): failure = reason
            }
        case .copies, .level, .unknown: preconditionFailure("only reads and writes are carried out")
        }
        // A refusal shows the state of the shard, so its reply waits until that state is on disk.
        guard case .refused = failure else { return carriedOut(.failed(failure), isSettled: true) }
        return carriedOut(.failed(failure), isSettled: !showsLater(in: slot))
    }

    private func carriedOut(_ outcome: Completion, isSettled: Bool) -> ExecutionResult {
        ExecutionResult(outcome: outcome, isSettled: isSettled, greatestTime: greatestTime)
    }
}
