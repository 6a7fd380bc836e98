/// The rate at which a client reads the bytes written to it.
///
/// A client that reads nothing, or very little for a long time, occupies memory of the process and
/// the kernel that other clients need.
struct TakingPace: Sendable {
    /// When the client last read something, or had nothing left to read, in milliseconds.
    private var takenAt: UInt64
    /// The number of bytes that the client had read by the last timer tick.
    private var takenLast: UInt64 = 0
    /// The start of the measuring interval, in milliseconds, and the number of bytes that the
    /// client had read by then; since then, the client has always had something to read.
    private var busySince: UInt64
    private var takenBefore: UInt64 = 0

    init(now: UInt64) {
        takenAt = now
        busySince = now
    }

    /// Records how much is queued for the client at a timer tick, and checks how fast the client
    /// reads.
    ///
    /// - Parameters:
    ///   - queued: the number of written bytes that the network has not accepted yet.
    ///   - written: the number of bytes written since the connection began, with the queued ones.
    /// - Returns: whether the client reads too slowly.
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
