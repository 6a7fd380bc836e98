import Chat
import Replication
import StorePort
import Wire

extension ShardMachine {
    /// The output of one shard at the end of a turn.
    struct TurnOutput: Sendable {
        let write: ShardWrite?
        let frames: [(to: NodeName, frame: Frame)]
        let settled: [(ReplySlot, Stored)]
        /// The peers whose pulls wait for their next batch of documents.
        let served: [NodeName]
        let divergences: [NodeName]
        /// The damage on disk that reads of this shard have found; nil for none.
        let damage: Damage?
        /// Whether the replica is to be deleted from the disk.
        let isDropped: Bool
        /// The size of rewritten documents that are not on disk yet, in bytes.
        let unsettledBytes: Int
        /// The changes of sign-ins that all nodes have to receive; nil for none.
        let tokenNews: TokenNews?
    }

    /// The changes of sign-ins in documents of a shard, which all nodes have to receive.
    struct TokenNews: Sendable {
        /// The sign-ins that were open in this replica and have ended.
        var ended: [SignInID] = []
        /// The signing keys and revocations that earlier program versions store in a document.
        var signing: Signing?
    }

    /// Records the changes of sign-ins that the new state of a document contains.
    mutating func noteTokens(_ document: Document, replacing old: Document?) {
        switch document.content {
        case .credentials(let credentials):
            guard let old = old?.credentials else { return }
            let ended = credentials.ended(since: old)
            guard !ended.isEmpty else { return }
            tokenNews = tokenNews ?? TokenNews()
            tokenNews?.ended += ended
        case .signing(let signing):
            tokenNews = tokenNews ?? TokenNews()
            tokenNews?.signing = signing
        default: break
        }
    }

    private mutating func takeTokenNews() -> TokenNews? {
        defer { tokenNews = nil }
        return tokenNews
    }

    /// Ends a turn and returns all output of the shard.
    ///
    /// The machine collects its output itself, because reading a value of the owning actor from
    /// outside would copy that value.
    ///
    /// - Parameter ticket: the number of the commit, greater than those of all earlier commits.
    mutating func endTurn(_ ticket: UInt64, now: UInt64) -> TurnOutput {
        let write = takeWrite(ticket)
        let isDropped = replica.isHandedOver
        if isDropped { beginDrop() }
        return TurnOutput(
            write: write, frames: takeOutbox(), settled: takeSettled(now: now),
            served: replica.served, divergences: takeDivergences(), damage: takeDamage(),
            isDropped: isDropped, unsettledBytes: unsettledBytes, tokenNews: takeTokenNews())
    }
}
