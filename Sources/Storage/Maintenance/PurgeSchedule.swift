/// The schedule for emptying the write-ahead log after texts were purged.
struct PurgeSchedule {
    /// The pause in writing after which the log is emptied, in milliseconds.
    private static let idleMilliseconds: UInt64 = 20
    /// The most milliseconds for which a purged text stays in the log if writing never pauses.
    private static let delayMillisecondsMax: UInt64 = 1_000
    private static let retryMilliseconds: UInt64 = 50

    /// The latest time for emptying the log, set by the oldest purge since it was last emptied.
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
