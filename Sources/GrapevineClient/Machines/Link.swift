/// The connection to the cluster: which node is used, and when the next one is.
///
/// A connection is a state, not an event: whoever asks gets the present one. Times are milliseconds
/// of a monotonic clock. Of each stream the caller hands the number back with which it was opened,
/// so that the end of an earlier stream changes nothing.
struct Link: Equatable, Sendable {
    /// The seconds after which a node sends an event if there was none.
    static let heartbeatSeconds = 5
    /// The silence of a stream after which its node is given up.
    private static let silence: Int64 = 8_000
    /// The silence of a stream after which it is opened anew when the foreground returns.
    private static let silenceInForeground: Int64 = 5_000
    /// The time in which a node has to answer a new stream: it doubles with each round in which all
    /// nodes have failed.
    private static let openings: ClosedRange<Int64> = 900...15_000
    /// The time in which a node has to answer a request: it doubles where that happens again.
    private static let requests: ClosedRange<Int64> = 3_000...48_000
    /// The pause before the second and each further attempt; it doubles.
    ///
    /// The longest one holds where nothing waits.
    private static let pauses: ClosedRange<Int64> = 100...5_000
    private static let pauseMaxWhileWaiting: Int64 = 800
    /// The time after which a connection counts as stable, so that its loss is a first one again.
    private static let stable: Int64 = 3_000

    /// The time between two questions whether the network is back, while operations wait and a
    /// stream is not answered: what was sent while it was away may never be answered.
    private static let probing: Int64 = 700

    /// The least time between two changes of node because of answers.
    private static let leaving: Int64 = 10_000

    /// What is to be done.
    enum Directive: Equatable, Sendable {
        /// Open the event stream of a node; an earlier stream is closed.
        case open(node: Int, stream: Int)
        case close
        /// Ask a node anything, while a stream is not answered.
        case probe(node: Int, stream: Int)
    }

    /// What the app wants.
    enum Wish: Equatable, Sendable {
        case signedOut
        case paused(ConnectionState.Pause)
        case connected
    }

    private let nodes: Int
    private(set) var node = 0
    private(set) var state = ConnectionState.signedOut
    /// Whether operations wait: the pauses between attempts are shorter then.
    var isEager = false
    /// A number from 0 to 1 that shortens the next pause by up to a half.
    ///
    /// Clients that have lost a node together do not return together then.
    var jitter = 0.0
    private var stream = 0
    private var failures: Int64 = 0
    private var heard: Int64 = 0
    private var opened: Int64 = 0
    private var left: Int64 = -Link.leaving
    private var patience = Link.requests.lowerBound
    /// The time at which something is due but for a probe.
    private var due: Int64?
    private var probeAt: Int64 = 0

    /// The time at which ``tick(now:)`` is to be called; nil if nothing is to be done by time.
    var deadline: Int64? {
        isEager && state == .opening ? due.map { min($0, probeAt) } : due
    }

    /// - Parameter nodes: the number of nodes, at least one.
    init(nodes: Int) {
        precondition(nodes > 0, "A client has the address of a node")
        self.nodes = nodes
    }

    /// The milliseconds after which a request that is not answered gives the node up.
    var requestPatience: Int64 { patience }

    var isConnected: Bool { state.isConnected }

    mutating func set(_ wish: Wish, now: Int64) -> [Directive] {
        switch wish {
        case .signedOut: return stop(.signedOut)
        case .paused(let pause): return stop(.paused(pause))
        case .connected:
            switch state {
            case .signedOut, .paused: return restart(now: now)
            default: return []
            }
        }
    }

    /// Tries at once, for instance because the network is usable again: nothing happens where a
    /// stream is open or no connection is wanted.
    mutating func retry(now: Int64) -> [Directive] {
        state == .waiting ? restart(now: now) : []
    }

    /// Notes that the app is in the foreground again: a stream may have ended unnoticed.
    mutating func enterForeground(now: Int64) -> [Directive] {
        if isConnected, now >= heard + Self.silenceInForeground { return restart(now: now) }
        return retry(now: now)
    }

