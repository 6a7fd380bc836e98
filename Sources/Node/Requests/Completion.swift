import Chat
import Replication
import StorePort
import Wire

/// The result of executing a request.
package enum Completion: Hashable, Sendable {
    /// An accepted write; on how many owners it is stored comes separately, as `Stored`.
    case written(Receipt, in: ShardID)
    /// The findings of a query; indirect, so that a copy of the result of a write stays small.
    ///
    /// - isPartial: whether the parts of some shards are missing.
    indirect case found(AnyFindings, isPartial: Bool)
    /// Several writes, each of them acknowledged or without effect.
    case done
    case failed(ShardFailure)
}

extension Completion {
    /// Returns the findings as those of a type; nil for other findings and other results.
    package func findings<Value: Findings>(as _: Value.Type = Value.self) -> Value? {
        guard case .found(let findings, _) = self else { return nil }
        return findings.value()
    }

    static func found(_ findings: some Findings, isPartial: Bool) -> Completion {
        .found(AnyFindings(findings), isPartial: isPartial)
    }
}

/// The two forms of a node's answer to a request: now, or later.
package enum Reply: Sendable {
    /// The request was executed here.
    ///
    /// - isSettled: whether the reply may be sent at once; otherwise once the slot is told so.
    case here(Completion, isSettled: Bool)
    /// The request waits, for other members or for earlier requests: the slot gets the whole result
    /// later.
    case awaited
}

/// The outcome that is passed to a reply slot that waits.
package enum ReplyResult: Hashable, Sendable {
    /// The result that `Reply.here` gave is on the disks that it needs: the reply may be sent.
    case stored(Stored)
    /// The whole result of a request that other members answered, or that was executed here later;
    /// a write comes with where it is stored.
    case answered(Completion, Stored?)
    /// Every shard replica that answers the connection holds what the token stands for.
    case level
    /// The number of owners that have stored all writes that a `WAIT` names.
    ///
    /// - isEnough: whether these are as many as it asked for.
    case copies(Int, isEnough: Bool)
    /// The commit failed: the change is not on disk here, though a co-owner may have it.
    case failed(StoreFailure)
    case scrubbed(ScrubReport)
    case backedUp(BackupReport)
    case refused(OperationFailure)
    /// The connection watches: events follow, and the token stands for all that came before.
    case watching(String)
}
