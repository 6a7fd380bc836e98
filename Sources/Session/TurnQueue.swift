import Node
import Wire

/// A client whose sessions share the time of the event loop with the sessions of other clients.
package enum TurnSource: Hashable, Sendable {
    /// A user, on any number of connections.
    case user(UserID)
    /// A connection that may act for any user.
    case session(UInt64)
}

extension Session {
    /// The user or the connection to which the session's use of time and memory counts.
    var source: TurnSource { signIn.user.map(TurnSource.user) ?? .session(id) }
}

/// The time that sessions share in an iteration of the event loop ("turn"), and the sessions that
/// wait for the next iteration.
///
/// Waiting sessions are served before the node reads new input: one session of each source, then
/// the next session of each source. New input then gets the full time again, so that a client with
/// few requests is answered at once, however many sessions wait.
struct TurnQueue: Sendable {
    /// The number of the current iteration of the event loop.
    private(set) var turn: UInt64 = 0
    private(set) var linesPerTurn = SessionLimits.slotsMax
    private var timePerSession = SessionLimits.turnMicrosecondsMax / TurnQueue.sharesMin
    /// The time that is left in this iteration, in microseconds.
    private var left = SessionLimits.turnMicrosecondsMax
    private var waiting = FairQueue<TurnSource, UInt64>()
    /// The number of waiting sessions that may still be served in this iteration.
    private var due = 0

    /// The divisor that bounds a session's share of the time while few sources wait, since further
    /// sources may come.
    private static let sharesMin: UInt64 = 4

    var isEmpty: Bool { waiting.isEmpty }

    var grant: TurnShare.Grant {
        TurnShare.Grant(turn: turn, lines: linesPerTurn, time: min(left, timePerSession))
    }

    mutating func subtract(used: UInt64) { left -= min(left, used) }

    mutating func wait(_ id: UInt64, of source: TurnSource) { waiting.append(id, of: source) }

    /// Ends an iteration of the event loop and begins the next iteration.
    ///
    /// The caller then calls `takeWaiting` until that returns nil, and then calls `open`.
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

    /// Removes and returns the next session that may continue in this iteration; nil for none.
    mutating func takeWaiting() -> UInt64? {
        guard due > 0, left > 0 else { return nil }
        due -= 1
        return waiting.takeFirst()
    }

    /// Resets the time that is left, for input that is read after the waiting sessions were served.
    mutating func open() { left = SessionLimits.turnMicrosecondsMax }
}
