import CRDT
import Chat
import Replication
import Wire

/// A running `SEED`: the writing of sample data to several shards.
struct Seeding: Sendable {
    /// The number of writes that are not acknowledged yet.
    var waits = 0
    /// The reason why a write was not executed; nil if no write has failed.
    ///
    /// A refused write is no failure: a document that exists already remains unchanged.
    private(set) var failure: ShardFailure?
    /// The writes that were executed, some of them on other nodes.
    private(set) var writes: [(write: Write, isHere: Bool)] = []

    mutating func recordCompletion(_ outcome: Completion, isHere: Bool) {
        switch outcome {
        case .written(let receipt, let shard):
            writes.append((Write(shard: shard, context: receipt.context, nil), isHere))
        case .failed(.refused), .found, .done: break
        case .failed(let failure): self.failure = failure
        }
    }

    var outcome: Completion { failure.map(Completion.failed) ?? .done }
}

extension Node {
    /// Writes the sample data that does not exist yet.
    ///
    /// All writes are issued at once. Each shard executes its writes in order, and executes later
    /// requests of the connection after these writes.
    package func seed(
        level: AckLevel, for slot: ReplySlot, having sessionVectors: SessionVectors,
        after unsettled: Unsettled
    ) -> Reply {
        var seeding = Seeding()
        for mutation in SampleData.mutations {
            let reply = execute(
                mutation, without: .none, isMinted: false, level: level, for: slot,
                having: sessionVectors, after: unsettled)
            switch reply {
            case .awaited: seeding.waits += 1
            case .here(let outcome, let isSettled):
                seeding.recordCompletion(outcome, isHere: true)
                if !isSettled { seeding.waits += 1 }
            }
        }
        guard seeding.waits > 0 else {
            tellWrites(of: seeding, to: slot.session)
            return .here(seeding.outcome, isSettled: true)
        }
        seedings[slot] = seeding
        return .awaited
    }

    /// Records that one write of a `SEED` was executed.
    ///
    /// - Parameter isSettled: whether the write waits for no disk.
    func recordCompletion(_ outcome: Completion, _ isSettled: Bool, ofSeeding slot: ReplySlot) {
        seedings[slot]?.recordCompletion(outcome, isHere: false)
        if isSettled { onSettled(seeding: slot, nil) }
    }

    /// Records that one write of a `SEED` was acknowledged or has failed.
    func onSettled(seeding slot: ReplySlot, _ failure: ShardFailure?) {
        if let failure { seedings[slot]?.recordCompletion(.failed(failure), isHere: true) }
        seedings[slot]?.waits -= 1
        guard let seeding = seedings[slot], seeding.waits == 0 else { return }
        seedings[slot] = nil
        tellWrites(of: seeding, to: slot.session)
        finish(slot, seeding.outcome, nil)
    }

    /// Reports the writes to the session as its own, unless one write has failed.
    private func tellWrites(of seeding: Seeding, to session: UInt64) {
        guard seeding.failure == nil else { return }
        for (write, isHere) in seeding.writes { sinks[session]?.onWritten(write, isHere: isHere) }
    }
}
