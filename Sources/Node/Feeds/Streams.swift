import CRDT
import Chat
import Replication
import Wire

/// The options of a stream of events that a client chooses when the stream begins.
package struct StreamOptions: Hashable, Sendable {
    /// The token from which the client resumes; nil for events from now on.
    package let since: Token?
    /// Whether each event comes with a token.
    package let hasTokens: Bool
    /// Whether an event tells that all missed events were sent.
    package let tellsLevel: Bool
    /// Whether the reply describes the stream.
    package let isDescribed: Bool
    /// The interval of heartbeats, in milliseconds; nil for no heartbeats.
    package let heartbeatMilliseconds: UInt64?

    package init(
        since: Token? = nil, hasTokens: Bool = true, tellsLevel: Bool = false,
        isDescribed: Bool = false, heartbeatMilliseconds: UInt64? = nil
    ) {
        self.since = since
        self.hasTokens = hasTokens
        self.tellsLevel = tellsLevel
        self.isDescribed = isDescribed
        self.heartbeatMilliseconds = heartbeatMilliseconds
    }
}

/// The sessions whose streams have heartbeats, or an event at the end of their replays.
struct Streams: Sendable {
    private struct Heartbeat: Sendable {
        let interval: UInt64
        /// When the next heartbeat is due, in milliseconds.
        var dueAt: UInt64
    }

    /// The sessions whose clients know the ids of their streams.
    private(set) var described: Set<UInt64> = []
    /// The sessions that have not got their `level` event yet.
    private(set) var unleveled: Set<UInt64> = []
    private var heartbeats: [UInt64: Heartbeat] = [:]
    /// The time before which no heartbeat is due, in milliseconds.
    private var nextAt: UInt64 = 0

    /// The time between two searches for due heartbeats, in milliseconds: a heartbeat may be as
    /// late, and a node with many streams searches them all only so often.
    static let pauseMilliseconds: UInt64 = 500

    mutating func begin(_ options: StreamOptions, for session: UInt64, now: UInt64) {
        if options.isDescribed { described.insert(session) }
        if options.tellsLevel { unleveled.insert(session) }
        if let interval = options.heartbeatMilliseconds {
            heartbeats[session] = Heartbeat(interval: interval, dueAt: now + interval)
        }
    }

    mutating func removeSession(_ session: UInt64) {
        described.remove(session)
        unleveled.remove(session)
        heartbeats[session] = nil
    }

    mutating func noteLevel(_ session: UInt64) { unleveled.remove(session) }

    /// Returns the sessions whose heartbeats are due, ascending, and schedules their next ones.
    mutating func takeDue(now: UInt64) -> [UInt64] {
        guard !heartbeats.isEmpty, now >= nextAt else { return [] }
        nextAt = now + Streams.pauseMilliseconds
        let due = heartbeats.filter { $1.dueAt <= now }
        for (session, heartbeat) in due { heartbeats[session]?.dueAt = now + heartbeat.interval }
        return due.keys.sorted()
    }
}

/// The events of a stream that no change causes: heartbeats, and the end of the replays.
extension Node {
    func begin(_ options: StreamOptions, for session: UInt64) {
        subscriptions.streams.begin(options, for: session, now: ports.clock.milliseconds)
    }

    /// Returns the description of a session's stream; nil if the client has not requested it.
    func stream(of session: UInt64) -> StreamStart.Stream? {
        guard subscriptions.streams.described.contains(session) else { return nil }
        return StreamStart.Stream(
            id: StreamID(process: process, session: session),
            editWindowMilliseconds: options.editWindowMilliseconds,
            wallMilliseconds: ports.clock.wallMilliseconds)
    }

    /// Returns the session that serves a stream of the user's; nil if this process serves none
    /// under this id.
    func session(of stream: StreamID, watching user: UserID) -> UInt64? {
        guard let session = stream.session(in: process), subscriptions[session]?.user == user,
            subscriptions.streams.described.contains(session)
        else { return nil }
        return session
    }

    /// Tells every session that has received all events that it had missed; runs at each tick.
    func tellLevel() {
        for session in subscriptions.streams.unleveled.sorted() { tellLevel(to: session) }
    }

    /// Tells a session, once, that it has received all events that it had missed; runs after these
    /// events.
    func tellLevel(to session: UInt64) {
        guard let cluster, subscriptions.streams.unleveled.contains(session),
            let watcher = subscriptions[session], watcher.isAnswered, watcher.behind.isEmpty,
            !profiles.hasSurvey(for: session)
        else { return }
        subscriptions.streams.noteLevel(session)
        let token = subscriptions.eventToken(of: session, in: cluster.id, checkpoints.known)
        hand(ownEvent(.level), token, to: session)
    }

    /// Sends the heartbeats that are due; a client that reads too slowly gets none.
    ///
    /// A heartbeat has no token, since nothing has changed.
    func tellHeartbeats(now: UInt64) {
        let due = subscriptions.streams.takeDue(now: now)
        guard !due.isEmpty else { return }
        let event = ownEvent(.heartbeat)
        for session in due
        where subscriptions[session]?.isAnswered ?? false && !subscriptions.full.contains(session) {
            hand(event, nil, to: session)
        }
    }

    private func ownEvent(_ kind: Event.Kind) -> WatchedEvent {
        let now = HybridTimestamp(milliseconds: ports.clock.wallMilliseconds)
        return WatchedEvent(Event(kind, in: nil, by: nil, at: now), on: ports.executor)
    }
}
