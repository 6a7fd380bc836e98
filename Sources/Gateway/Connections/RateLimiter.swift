/// The limiter of what each name, such as a user or an address, asks for in a time: requests, or
/// bytes.
///
/// A name that was quiet for that time may have all of it at once. Source: the generic cell rate
/// algorithm (ITU-T I.371), which keeps one time for each name. Each node counts by itself.
package struct RateLimiter: Sendable {
    /// How many seconds' requests may be sent at once.
    private static let burstSeconds: UInt64 = 10
    /// The most names that are remembered; beyond that, those that could have all at once are
    /// forgotten, and then all.
    private static let namesMax = 65_536

    /// How much a name may ask for in `microseconds`; nil for any amount.
    private let most: UInt64?
    private let microseconds: UInt64
    /// When what a name has asked for would be over if it had come evenly, in microseconds.
    private var dues: [String: UInt64] = [:]

    /// - Parameter perSecond: requests, of which those of ten seconds may be sent at once; 0 for
    ///   any number.
    package init(perSecond: Int) {
        self.init(
            most: UInt64(max(0, perSecond)) * RateLimiter.burstSeconds,
            in: RateLimiter.burstSeconds * 1_000)
    }

    /// - Parameter most: at most 2^40 in `milliseconds`; 0 for any amount.
    package init(most: UInt64, in milliseconds: UInt64) {
        self.most = most > 0 ? most : nil
        microseconds = milliseconds * 1_000
    }

    package var isLimited: Bool { most != nil }

    /// Counts a request, if the name may send one now.
    package mutating func admits(_ name: String, milliseconds: UInt64) -> Bool {
        delay(of: 1, for: name, counted: true, milliseconds: milliseconds) == 0
    }

    /// Returns how long a name has to wait for an amount, in milliseconds; 0 where it may have it
    /// now.
    ///
    /// - Parameter isCounted: whether an amount that the name may have counts as asked for.
    package mutating func delay(
        of amount: UInt64, for name: String, counted isCounted: Bool, milliseconds: UInt64
    ) -> UInt64 {
        guard let most else { return 0 }
        let now = milliseconds * 1_000
        let cost = microseconds.multipliedFullWidth(by: amount)
        // More than there is at all is admitted with all of it.
        let whole = amount < most ? most.dividingFullWidth(cost).quotient : microseconds
        let due = max(dues[name] ?? now, now) + whole
        guard due <= now + microseconds else { return (due - now - microseconds) / 1_000 + 1 }
        guard isCounted else { return 0 }
        if dues.count >= RateLimiter.namesMax, dues[name] == nil { forget(now) }
        dues[name] = due
        return 0
    }

    private mutating func forget(_ now: UInt64) {
        dues = dues.filter { $0.value > now }
        if dues.count >= RateLimiter.namesMax { dues = [:] }
    }
}
