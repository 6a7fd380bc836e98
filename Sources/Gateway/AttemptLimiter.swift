/// The limiter of attempts to guess a password, for each account and each address of clients.
///
/// The first failures cost nothing but their time; then each doubles the pause before the next
/// attempt. Each node counts by itself.
struct AttemptLimiter: Sendable {
    private struct Record: Sendable {
        var failures = 0
        /// Until when no attempt is made, in milliseconds.
        var blockedUntil: UInt64 = 0
        /// When the last failure was, in milliseconds.
        var failedAt: UInt64 = 0
    }

    /// The failures of an account that cost nothing.
    static let freeOfAccount = 5
    /// The failures of an address that cost nothing: many users may share one.
    static let freeOfAddress = 100
    /// The sign-ups of an address that cost nothing.
    static let freeSignUps = 200
    /// The longest pause, in milliseconds (15 minutes).
    static let pauseMax: UInt64 = 900_000
    /// The most accounts and addresses that are remembered.
    static let recordsMax = 65_536
    /// How long a failure counts, in milliseconds (an hour).
    private static let memoryMilliseconds: UInt64 = 3_600_000

    private var records: [String: Record] = [:]

    /// Returns how long to wait before the next attempt, in seconds; nil where it may be made.
    func secondsLeft(_ name: String, now: UInt64) -> Int? {
        guard let record = records[name], now < record.blockedUntil else { return nil }
        return Int((record.blockedUntil - now + 999) / 1_000)
    }

    mutating func noteFailure(_ name: String, free: Int, now: UInt64) {
        makeRoom(now: now)
        var record = records[name] ?? Record()
        if now >= record.failedAt + AttemptLimiter.memoryMilliseconds { record = Record() }
        record.failures += 1
        record.failedAt = now
        let beyond = record.failures - free
        if beyond >= 0 {
            record.blockedUntil = now + min(1_000 << UInt64(min(beyond, 20)), Self.pauseMax)
        }
        records[name] = record
    }

    mutating func noteSuccess(_ name: String) { records[name] = nil }

    /// Forgets what does not count any more, and then whoever failed longest ago.
    private mutating func makeRoom(now: UInt64) {
        guard records.count >= AttemptLimiter.recordsMax else { return }
        records = records.filter { now < $0.value.failedAt + AttemptLimiter.memoryMilliseconds }
        guard records.count >= AttemptLimiter.recordsMax else { return }
        let times = records.values.map(\.failedAt).sorted()
        let median = times[times.count / 2]
        records = records.filter { $0.value.failedAt > median }
    }
}
