import Admin
import LineProtocol
import Node

/// An event with what one session adds to it: the token.
package struct ToldEvent: Sendable {
    /// The part that all sessions share.
    package let rendered: RenderedEvent
    package let token: String?

    /// The size of an entry without the token's text, in bytes: four words, and a string's header.
    private static let entryBytes = 64

    init(_ event: WatchedEvent, token: String?, as form: EventForm) {
        self.token = token
        rendered = event.assumeIsolated {
            $0.rendered(as: form) { event in
                switch form {
                case .line: (event.word, event.line)
                case .json: (event.word, event.json)
                case .none: (event.word, [])
                }
            }
        }
    }

    var sharedBytes: Int { rendered.bytes.count }

    /// The length of the event with its token, in bytes; framing comes on top.
    var count: Int { sharedBytes + tokenBytes }

    /// The bytes that the session alone holds.
    var ownBytes: Int { Self.entryBytes + tokenBytes }

    /// Whether the event may be written behind that many bytes that the client has not taken.
    ///
    /// A written event is held for this connection alone: at most `SessionLimits.freeBytes` are, or
    /// one event.
    func fits(besides queuedBytes: Int) -> Bool {
        queuedBytes == 0 || queuedBytes + count <= SessionLimits.freeBytes
    }

    /// Appends the whole line.
    func appendLine(to writer: inout ReplyWriter) {
        writer.raw(rendered.bytes)
        writer.line("") { $0.pair("token", token) }
    }

    /// The length of ` token=`, the token, and the end of the line.
    private var tokenBytes: Int { 1 + (token.map { 7 + $0.utf8.count } ?? 0) }
}

/// The events that wait for one client, and their place among its replies.
///
/// What is rendered of them is shared by all sessions that keep it: `ClientMemory` counts it once,
/// until the last session has let go of it. `SessionLimits.eventBytesMax` limits their number, too,
/// since each counts at least the bytes that are rendered.
struct WaitingEvents {
    enum Pace { case enough, tooLittle, tooLittleForLong }

    private let output: any SessionOutput
    /// The memory budget of all sessions; nil if there is no limit.
    private let memory: ClientMemory?
    /// An entry is nil once it has left.
    private var entries: [ToldEvent?] = []
    /// The index in `entries` of the next one to leave.
    private var next = 0
    /// How many events stand before the reply at the head; nil if no reply is ready to leave.
    private var beforeReply: Int?
    /// The slot number of the last `WATCH`: events may only follow its reply.
    private var watchNumber: UInt64?
    /// Since when the client has been full, in milliseconds.
    private var fullSince: UInt64?

    /// The bytes that wait for the client, as if nothing were shared.
    private(set) var bytes = 0
    /// The bytes that other sessions may hold, too.
    private(set) var sharedBytes = 0
    /// The bytes that this session alone holds: tokens and entries.
    private(set) var ownBytes = 0

    /// The number of empty entries at which the others move up.
    private static let emptyMax = 64

    init(on output: any SessionOutput, sharing memory: ClientMemory?) {
        self.output = output
        self.memory = memory
    }

    private var count: Int { entries.count - next }

    var isEmpty: Bool { count == 0 }

    /// Whether a request has begun to watch a user.
    var hasWatched: Bool { watchNumber != nil }

    /// The bytes that the client has not taken, written or not.
    var bytesUntaken: Int { bytes + output.queuedBytes }

    // MARK: Entries

    /// Sends the client an event, at once or behind the events that wait.
    ///
    /// - Parameter mayLeave: whether an event may be written at this point.
    /// - Returns: the number of bytes written.
    mutating func appendEvent(_ event: WatchedEvent, _ token: String?, mayLeave: Bool) -> Int {
        let told = ToldEvent(event, token: token, as: output.eventForm)
        var written = 0
        if mayLeave, isEmpty, told.fits(besides: output.queuedBytes) {
            written = output.write([told])
        } else {
            append(told)
            written = send(mayLeave: mayLeave)
        }
        if output.queuedBytes > SessionLimits.freeBytes { output.flush() }
        return written
    }

