/// One session's share of a turn of the event loop: how many lines it may answer, and how long.
struct TurnShare: Sendable {
    /// What the room grants a session in a turn.
    struct Grant: Sendable {
        let turn: UInt64
        let lines: Int
        /// In microseconds; 0 where the turn is spent.
        let time: UInt64
    }

    private var grant = Grant(turn: 0, lines: SessionLimits.slotsMax, time: .max)
    private var lines = 0
    /// What was used of the granted time, in microseconds.
    private var time: UInt64 = 0
    /// What of that the room was not told.
    private var untold: UInt64 = 0
    /// When the work that is being measured began.
    private var since: UInt64?
    /// Whether the room knows that the session stands back.
    var isWaiting = false

    /// Whether the others are to have their turn.
    var isSpent: Bool { lines >= grant.lines || time >= grant.time }

    /// Begins to measure; what was used in the same turn still counts.
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
        note(now: now)
    }

    /// Counts the time since the last note.
    mutating func note(now: UInt64) {
        guard let since, now > since else { return }
        time += now - since
        untold += now - since
        self.since = now
    }

    /// Ends the measuring.
    ///
    /// - Returns: what the room is to be told, in microseconds.
    mutating func end() -> UInt64 {
        since = nil
        defer { untold = 0 }
        return untold
    }
}

/// The time of a turn that sessions share, and the sessions that wait for the next.
///
/// Those that wait are served in the order in which they came, before anything new is read; what
/// is read has as much time again, so that a client that asks for little is answered at once
/// however many wait.
struct TurnQueue: Sendable {
    /// Counts the turns of the event loop.
    private(set) var turn: UInt64 = 0
    private(set) var linesPerTurn = SessionLimits.slotsMax
    private var timePerSession = SessionLimits.turnMicrosecondsMax / TurnQueue.sharesMin
    /// What is left of this turn, in microseconds.
    private var left = SessionLimits.turnMicrosecondsMax
    private var waiting: [UInt64] = []
    private var first = 0
    /// How many of those that wait are served in this turn.
    private var due = 0

    /// No session gets more of a turn than one of so many shares, however few there are: there may
    /// be more to come.
    private static let sharesMin: UInt64 = 4

    var isEmpty: Bool { first == waiting.count }

    var grant: TurnShare.Grant {
        TurnShare.Grant(turn: turn, lines: linesPerTurn, time: min(left, timePerSession))
    }

    mutating func note(used: UInt64) { left -= min(left, used) }

    mutating func wait(_ id: UInt64) { waiting.append(id) }

    /// The end of a turn, and the beginning of the next: `takeWaiting`, then `open`, are due.
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

    /// The next session that may go on in this turn.
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

    /// Those that waited had their share: what is read next has its own.
    mutating func open() { left = SessionLimits.turnMicrosecondsMax }
}
