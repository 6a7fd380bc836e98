/// When to empty the log after texts were purged.
struct PurgeSchedule {
    /// A pause in the writing that counts as idle.
    private static let idleMilliseconds: UInt64 = 20
    /// How long a purged text stays in the log of a node that never pauses.
    private static let delayMillisecondsMax: UInt64 = 1_000
    private static let retryMilliseconds: UInt64 = 50

    /// The latest moment for the oldest purge that the log still knows.
    private var deadline: MonotonicTime?
    private(set) var due: MonotonicTime?

    mutating func noteCommit(purges: Bool) {
        guard purges || deadline != nil else { return }
        let now = MonotonicTime.now
        let latest = deadline ?? now.after(milliseconds: PurgeSchedule.delayMillisecondsMax)
        deadline = latest
        due = min(now.after(milliseconds: PurgeSchedule.idleMilliseconds), latest)
    }

    mutating func noteTruncation(succeeded: Bool) {
        if succeeded {
            deadline = nil
            due = nil
        } else if deadline != nil {
            due = MonotonicTime.now.after(milliseconds: PurgeSchedule.retryMilliseconds)
        }
    }
}
