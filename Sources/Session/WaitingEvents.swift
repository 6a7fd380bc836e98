import Admin
import LineProtocol
import Node

/// An event with the token that one session adds to it.
package struct ToldEvent: Sendable {
    /// The rendered event, which all sessions share.
    package let rendered: RenderedEvent
    package let token: String?

    /// The assumed memory of a waiting event without its token's text and shared bytes, in bytes.
    private static let entryBytes = 64

    init(_ event: WatchedEvent, token: String?, as form: EventForm) {
        self.token = token
        rendered = event.assumeIsolated {
            $0.rendered(as: form) { event in
                switch form {
                case .line, .exactLine: (event.word, event.line(isExact: form == .exactLine))
                case .json, .exactJSON: (event.word, event.json(isExact: form == .exactJSON))
                case .none: (event.word, [])
                }
            }
        }
    }

    var sharedBytes: Int { rendered.bytes.count }

    /// The length of the event with its token, in bytes, without the framing of the connection.
    var count: Int { sharedBytes + tokenBytes }

    /// The bytes that only this session stores for the event.
    var ownBytes: Int { Self.entryBytes + tokenBytes }

    /// Whether the event may be written while the client has not read `queuedBytes` written bytes.
    ///
    /// Each connection stores its own copy of a written event, so at most `SessionLimits.freeBytes`
    /// of unread events are written, or one larger event.
    func fits(besides queuedBytes: Int) -> Bool {
        queuedBytes == 0 || queuedBytes + count <= SessionLimits.freeBytes
    }

    /// Appends the event's line with the token and the line end.
    func appendLine(to writer: inout ReplyWriter) {
        writer.raw(rendered.bytes)
        writer.line("") { $0.pair("token", token) }
    }

    /// The length of ` token=`, the token and the line end, in bytes.
    private var tokenBytes: Int { 1 + (token.map { 7 + $0.utf8.count } ?? 0) }
}

/// The events that wait for one client, and their places among the client's replies.
///
/// All sessions share the rendered bytes of an event: `ClientMemory` counts the bytes once, until
/// the last session has released them. `SessionLimits.eventBytesMax` also limits the number of
/// events, since each event counts with at least its rendered bytes.
struct WaitingEvents {
    enum Pace { case enough, tooLittle, tooLittleForLong }

    private let output: any SessionOutput
    /// The memory budget of all sessions; nil if there is no limit.
    private let memory: ClientMemory?
    /// The waiting events; the entry of an event that was sent is nil.
    private var entries: [ToldEvent?] = []
    /// The index in `entries` of the next event to send.
    private var next = 0
    /// The number of events to send before the reply at the head; nil if no reply is ready.
    private var beforeReply: Int?
    /// The slot number of the last `WATCH` request: its events may only follow its reply.
    private var watchNumber: UInt64?
    /// Whether the client's last `WATCH` request asked for exact times.
    private var isExact = false
    /// The time at which the client became full, in milliseconds; nil while the client is not full.
    private var fullSince: UInt64?

    /// The bytes of the waiting events, counted as if sessions shared nothing.
    private(set) var bytes = 0
    /// The bytes of the waiting events that other sessions may share.
    private(set) var sharedBytes = 0
    /// The bytes that only this session stores for the waiting events: tokens and entries.
    private(set) var ownBytes = 0

    /// The number of empty entries at which `entries` may be compacted.
    private static let emptyMax = 64

    init(on output: any SessionOutput, sharing memory: ClientMemory?) {
        self.output = output
        self.memory = memory
    }

    private var count: Int { entries.count - next }

    var isEmpty: Bool { count == 0 }

    /// Whether the client has made a request to watch a user.
    var hasWatched: Bool { watchNumber != nil }

    /// The bytes that the client has not read: waiting events, and bytes already written.
    var bytesUntaken: Int { bytes + output.queuedBytes }

    // MARK: Entries

    /// Sends the client an event, at once or after the events that already wait.
    ///
    /// - Parameter mayLeave: whether an event may be written now.
    /// - Returns: the number of bytes written.
    mutating func appendEvent(_ event: WatchedEvent, _ token: String?, mayLeave: Bool) -> Int {
        let form = isExact ? output.eventForm.exact : output.eventForm
        let told = ToldEvent(event, token: token, as: form)
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

    /// Writes waiting events until the output has enough unread bytes queued.
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

    /// Removes and returns the events that may be written behind `queuedBytes` unread bytes.
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

    /// Drops all waiting events.
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

    /// Whether a request may begin; a `WATCH` waits until all events of the earlier watch are sent.
    func mayBegin(_ request: Request) -> Bool {
        if case .watch = request { isEmpty } else { true }
    }

    /// Records that a request has begun at the head: new events wait for the reply to a `WATCH`.
    mutating func begin(_ request: Request, at number: UInt64) {
        guard case .watch(let watch) = request else { return }
        watchNumber = number
        isExact = watch.isExact
    }

    /// Whether an event may be sent before the reply to the request with this slot number.
    func mayLeave(before number: UInt64) -> Bool {
        guard let watchNumber else { return false }
        return number > watchNumber
    }

    /// Whether the next event has to be sent before the reply at the head.
    var isNextDue: Bool { !isEmpty && beforeReply != 0 }

    /// Records that the reply at the head is ready: events that arrive later follow this reply.
    mutating func holdReply() { if beforeReply == nil { beforeReply = count } }

    /// Records that the reply at the head was sent.
    mutating func passReply() { beforeReply = nil }

    // MARK: Time

    /// Determines whether the client reads its events fast enough.
    ///
    /// - Parameter isEnding: whether the connection ends after the waiting events.
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
