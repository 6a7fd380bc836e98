import CRDT
import Replication
import Wire

/// What came of a request that was carried out in a shard here.
struct ExecutionResult: Sendable {
    let outcome: Completion
    /// Whether it may be said at once; else the slot is told once it may.
    let isSettled: Bool
    /// The greatest time of anything in the shard.
    let greatestTime: HybridTimestamp
}

extension Shard {
    /// Carries a request out.
    func carryOut(_ request: PeerRequest.Request, for slot: ReplySlot) -> ExecutionResult {
        let failure: ShardFailure
        switch request {
        case .write(let operation, let level, let attempt):
            switch submit(operation, for: slot, level: level, attempt: attempt) {
            case .success(let accepted):
                return carriedOut(.written(accepted.receipt, in: id), isSettled: false)
            case .failure(let reason): failure = reason
            }
        case .read(let query, let user), .list(let query, let user, _):
            switch answer(query, for: user, slot: slot) {
            case .success(let answer):
                return carriedOut(
                    .found(answer.findings, isPartial: false), isSettled: answer.isSettled)
            case .failure(let reason): failure = reason
            }
        case .copies, .level, .unknown: preconditionFailure("only reads and writes are carried out")
        }
        // A refusal shows what is here: where that is not on disk yet, it waits for it.
        guard case .refused = failure else { return carriedOut(.failed(failure), isSettled: true) }
        return carriedOut(.failed(failure), isSettled: !showsLater(in: slot))
    }

    private func carriedOut(_ outcome: Completion, isSettled: Bool) -> ExecutionResult {
        ExecutionResult(outcome: outcome, isSettled: isSettled, greatestTime: greatestTime)
    }
}
