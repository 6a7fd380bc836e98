/// The time by the nodes' clocks, as far as they have told it, and the times of operations.
///
/// A node's time is the older the longer its answer was under way, so the answer that shows the
/// latest time counts. Between answers, a monotonic clock counts on, whatever becomes of the
/// device's own time.
struct ServerTime: Sendable {
    /// Milliseconds by which a node's time may be ahead of another node's.
    private static let ahead: Int64 = 450
    /// Milliseconds that an answer may be under way; a time that is further back is of another
    /// clock.
    private static let slow: Int64 = 5_000

    /// The lead of the nodes' clocks over the monotonic clock, in milliseconds.
    private var lead: Int64
    private var isTold = false
    /// The latest time that nodes have shown.
    private var seen = ExactTime.zero
    /// The time of the last operation, in milliseconds since 1970.
    private(set) var lastStamp: Int64

    /// - Parameters:
    ///   - deviceTime: the device's time, in milliseconds since 1970, which counts until a node has
    ///     told its own.
    ///   - elapsed: the milliseconds of a monotonic clock.
    ///   - lastStamp: the time of the last operation before, in milliseconds since 1970.
    init(deviceTime: Int64, elapsed: Int64, lastStamp: Int64 = 0) {
        lead = deviceTime - elapsed
        self.lastStamp = lastStamp
    }

    /// Returns the nodes' time in milliseconds since 1970.
    func now(elapsed: Int64) -> Int64 { elapsed + lead }

    /// Notes the time of a node that has just answered.
    mutating func note(now time: ExactTime, elapsed: Int64) {
        let told = time.milliseconds - elapsed
        let isLate = isTold && told < lead && told > lead - Self.slow
        guard !isLate else { return }
        lead = told
        isTold = true
    }

    /// Notes the time that a node has given to what it has just accepted: the node's own time is no
    /// earlier, though what it has told before may have been under way for long.
    mutating func note(accepted time: ExactTime, elapsed: Int64) {
        let told = time.milliseconds - elapsed
        if told > lead, told < lead + Self.slow { lead = told }
    }

    /// Notes a time at which something has changed, which is shown by a node: the times of later
    /// operations are later.
    ///
    /// A time that is far ahead comes from a wrong clock, and does not count.
    mutating func note(shown time: ExactTime, elapsed: Int64) {
        guard time > seen, time.milliseconds < now(elapsed: elapsed) + Self.ahead else { return }
        seen = time
    }

    /// Returns the time of the next operation: later than those of all operations before, and than
    /// all that nodes have shown.
    ///
    /// - Parameter counter: distinguishes the devices of a user that act in one millisecond.
    mutating func nextStamp(elapsed: Int64, counter: UInt16) -> ExactTime {
        let now = now(elapsed: elapsed)
        let known = seen.milliseconds < now + Self.ahead ? seen.milliseconds + 1 : 0
        lastStamp = max(now, known, lastStamp + 1)
        return ExactTime(milliseconds: lastStamp, counter: counter)
    }

    /// Notes that a node has refused the time of an operation, since it is not yet past, or too
    /// long past.
    ///
    /// - Returns: whether the time was so far ahead that every node whose clock is right refuses
    ///   it. The times of operations then begin anew.
    mutating func note(refused time: ExactTime, now: ExactTime, elapsed: Int64) -> Bool {
        isTold = false
        note(now: now, elapsed: elapsed)
        let isFarAhead = time.milliseconds > self.now(elapsed: elapsed) + 2 * Self.ahead
        if isFarAhead { lastStamp = 0 }
        return isFarAhead
    }
}
