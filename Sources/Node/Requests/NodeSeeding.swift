import CRDT
import Chat
import Replication
import Wire

/// A `SEED` that is underway: sample data on its way to several shards.
struct Seeding: Sendable {
    /// The number of writes that are not acknowledged yet.
    var waits = 0
    /// The reason why a write was not executed, if one was not.
    ///
    /// A refusal does not count: what exists under the same name stays as it is.
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
    /// Adds the sample data that is not there yet.
    ///
    /// All of its writes are under way at once. Each shard keeps their order, and later requests of
    /// the connection follow them.
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

    /// Notes that one of the writes was executed.
    ///
    /// - Parameter isSettled: whether the write waits for no disk.
    func recordCompletion(_ outcome: Completion, _ isSettled: Bool, ofSeeding slot: ReplySlot) {
        seedings[slot]?.recordCompletion(outcome, isHere: false)
        if isSettled { onSettled(seeding: slot, nil) }
    }

    /// Notes that one of the writes was acknowledged, or failed.
    func onSettled(seeding slot: ReplySlot, _ failure: ShardFailure?) {
        if let failure { seedings[slot]?.recordCompletion(.failed(failure), isHere: true) }
        seedings[slot]?.waits -= 1
        guard let seeding = seedings[slot], seeding.waits == 0 else { return }
        seedings[slot] = nil
        tellWrites(of: seeding, to: slot.session)
        finish(slot, seeding.outcome, nil)
    }

    /// Has the session count the writes as its own, unless one of them may have failed.
    private func tellWrites(of seeding: Seeding, to session: UInt64) {
        guard seeding.failure == nil else { return }
        for (write, isHere) in seeding.writes { sinks[session]?.onWritten(write, isHere: isHere) }
    }
}
