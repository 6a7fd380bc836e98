import Replication
import Wire

/// What a request came to.
package enum Completion: Hashable, Sendable {
    /// A write, acknowledged with how many owners have stored it.
    case written(Receipt, in: ShardID)
    /// - isPartial: some shards could not be asked.
    case found(Findings, isPartial: Bool)
    /// Several writes, all of them acknowledged or there already.
    case done
    case failed(ShardFailure)
}

/// How a request is answered.
package enum Reply: Sendable {
    /// - isSettled: it may be said at once; else the slot is told once it may.
    case here(Completion, isSettled: Bool)
    /// Others are asked: the slot is told all of it.
    case awaited
}

/// What became of a reply that waited.
package enum ReplyResult: Hashable, Sendable {
    /// What was answered here may be said.
    case stored(Stored)
    /// What others answered, or what was answered here later.
    ///
    /// A write has its copies.
    case answered(Completion, Stored?)
    /// Every copy that answers holds what the token stands for.
    case level
    /// On how many owners the writes that it waited for are, and whether that was asked for.
    case copies(Int, isEnough: Bool)
    /// The commit failed: nothing was changed.
    case failed(StoreFailure)
    case scrubbed(ScrubReport)
    case backedUp(BackupReport)
    case refused(OperationFailure)
    /// From here on events come; what was there before is in the token.
    case watching(String)
}
