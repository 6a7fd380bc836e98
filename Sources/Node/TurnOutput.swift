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
        /// Damage on disk that reads have found; nil for none.
        let damage: Damage?
        /// Whether the replica is to be deleted from the disk.
        let isDropped: Bool
        /// The size of rewritten documents that are not on disk yet, in bytes.
        let unsettledBytes: Int
        /// What all nodes have to know of sign-ins; nil for nothing.
        let tokenNews: TokenNews?
    }

    /// What documents have come to say of sign-ins, which all nodes have to know.
    struct TokenNews: Sendable {
        /// The sign-ins that were open here, and are not any more.
        var ended: [SignInID] = []
        /// The keys and revocations that earlier versions keep in a document.
        var signing: Signing?
    }

    /// Notes what a new state of a document says of sign-ins.
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

    /// Takes all output of a turn.
    ///
    /// It is collected here and not in the actor that owns the machine, since reading an actor's
    /// value from outside copies what is read.
    ///
    /// - Parameter ticket: the number of the commit, greater than all before.
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
