import Chat
import Replication
import Wire

/// Sample data on its way to the shards that it belongs to.
struct Seeding: Sendable {
    /// How many of its writes are not acknowledged.
    var waits = 0
    /// Why one of them was not carried out, if so; what exists as something else stays.
    private(set) var failure: ShardFailure?

    mutating func note(_ outcome: Completion) {
        guard case .failed(let failure) = outcome else { return }
        if case .refused = failure { return }
        self.failure = failure
    }

    var outcome: Completion { failure.map(Completion.failed) ?? .done }
}

extension Node {
    /// Adds the sample data, what is not there yet.
    ///
    /// All of its writes are under way at once: each shard keeps the order of its own, and whatever
    /// the connection asks next comes behind them.
    package func seed(level: AckLevel, for slot: ReplySlot) -> Reply {
        var seeding = Seeding()
        for mutation in SampleData.mutations {
            switch handle(mutation, isMinted: false, level: level, for: slot) {
            case .awaited: seeding.waits += 1
            case .here(let outcome, let isSettled):
                seeding.note(outcome)
                if !isSettled { seeding.waits += 1 }
            }
        }
        guard seeding.waits > 0 else { return .here(seeding.outcome, isSettled: true) }
        seedings[slot] = seeding
        return .awaited
    }

    /// One of its writes is carried out.
    ///
    /// - Parameter isSettled: it waits for no disk.
    func note(_ outcome: Completion, _ isSettled: Bool, ofSeeding slot: ReplySlot) {
        seedings[slot]?.note(outcome)
        if isSettled { onSettled(seeding: slot, nil) }
    }

    /// One of its writes is acknowledged, or lost.
    func onSettled(seeding slot: ReplySlot, _ failure: ShardFailure?) {
        if let failure { seedings[slot]?.note(.failed(failure)) }
        seedings[slot]?.waits -= 1
        guard let seeding = seedings[slot], seeding.waits == 0 else { return }
        seedings[slot] = nil
        finish(slot, seeding.outcome, nil)
    }
}