    /// Writes waiting events, as far as the client takes them.
    ///
    /// - Returns: the number of bytes written.
    mutating func send(mayLeave: Bool) -> Int {
        var written = 0
        while mayLeave, isNextDue {
            var events = removeWritable(besides: output.queuedBytes)
            if events.isEmpty {
                output.flush()
                events = removeWritable(besides: output.queuedBytes)
            }
            if events.isEmpty { break }
            written += output.write(events)
        }
        return written
    }

    private mutating func append(_ told: ToldEvent) {
        entries.append(told)
        bytes += told.count
        sharedBytes += told.sharedBytes
        ownBytes += told.ownBytes
        guard let memory, told.rendered.assumeIsolated({ $0.keep() }) else { return }
        memory.assumeIsolated { [bytes = told.sharedBytes] in $0.addBytes(shared: bytes) }
    }

    /// Takes the events that may be written behind that many bytes that the client has not taken.
    private mutating func removeWritable(besides queuedBytes: Int) -> [ToldEvent] {
        var events: [ToldEvent] = []
        var bytesTaken = 0
        let countMax = beforeReply ?? count
        while events.count < countMax, !isEmpty, let told = entries[next],
            told.fits(besides: queuedBytes + bytesTaken)
        {
            events.append(told)
            bytesTaken += told.count
            removeFirst()
        }
        return events
    }

    /// Drops all events.
    mutating func removeAll() {
        while !isEmpty { removeFirst() }
        beforeReply = nil
        fullSince = nil
    }

    private mutating func removeFirst() {
        guard let told = entries[next] else { return }
        entries[next] = nil
        next += 1
        if let beforeReply { self.beforeReply = max(0, beforeReply - 1) }
        bytes -= told.count
        sharedBytes -= told.sharedBytes
        ownBytes -= told.ownBytes
        if next == entries.count {
            entries = []
            next = 0
        } else if next >= Self.emptyMax, next * 2 >= entries.count {
            entries.removeFirst(next)
            next = 0
        }
        guard let memory, told.rendered.assumeIsolated({ $0.letGo() }) else { return }
        memory.assumeIsolated { [bytes = told.sharedBytes] in $0.addBytes(shared: -bytes) }
    }

    // MARK: Replies

    /// Whether a request may begin: before a `WATCH`, the events of the user watched so far leave.
    func mayBegin(_ request: Request) -> Bool {
        if case .watch = request { isEmpty } else { true }
    }

    /// Notes that a request has begun at the head: events wait for the reply to a `WATCH`.
    mutating func begin(_ request: Request, at number: UInt64) {
        if case .watch = request { watchNumber = number }
    }

    /// Whether an event may stand before the reply with this number.
    func mayLeave(before number: UInt64) -> Bool {
        guard let watchNumber else { return false }
        return number > watchNumber
    }

    /// Whether the next event comes before the reply at the head.
    var isNextDue: Bool { !isEmpty && beforeReply != 0 }

    /// Notes that the reply at the head is ready: later events follow it.
    mutating func holdReply() { if beforeReply == nil { beforeReply = count } }

    /// Notes that the reply at the head has left.
    mutating func passReply() { beforeReply = nil }

    // MARK: Time

    /// Determines whether the client takes enough of its events.
    ///
    /// - Parameter isEnding: whether the connection ends after the events that wait.
    mutating func pace(isEnding: Bool, now: @autoclosure () -> UInt64) -> Pace {
        guard isEnding || bytesUntaken >= SessionLimits.eventBytesFull else {
            fullSince = nil
            return .enough
        }
        let now = now()
        let since = fullSince ?? now
        fullSince = since
        return now < since + SessionLimits.fullMillisecondsMax ? .tooLittle : .tooLittleForLong
    }
}
