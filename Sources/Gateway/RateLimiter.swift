/// The limiter of requests a second, for each name by itself, such as a user or an address.
///
/// A name that was quiet may send a burst at once. Source: the generic cell rate algorithm (ITU-T
/// I.371), which keeps one time for each name. Each node counts by itself.
package struct RateLimiter: Sendable {
    /// How many seconds' requests may be sent at once.
    private static let burstSeconds: UInt64 = 10
    /// The most names that are remembered; beyond that, those that could send a burst are
    /// forgotten, and then all.
    private static let namesMax = 65_536

    /// The most requests a second; nil for any number.
    package let perSecond: Int?
    /// When the requests of a name would be over if they had come evenly, in microseconds.
    private var dues: [String: UInt64] = [:]

    /// - Parameter perSecond: 0 for any number.
    package init(perSecond: Int) { self.perSecond = perSecond > 0 ? perSecond : nil }

    /// Counts a request, if the name may send one now.
    package mutating func admits(_ name: String, milliseconds: UInt64) -> Bool {
        guard let perSecond else { return true }
        let now = milliseconds * 1_000
        let due = max(dues[name] ?? now, now) + UInt64(1_000_000 / perSecond)
        guard due <= now + RateLimiter.burstSeconds * 1_000_000 else { return false }
        if dues.count >= RateLimiter.namesMax, dues[name] == nil { forget(now) }
        dues[name] = due
        return true
    }

    private mutating func forget(_ now: UInt64) {
        dues = dues.filter { $0.value > now }
        if dues.count >= RateLimiter.namesMax { dues = [:] }
    }
}
