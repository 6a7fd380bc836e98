import Chat
import Replication
import Wire

/// A user's list as far as it could be gathered.
package struct ListAnswer: Sendable {
    /// In the list's order, each conversation once.
    package let findings: Findings
    /// Whether some shards could not be asked.
    package let isPartial: Bool
    /// Whether it may be shown at once; else it waits in the slot that was given.
    package let isSettled: Bool
}

extension Node {
    /// Asks every shard held here for its part of a user's list.
    ///
    /// A shard that cannot answer now leaves its part out; where none can, or where the disk fails,
    /// there is no list.
    package func gather(
        _ query: Query, for user: UserID, slot: ReplySlot
    ) -> Result<ListAnswer, ShardFailure> {
        guard !shards.isEmpty else { return .failure(.notReady) }
        var parts: Findings?
        var missing: ShardFailure?
        var waits = 0
        for shard in shards {
            switch shard.assumeIsolated({ $0.answer(query, for: user, slot: slot) }) {
            case .success(let answer):
                if !answer.isSettled { waits += 1 }
                guard var whole = parts else {
                    parts = answer.findings
                    continue
                }
                precondition(whole.append(answer.findings), "shards answer one query alike")
                parts = whole
            case .failure(let failure):
                guard failure.isPassing else { return .failure(failure) }
                missing = failure
            }
        }
        guard let parts else { return .failure(missing ?? .notReady) }
        awaitShards(waits, for: slot)
        return .success(
            ListAnswer(
                findings: parts.gathered, isPartial: missing != nil, isSettled: waits == 0))
    }
}

extension ShardFailure {
    /// Whether it is over shortly, so that a list without that shard is better than none.
    var isPassing: Bool {
        switch self {
        case .notReady, .store(.badRecord): true
        case .refused, .badFrame, .store(.full), .store(.failed): false
        }
    }
}
