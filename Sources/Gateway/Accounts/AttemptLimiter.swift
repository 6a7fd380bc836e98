import Chat
import Wire

/// The limiter of password guesses and of requests that are expensive for the cluster.
///
/// Each subject, such as an account together with a client address, may make some attempts without
/// a pause. Each further attempt doubles the pause before the next one. An attempt counts when it
/// begins, so that parallel attempts do not evade the limit, and is subtracted if it succeeds. Each
/// node counts separately.
struct AttemptLimiter: Sendable {
    /// The name of a counter of attempts, with the counter's limits; subjects with equal names
    /// share it.
    struct Subject: Hashable, Sendable {
        let name: String
        /// The number of attempts that are allowed before pauses between attempts begin.
        let free: Int
        /// The shortest and the longest pause between two attempts, in milliseconds.
        var pauseMin: UInt64 = 0
        var pauseMax = AttemptLimiter.pauseMax
        /// The interval at which the counter of attempts decreases by one, in milliseconds.
        var forgiving: UInt64 = 600_000
    }

    private struct Record: Sendable {
        var attempts = 0
        /// The time until which attempts are refused, in milliseconds.
        var blockedUntil: UInt64 = 0
        /// When the counter of attempts was created, or last decreased as time passed, in
        /// milliseconds.
        var triedAt: UInt64 = 0
    }

    /// The longest pause between two attempts, in milliseconds (15 minutes).
    static let pauseMax: UInt64 = 900_000
    /// How long the counter of a subject that makes no attempts is kept, in milliseconds (1 hour).
    static let memoryMilliseconds: UInt64 = 3_600_000
    /// The longest pause after an attempt that failed before a password was compared, in
    /// milliseconds.
    static let shortPause: UInt64 = 250
    /// The maximum number of subjects whose attempts are counted.
    static let recordsMax = 65_536

    private var records: [String: Record] = [:]

    /// Counts an attempt, such as a sign-in, in the counter of each given subject (such as the
    /// account and the client address), unless one of the subjects has to wait.
    ///
    /// - Returns: the seconds that the client has to wait; nil if the attempt was counted and may
    ///   be made now.
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
            // The pauses after parallel attempts add up.
            record.blockedUntil = max(record.blockedUntil, now) + min(pause, subject.pauseMax)
        }
        records[subject.name] = record
    }

    /// Subtracts an attempt that succeeded, or that compared no password, from a subject's counter,
    /// and ends the pause before the next attempt.
    mutating func forget(_ subject: Subject) {
        guard var record = records[subject.name] else { return }
        record.attempts -= 1
        record.blockedUntil = 0
        records[subject.name] = record.attempts > 0 ? record : nil
    }

    /// Shortens the pause after an attempt that failed before a password was compared.
    mutating func shortenPause(of subject: Subject, now: UInt64) {
        guard let record = records[subject.name] else { return }
        let end = now + AttemptLimiter.shortPause
        records[subject.name]?.blockedUntil = min(record.blockedUntil, end)
    }

    /// Resets the counter of a subject whose last attempt had the right password.
    mutating func forgetAll(of subject: Subject) { records[subject.name] = nil }

    /// If the maximum number of counters is reached, removes those counters that were created, or
    /// last decreased, at least `memoryMilliseconds` ago and, if that is not enough, the half for
    /// which this was longest ago.
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
    /// The limit on guesses of one account's password from one client address.
    static func guesses(of account: String, from address: String) -> Self {
        Self(name: "guess \(account) from \(address)", free: 5)
    }

    /// The limit on guesses of an account's password by one device that has signed in before.
    static func guesses(of account: String, by signIn: DeviceSignIn) -> Self {
        Self(name: "guess \(account) by \(signIn.id)", free: 5)
    }

    /// The limit on guesses of an account's password, counted together over all devices that have
    /// signed in to the account before.
    static func guessesByDevices(of account: String) -> Self {
        Self(name: "guess \(account) by devices", free: 200)
    }

    /// The limit on guesses of an account's password, counted together over all devices and
    /// addresses that have not signed in to the account before.
    static func guesses(of account: String) -> Self { Self(name: "guess \(account)", free: 200) }

    /// The limit on guesses of any account's password from one client address; the limit is high,
    /// because many users may share the address.
    static func guesses(from source: String) -> Self { Self(name: "from \(source)", free: 100) }

    /// The limit on sign-ins to one account with the right password, because the cluster stores
    /// each sign-in for a while; a sign-in that fails after the password check counts, too.
    static func signIns(of account: String) -> Self {
        Self(name: "in \(account)", free: 60, pauseMax: 60_000, forgiving: 10_000)
    }

    static func signIns(from source: String) -> Self {
        Self(name: "in from \(source)", free: 300, pauseMax: 60_000, forgiving: 1_000)
    }

    static func signUps(from source: String) -> Self {
        Self(name: "up \(source)", free: 200, pauseMax: 60_000, forgiving: 10_000)
    }

    /// The limit on one user's look-ups of e-mail addresses, which a person who chats does not
    /// reach.
    static func lookUps(by user: UserID) -> Self {
        Self(
            name: "look \(user)", free: 30, pauseMin: 10_000, pauseMax: 10_000,
            forgiving: 10_000)
    }

    /// The limit on failed renewals of sign-ins from one client address.
    static func renewals(from source: String) -> Self {
        Self(name: "renew \(source)", free: 200, pauseMax: 60_000, forgiving: 1_000)
    }
}
