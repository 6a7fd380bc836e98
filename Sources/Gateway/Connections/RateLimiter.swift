/// A limiter of the requests or bytes that a name, such as a user, may use per interval.
///
/// A name that used nothing for an interval may use the whole amount at once. Source: the generic
/// cell rate algorithm (ITU-T I.371), which stores one time per name. Each node counts separately.
package struct RateLimiter: Sendable {
    /// The maximum burst: the number of seconds whose permitted requests may be sent all at once.
    private static let burstSeconds: UInt64 = 10
    /// The maximum number of names in `dues`.
    ///
    /// A further name removes the names whose time in `dues` has passed, and all names if none has.
    private static let namesMax = 65_536

    /// The maximum number of requests or bytes of one user, or of one client address, per interval
    /// of `microseconds`; nil for no limit.
    private let most: UInt64?
    private let microseconds: UInt64
    /// For each name, the time at which its usage so far would end if spread evenly at the
    /// permitted rate, in microseconds.
    private var dues: [String: UInt64] = [:]

    /// - Parameter perSecond: the number of requests permitted per second; 0 for no limit. A name
    ///   that has sent no request for 10 s may send the requests of 10 s at once.
    package init(perSecond: Int) {
        self.init(
            most: UInt64(max(0, perSecond)) * RateLimiter.burstSeconds,
            in: RateLimiter.burstSeconds * 1_000)
    }

    /// - Parameter most: the requests or bytes allowed in `milliseconds`, at most 2^40; 0 for no
    ///   limit.
    package init(most: UInt64, in milliseconds: UInt64) {
        self.most = most > 0 ? most : nil
        microseconds = milliseconds * 1_000
    }

    package var isLimited: Bool { most != nil }

    /// Counts a request of a user, or of a client address, if the rate limit permits it now.
    ///
    /// - Parameter name: the name of the user, or the client address.
    /// - Returns: whether the rate limit permits the request.
    package mutating func admits(_ name: String, milliseconds: UInt64) -> Bool {
        delay(of: 1, for: name, counted: true, milliseconds: milliseconds) == 0
    }

    /// Returns how long a name, such as a user, has to wait until it may use an amount of requests
    /// or bytes, in milliseconds; 0 if it may use the amount now.
    ///
    /// - Parameter isCounted: whether an amount that is allowed now is added to the name's usage.
    package mutating func delay(
        of amount: UInt64, for name: String, counted isCounted: Bool, milliseconds: UInt64
    ) -> UInt64 {
        guard let most else { return 0 }
        let now = milliseconds * 1_000
        let cost = microseconds.multipliedFullWidth(by: amount)
        // An amount above the limit is admitted if the name has used nothing of the limit yet; then
        // the amount uses the whole limit.
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
