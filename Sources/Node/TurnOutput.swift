import Chat
import Replication
import Wire

extension ShardMachine {
    /// What came of a turn.
    struct TurnOutput: Sendable {
        let write: ShardWrite?
        let frames: [(to: NodeName, frame: Frame)]
        let settled: [(ReplySlot, Stored)]
        /// The peers whose pulls wait for their next batch.
        let served: [NodeName]
        let divergences: [NodeName]
        /// What turned out to be damaged on disk; nil for nothing.
        let damage: Damage?
        /// Whether the copy is to go from the disk.
        let isDropped: Bool
        /// What is rewritten and not on disk yet, in bytes.
        let unsettledBytes: Int
    }

    /// Hands out all that came of a turn.
    ///
    /// Here and not where the machine is owned: whoever looks into an actor's value from outside
    /// of it copies what is looked at.
    ///
    /// - Parameter ticket: greater than every one before.
    mutating func endTurn(_ ticket: UInt64, now: UInt64) -> TurnOutput {
        let write = takeWrite(ticket)
        let isDropped = copy.isHandedOver
        if isDropped { beginDrop() }
        return TurnOutput(
            write: write, frames: takeOutbox(), settled: takeSettled(now: now),
            served: copy.served, divergences: takeDivergences(), damage: takeDamage(),
            isDropped: isDropped, unsettledBytes: unsettledBytes)
    }
}
