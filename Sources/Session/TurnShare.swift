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

/// The time of a turn that sessions share, and the sessions that wait for the next turn.
///
/// Sessions that wait are served in the order in which they came, before anything new is read. What
/// is then read has as much time again, so that a client that asks for little is answered at once,
/// however many wait.
struct TurnQueue: Sendable {
    /// The number of the turn.
    private(set) var turn: UInt64 = 0
    private(set) var linesPerTurn = SessionLimits.slotsMax
    private var timePerSession = SessionLimits.turnMicrosecondsMax / TurnQueue.sharesMin
    /// The time that is left in this turn, in microseconds.
    private var left = SessionLimits.turnMicrosecondsMax
    private var waiting: [UInt64] = []
    private var first = 0
    /// The number of waiting sessions that are still to be served in this turn.
    private var due = 0

    /// A session gets at most this fraction of a turn, however few sessions wait: more may come.
    private static let sharesMin: UInt64 = 4

    var isEmpty: Bool { first == waiting.count }

    var grant: TurnShare.Grant {
        TurnShare.Grant(turn: turn, lines: linesPerTurn, time: min(left, timePerSession))
    }

    mutating func subtract(used: UInt64) { left -= min(left, used) }

    mutating func wait(_ id: UInt64) { waiting.append(id) }

    /// Ends a turn and begins the next.
    ///
    /// The caller then calls `takeWaiting` until it returns nil, and then `open`.
    mutating func endTurn() {
        turn += 1
        due = waiting.count - first
        linesPerTurn = min(
            SessionLimits.slotsMax,
            max(SessionLimits.linesPerTurnMin, SessionLimits.linesPerTurnMax / max(1, due)))
        timePerSession = max(
            SessionLimits.turnMicrosecondsMin,
            SessionLimits.turnMicrosecondsMax / max(TurnQueue.sharesMin, UInt64(due)))
        left = SessionLimits.turnMicrosecondsMax
    }

    /// Takes the next session that may continue in this turn; nil for none.
    mutating func takeWaiting() -> UInt64? {
        guard due > 0, left > 0 else { return nil }
        due -= 1
        defer {
            first += 1
            if first == waiting.count { (waiting, first) = ([], 0) }
            if first >= SessionLimits.slotsMax {
                waiting.removeFirst(first)
                first = 0
            }
        }
        return waiting[first]
    }

    /// Gives the time anew, for what is read after the waiting sessions were served.
    mutating func open() { left = SessionLimits.turnMicrosecondsMax }
}
