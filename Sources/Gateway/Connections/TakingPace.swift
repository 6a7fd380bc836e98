/// The pace at which a client takes what is written for it.
///
/// A client that takes nothing, or next to nothing for a long time, holds memory here and in the
/// kernel that others need.
struct TakingPace: Sendable {
    /// When the client last took something, or nothing waited for it, in milliseconds.
    private var takenAt: UInt64
    /// The bytes that it had taken at the last tick.
    private var takenLast: UInt64 = 0
    /// Since when something has waited all the time, at most for `AppLimits.paceMilliseconds`, and
    /// what had been taken then.
    private var busySince: UInt64
    private var takenBefore: UInt64 = 0

    init(now: UInt64) {
        takenAt = now
        busySince = now
    }

    /// Notes the state at a tick.
    ///
    /// - Parameters:
    ///   - queued: the bytes that wait for the client.
    ///   - written: the bytes that were written for it since the connection began.
    /// - Returns: whether the client takes too little.
    mutating func isTooSlow(queued: Int, written: UInt64, now: UInt64) -> Bool {
        let taken = written - min(written, UInt64(queued))
        if taken > takenLast || queued == 0 { takenAt = now }
        takenLast = taken
        guard queued > 0 else {
            (busySince, takenBefore) = (now, taken)
            return false
        }
        guard now < takenAt + AppLimits.stalledMillisecondsMax else { return true }
        guard now >= busySince + AppLimits.paceMilliseconds else { return false }
        let least = AppLimits.paceBytesPerSecond * (now - busySince) / 1_000
        defer { (busySince, takenBefore) = (now, taken) }
        return taken < takenBefore + least
    }
}
