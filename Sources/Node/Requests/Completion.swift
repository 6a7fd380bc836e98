import Chat
import Replication
import StorePort
import Wire

/// The result of executing a request.
package enum Completion: Hashable, Sendable {
    /// An accepted write; the number of owners that have stored it follows as `Stored`.
    case written(Receipt, in: ShardID)
    /// The findings of a query; the case is indirect so that a copy of a write's result stays
    /// small.
    ///
    /// - isPartial: whether the parts of some shards are missing.
    indirect case found(AnyFindings, isPartial: Bool)
    /// The result of several writes, each of which was acknowledged or had no effect.
    case done
    case failed(ShardFailure)
}

extension Completion {
    /// Returns the findings as a value of this type; nil for findings of another type and other
    /// results.
    package func findings<Value: Findings>(as _: Value.Type = Value.self) -> Value? {
        guard case .found(let findings, _) = self else { return nil }
        return findings.value()
    }

    static func found(_ findings: some Findings, isPartial: Bool) -> Completion {
        .found(AnyFindings(findings), isPartial: isPartial)
    }
}

/// The two forms of a node's answer to a request: the result now, or a result later.
package enum Reply: Sendable {
    /// The request was executed on this node.
    ///
    /// - isSettled: whether the reply may be sent at once; if not, it is sent once the slot
    ///   receives `ReplyResult.stored`.
    case here(Completion, isSettled: Bool)
    /// The request waits for other members or earlier requests; the slot gets the whole result
    /// later.
    case awaited
}

/// The outcome that is passed to a reply slot that waits.
package enum ReplyResult: Hashable, Sendable {
    /// The changes of a result from `Reply.here` are on enough disks, so the reply may be sent.
    case stored(Stored)
    /// The whole result of a request that other members answered, or that this node executed later;
    /// a write comes with the number of owners that have stored it.
    case answered(Completion, Stored?)
    /// Every shard replica that answers the connection contains all changes that the token names.
    case level
    /// The number of owners that have stored all writes that a `WAIT` names.
    ///
    /// - isEnough: whether at least as many owners have stored the writes as the `WAIT` requests.
    case copies(Int, isEnough: Bool)
    /// The commit failed: the change is not on this node's disk, although a co-owner may have it.
    case failed(StoreFailure)
    case scrubbed(ScrubReport)
    case backedUp(BackupReport)
    case refused(OperationFailure)
    /// The connection receives events now.
    indirect case watching(StreamStart)
}

/// The start of a watch, as the client learns of it.
package struct StreamStart: Hashable, Sendable {
    /// The stream of events that the watch is.
    package struct Stream: Hashable, Sendable {
        package let id: StreamID
        /// The time after its sending in which a message may be edited, in milliseconds.
        package let editWindowMilliseconds: UInt64
        /// The node's wall clock, in milliseconds since 1970.
        package let wallMilliseconds: UInt64
    }

    /// The token of all changes before the first event.
    package let token: String
    /// The description of the stream; nil if the client has not requested it.
    package let stream: Stream?

    package init(token: String, stream: Stream?) {
        self.token = token
        self.stream = stream
    }
}
