import Chat
import Wire

/// The limiter of attempts to guess passwords, and of what costs the cluster something.
///
/// Each name, such as an account and the address of a client together, has some attempts for
/// nothing; then each doubles the pause before the next. An attempt counts when it begins, so that
/// many at once are no way around it, and is taken back where it succeeds. Each node counts by
/// itself.
struct AttemptLimiter: Sendable {
    /// A name whose attempts are counted together.
    struct Subject: Hashable, Sendable {
        let name: String
        /// The attempts that cost nothing.
        let free: Int
        /// The shortest and the longest pause, in milliseconds.
        var pauseMin: UInt64 = 0
        var pauseMax = AttemptLimiter.pauseMax
        /// The time after which one attempt is forgiven, in milliseconds.
        var forgiving: UInt64 = 600_000
    }

    private struct Record: Sendable {
        var attempts = 0
        /// Until when no attempt is made, in milliseconds.
        var blockedUntil: UInt64 = 0
        /// When attempts were last forgiven, in milliseconds.
        var triedAt: UInt64 = 0
    }

    /// The longest pause, in milliseconds (15 minutes).
    static let pauseMax: UInt64 = 900_000
    /// How long a name without attempts is remembered, in milliseconds (an hour).
    static let memoryMilliseconds: UInt64 = 3_600_000
    /// The longest pause after an attempt that came to nothing, in milliseconds.
    static let shortPause: UInt64 = 250
    /// The most names that are remembered.
    static let recordsMax = 65_536

    private var records: [String: Record] = [:]

    /// Counts an attempt of all subjects, if each may make one.
    ///
    /// - Returns: how long to wait, in seconds; nil where the attempt may be made.
    mutating func begin(_ subjects: [Subject], now: UInt64) -> Int? {
        let waits = subjects.compactMap { subject -> UInt64? in
            guard let record = records[subject.name], now < record.blockedUntil else { return nil }
            return record.blockedUntil - now
        }
        if let wait = waits.max() { return Int((wait + 999) / 1_000) }
        for subject in subjects { count(subject, now: now) }
        return nil
    }

    private mutating func count(_ subject: Subject, now: UInt64) {
        dropOldest(now: now)
        var record = records[subject.name] ?? Record()
        let forgiven = Int((now - record.triedAt) / subject.forgiving)
        if forgiven > 0 || record.attempts == 0 { record.triedAt = now }
        record.attempts = max(0, record.attempts - forgiven) + 1
        let beyond = record.attempts - subject.free
        if beyond >= 0 {
            let pause = max(1_000 << UInt64(min(beyond, 20)), subject.pauseMin)
            // Several attempts at once have a pause each.
            record.blockedUntil = max(record.blockedUntil, now) + min(pause, subject.pauseMax)
        }
        records[subject.name] = record
    }

    /// Takes an attempt back: it succeeded.
    mutating func forget(_ subject: Subject) {
        guard var record = records[subject.name] else { return }
        record.attempts -= 1
        record.blockedUntil = 0
        records[subject.name] = record.attempts > 0 ? record : nil
    }

    /// Ends the pause after an attempt soon: it came to nothing, though it counts.
    mutating func shortenPause(of subject: Subject, now: UInt64) {
        guard let record = records[subject.name] else { return }
        let end = now + AttemptLimiter.shortPause
        records[subject.name]?.blockedUntil = min(record.blockedUntil, end)
    }

    /// Takes back all attempts of a name: whoever made the last one knows the password.
    mutating func forgetAll(of subject: Subject) { records[subject.name] = nil }

    /// Forgets what does not count any more, and then whoever tried longest ago.
    private mutating func dropOldest(now: UInt64) {
        guard records.count >= AttemptLimiter.recordsMax else { return }
        records = records.filter { now < $0.value.triedAt + AttemptLimiter.memoryMilliseconds }
        guard records.count >= AttemptLimiter.recordsMax else { return }
        let times = records.values.map(\.triedAt).sorted()
        let median = times[times.count / 2]
        records = records.filter { $0.value.triedAt > median }
    }
}

extension AttemptLimiter.Subject {
    /// Guesses of an account's password from one address.
    static func guesses(of account: String, from address: String) -> Self {
        Self(name: "guess \(account) from \(address)", free: 5)
    }

    /// Guesses of an account's password by a device that has signed in to it before.
    static func guesses(of account: String, by signIn: DeviceSignIn) -> Self {
        Self(name: "guess \(account) by \(signIn.id)", free: 5)
    }

    /// Guesses of an account's password by all devices that have signed in to it before.
    static func guessesByDevices(of account: String) -> Self {
        Self(name: "guess \(account) by devices", free: 200)
    }

    /// Guesses of an account's password by devices and from addresses that have not signed in to it
    /// before.
    static func guesses(of account: String) -> Self { Self(name: "guess \(account)", free: 200) }

    /// Guesses from one address, which many users may share.
    static func guesses(from source: String) -> Self { Self(name: "from \(source)", free: 100) }

    /// Sign-ins of an account, successful or not: each leaves something behind for a while.
    static func signIns(of account: String) -> Self {
        Self(name: "in \(account)", free: 60, pauseMax: 60_000, forgiving: 10_000)
    }

    static func signIns(from source: String) -> Self {
        Self(name: "in from \(source)", free: 300, pauseMax: 60_000, forgiving: 1_000)
    }

    static func signUps(from source: String) -> Self {
        Self(name: "up \(source)", free: 200, pauseMax: 60_000, forgiving: 10_000)
    }

    /// Addresses by which a user looks others up: more than people write to in a while.
    static func lookUps(by user: UserID) -> Self {
        Self(
            name: "look \(user)", free: 30, pauseMin: 10_000, pauseMax: 10_000,
            forgiving: 10_000)
    }

    /// Refresh tokens that were refused.
    static func renewals(from source: String) -> Self {
        Self(name: "renew \(source)", free: 200, pauseMax: 60_000, forgiving: 1_000)
    }
}
