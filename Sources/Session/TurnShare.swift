/// The share of one session in an iteration of the event loop: a number of lines, and a time.
struct TurnShare: Sendable {
    /// The lines and the time granted to a session in one iteration of the event loop.
    struct Grant: Sendable {
        let turn: UInt64
        let lines: Int
        /// The granted time in microseconds; 0 if the time of the iteration is used up.
        let time: UInt64
    }

    private var grant = Grant(turn: 0, lines: SessionLimits.slotsMax, time: .max)
    private var lines = 0
    /// The part of the granted time that the session has used, in microseconds.
    private var time: UInt64 = 0
    /// The part of the used time that was not reported to `ClientMemory` yet, in microseconds.
    private var untold: UInt64 = 0
    /// The time at which the current measurement began, in microseconds; nil for none.
    private var since: UInt64?
    /// Whether the session is queued for the next iteration of the event loop.
    var isWaiting = false

    /// Whether the session has used up its share and has to wait for the next iteration.
    var isSpent: Bool { lines >= grant.lines || time >= grant.time }

    /// Begins to measure the session's time.
    ///
    /// The lines and the time that the session has already used in the same iteration still count.
    mutating func begin(_ grant: Grant, now: UInt64) {
        if grant.turn != self.grant.turn {
            (lines, time) = (0, 0)
            self.grant = grant
        } else {
            let (end, hasPassed) = time.addingReportingOverflow(grant.time)
            self.grant = Grant(
                turn: grant.turn, lines: grant.lines,
                time: hasPassed ? self.grant.time : min(self.grant.time, end))
        }
        since = now
    }

    mutating func noteLine(now: UInt64) {
        lines += 1
        measure(now: now)
    }

    /// Adds the time since the last measurement to the used time.
    mutating func measure(now: UInt64) {
        guard let since, now > since else { return }
        time += now - since
        untold += now - since
        self.since = now
    }

    /// Ends the measurement of the session's time.
    ///
    /// - Returns: the used time that the caller reports to `ClientMemory`, in microseconds.
    mutating func finishMeasuring() -> UInt64 {
        since = nil
        defer { untold = 0 }
        return untold
    }
}
