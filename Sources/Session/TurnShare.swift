/// The share of one session in a turn of the event loop: the lines it may answer, and the time.
struct TurnShare: Sendable {
    /// The lines and the time that `ClientMemory` grants a session in a turn.
    struct Grant: Sendable {
        let turn: UInt64
        let lines: Int
        /// In microseconds; 0 if the turn's time is used up.
        let time: UInt64
    }

    private var grant = Grant(turn: 0, lines: SessionLimits.slotsMax, time: .max)
    private var lines = 0
    /// The part of the granted time that was used, in microseconds.
    private var time: UInt64 = 0
    /// The part of that which `ClientMemory` has not been told of, in microseconds.
    private var untold: UInt64 = 0
    /// When the work that is being measured began, in microseconds.
    private var since: UInt64?
    /// Whether the session is queued for the next turn.
    var isWaiting = false

    /// Whether the session has to wait for the next turn.
    var isSpent: Bool { lines >= grant.lines || time >= grant.time }

    /// Begins to measure.
    ///
    /// What the session has used in the same turn before still counts.
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

    /// Counts the time since the last call.
    mutating func measure(now: UInt64) {
        guard let since, now > since else { return }
        time += now - since
        untold += now - since
        self.since = now
    }

    /// Ends the measurement.
    ///
    /// - Returns: the time that `ClientMemory` has to be told of, in microseconds.
    mutating func finishMeasuring() -> UInt64 {
        since = nil
        defer { untold = 0 }
        return untold
    }
}
