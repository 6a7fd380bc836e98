import Node
import Wire

/// A client whose sessions share turns with those of others.
package enum TurnSource: Hashable, Sendable {
    /// A user, on however many connections.
    case user(UserID)
    /// A connection that acts for any user.
    case session(UInt64)
}

extension Session {
    /// Whose requests these are, for shares of turns and of memory.
    var source: TurnSource { signIn.user.map(TurnSource.user) ?? .session(id) }
}

/// The time of a turn that sessions share, and the sessions that wait for the next turn.
///
/// Sessions that wait are served before anything new is read, one of each source, then the next of
/// each. What is then read has as much time again, so that a client that asks for little is
/// answered at once, however many wait.
struct TurnQueue: Sendable {
    /// The number of the turn.
    private(set) var turn: UInt64 = 0
    private(set) var linesPerTurn = SessionLimits.slotsMax
    private var timePerSession = SessionLimits.turnMicrosecondsMax / TurnQueue.sharesMin
    /// The time that is left in this turn, in microseconds.
    private var left = SessionLimits.turnMicrosecondsMax
    private var waiting = FairQueue<TurnSource, UInt64>()
    /// The number of waiting sessions that are still to be served in this turn.
    private var due = 0

    /// A session gets at most this fraction of a turn, however few sources wait: more may come.
    private static let sharesMin: UInt64 = 4

    var isEmpty: Bool { waiting.isEmpty }

    var grant: TurnShare.Grant {
        TurnShare.Grant(turn: turn, lines: linesPerTurn, time: min(left, timePerSession))
    }

    mutating func subtract(used: UInt64) { left -= min(left, used) }

    mutating func wait(_ id: UInt64, of source: TurnSource) { waiting.append(id, of: source) }

    /// Ends a turn and begins the next.
    ///
    /// The caller then calls `takeWaiting` until it returns nil, and then `open`.
    mutating func endTurn() {
        turn += 1
        due = waiting.count
        let sources = max(1, waiting.sourceCount)
        linesPerTurn = min(
            SessionLimits.slotsMax,
            max(SessionLimits.linesPerTurnMin, SessionLimits.linesPerTurnMax / sources))
        timePerSession = max(
            SessionLimits.turnMicrosecondsMin,
            SessionLimits.turnMicrosecondsMax / max(TurnQueue.sharesMin, UInt64(sources)))
        left = SessionLimits.turnMicrosecondsMax
    }

    /// Takes the next session that may continue in this turn; nil for none.
    mutating func takeWaiting() -> UInt64? {
        guard due > 0, left > 0 else { return nil }
        due -= 1
        return waiting.takeFirst()
    }

    /// Gives the time anew, for what is read after the waiting sessions were served.
    mutating func open() { left = SessionLimits.turnMicrosecondsMax }
}