    mutating func streamOpened(_ stream: Int, now: Int64) {
        guard stream == self.stream, state == .opening else { return }
        state = .catchingUp
        opened = now
        streamHeard(stream, now: now)
    }

    /// Notes that something has come over the stream.
    mutating func streamHeard(_ stream: Int, now: Int64) {
        guard stream == self.stream, isConnected else { return }
        heard = now
        due = now + Self.silence
    }

    /// Notes that what was missed has been told.
    mutating func streamCaughtUp(_ stream: Int) {
        guard stream == self.stream, state == .catchingUp else { return }
        state = .online
    }

    /// Notes the end of a stream: every end is a loss, whether it says so or not.
    mutating func streamEnded(_ stream: Int, now: Int64) -> [Directive] {
        stream == self.stream ? giveUp(now: now) : []
    }

    /// Notes that a node has answered a request that was under way for some milliseconds.
    mutating func requestAnswered(after milliseconds: Int64, now: Int64) -> [Directive] {
        if milliseconds < Self.requests.lowerBound / 2 { patience = Self.requests.lowerBound }
        return retry(now: now)
    }

    /// Notes that a request to a node was not answered in time, or could not be sent.
    mutating func requestUnanswered(node: Int, now: Int64) -> [Directive] {
        guard node == self.node else { return [] }
        patience = min(patience * 2, Self.requests.upperBound)
        return giveUp(now: now)
    }

    /// Notes that the node cannot execute what is asked of it now: another one may.
    ///
    /// If none can, the nodes are not changed at each attempt.
    mutating func leave(now: Int64) -> [Directive] {
        guard isConnected, now >= left + Self.leaving else { return [] }
        left = now
        return giveUp(now: now)
    }

    /// Whether a stream is the present one.
    func isPresent(_ stream: Int) -> Bool { stream == self.stream }

    /// Does what is due.
    mutating func tick(now: Int64) -> [Directive] {
        guard let due, now >= due else { return probe(now: now) }
        switch state {
        case .signedOut, .paused: return []
        case .waiting: return open(now: now)
        case .opening, .catchingUp, .online: return giveUp(now: now)
        }
    }

    private mutating func probe(now: Int64) -> [Directive] {
        guard isEager, state == .opening, now >= probeAt else { return [] }
        probeAt = now + Self.probing
        // Another node than the one that does not answer.
        return [.probe(node: (node + 1) % nodes, stream: stream)]
    }

    /// Notes the answer to a probe: the network is back, but the stream is not answered.
    mutating func probeAnswered(node: Int, stream: Int, now: Int64) -> [Directive] {
        guard state == .opening, stream == self.stream else { return [] }
        self.node = node
        return restart(now: now)
    }

    private mutating func stop(_ state: ConnectionState) -> [Directive] {
        let wasOpen = isConnected || self.state == .opening
        self.state = state
        stream += 1
        due = nil
        return wasOpen ? [.close] : []
    }

    private mutating func restart(now: Int64) -> [Directive] {
        failures = 0
        return open(now: now)
    }

    private mutating func open(now: Int64) -> [Directive] {
        state = .opening
        stream += 1
        let rounds = min(failures / Int64(nodes), 8)
        probeAt = now + Self.probing
        due = now + min(Self.openings.lowerBound << rounds, Self.openings.upperBound)
        return [.open(node: node, stream: stream)]
    }

    /// Gives the present node up, and uses the next one: the first time at once.
    private mutating func giveUp(now: Int64) -> [Directive] {
        guard isConnected || state == .opening else { return [] }
        if isConnected, now >= opened + Self.stable { failures = 0 }
        node = (node + 1) % nodes
        failures += 1
        guard failures > 1 else { return open(now: now) }
        state = .waiting
        stream += 1
        let longest = isEager ? Self.pauseMaxWhileWaiting : Self.pauses.upperBound
        let pause = min(Self.pauses.lowerBound << min(failures - 2, 10), longest)
        due = now + pause - Int64(Double(pause) * jitter / 2)
        return [.close]
    }
}
