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

    mutating func note(_ outcome: Completion) {
        guard case .failed(let failure) = outcome else { return }
        if case .refused = failure { return }
        self.failure = failure
    }

    var outcome: Completion { failure.map(Completion.failed) ?? .done }
}

extension Node {
    /// Adds the sample data that is not there yet.
    ///
    /// All of its writes are under way at once. Each shard keeps their order, and later requests of
    /// the connection follow them.
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

    /// Notes that one of the writes was executed.
    ///
    /// - Parameter isSettled: whether the write waits for no disk.
    func note(_ outcome: Completion, _ isSettled: Bool, ofSeeding slot: ReplySlot) {
        seedings[slot]?.note(outcome)
        if isSettled { onSettled(seeding: slot, nil) }
    }

    /// Notes that one of the writes was acknowledged, or failed.
    func onSettled(seeding slot: ReplySlot, _ failure: ShardFailure?) {
        if let failure { seedings[slot]?.note(.failed(failure)) }
        seedings[slot]?.waits -= 1
        guard let seeding = seedings[slot], seeding.waits == 0 else { return }
        seedings[slot] = nil
        finish(slot, seeding.outcome, nil)
    }
}
