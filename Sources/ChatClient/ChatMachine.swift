import LineProtocol

/// A chat client for one user as a state machine: it takes happenings and returns directives.
///
/// The client uses one node at a time, with one connection for requests and one for events. If
/// either ends, it continues at the next node: unacknowledged posts are sent again with the same
/// ids, and the watch resumes from the last token. The list of chats and the messages are always
/// those that the node shows: the client appends a new message itself, but after any other event it
/// reads them again, one request at a time, instead of deriving the effect of an edit or a
/// deletion.
public struct ChatMachine: Sendable {
    public struct Settings: Sendable {
        let user: String
        let nodes: [String]
        /// The terminal's size; nil in line mode.
        let size: Size?
        /// The beginning of every id that this client makes; unique to this client.
        let idPrefix: String
        /// The offset of local time from UTC, in seconds.
        let utcOffsetSeconds: Int64
        let columns: Columns

        public init(
            user: String, nodes: [String], size: Size?, idPrefix: String,
            utcOffsetSeconds: Int64 = 0, columns: Columns
        ) {
            self.columns = columns
            self.user = user
            self.nodes = nodes
            self.size = size
            self.idPrefix = idPrefix
            self.utcOffsetSeconds = utcOffsetSeconds
        }
    }

    enum LinkState: Equatable {
        case dialling
        case down(until: UInt64)
        case up
    }

    /// Lines shown over the open chat, with the index of the first visible one.
    struct Panel {
        let title: String
        let lines: [String]
        var top = 0
    }

    /// The purpose of a request whose reply is outstanding.
    enum Purpose: Equatable {
        case chats
        case history(String)
        case members
        case since
        case post
        /// A panel with this title, and a line for each data line.
        case panel(String)
        /// A panel with this title that lists chats.
        case foundChats(String)
        /// A request whose reply is ignored.
        case aside
    }

    /// The time without a request after which the node is pinged, in milliseconds.
    static let pingMilliseconds: UInt64 = 3_000

    /// The interval of polling while the node sends no events, in milliseconds.
    static let pollMilliseconds: UInt64 = 2_000

    /// The interval in which a typing notice is repeated, and the pause after which typing has
    /// stopped, in milliseconds.
    static let typingMilliseconds: UInt64 = 3_000

    /// The time for which a notice stays on the screen, in milliseconds.
    static let noticeMilliseconds: UInt64 = 8_000

    /// The least time between two rings of the bell, in milliseconds.
    static let bellMilliseconds: UInt64 = 1_000

    /// The time for which the end waits for acknowledgements in line mode, in milliseconds.
    static let leavingMilliseconds: UInt64 = 15_000

    /// The limit of waiting lines of an input that is no terminal.
    static let linesMax = 100_000

    let settings: Settings
    var size: Size?
    var roster: Roster
    var outbox = Outbox()
    var server = ServerState()
    var editor = LineEditor()
    var link = LinkState.down(until: 0)
    var isWatching = false
    /// Whether the node could not watch at the last attempt.
    var wantsWatch = false
    var hasChats = false
    var token: String?
    var purposes: [Int: Purpose] = [:]
    var requestsMade = 0
    var idsMade = 0
    var wantsChats = false
    var wantsHistory = false
    var askedAt: UInt64 = 0
    var polledAt: UInt64 = 0
    var typing: (conversation: String, toldAt: UInt64, keyAt: UInt64)?
    /// Per chat, the position up to which this client has marked messages as read.
    var marks: [String: Position] = [:]
    /// The message that this user deleted last for themselves.
    var deleted: (conversation: String, id: String)?
    var notice: (text: String, at: UInt64)?
    var panel: Panel?
    var showsArchived = false
    /// The first visible chat of the list, while no chat is open.
    var listTop = 0
    var viewport = Viewport()
    var search: Search?
    var completion = Completion()
    var isBellOn = true
    var bellAt: UInt64?
    var rowsCache: (key: RowsKey, rows: [ChatRow])?
    /// The waiting lines of an input that is no terminal.
    var lines: [String] = []
    var printed: Set<String> = []
    var leavingSince: UInt64?
    var hasEnded = false
    /// The time since which no node is connected; nil before the first happening.
    var downSince: UInt64?
    var hasRefusal = false
    var output: [Directive] = []
    var shown: Screen?

    public init(_ settings: Settings) {
        self.settings = settings
        size = settings.size
        roster = Roster(settings.nodes)
    }

    var user: String { settings.user }
    var isScreen: Bool { size != nil }
    var measure: Columns { settings.columns }

    /// Handles a happening.
    ///
    /// - Parameter now: monotonic milliseconds.
    public mutating func on(_ happening: Happening, at now: UInt64) -> [Directive] {
        output = []
        downSince = downSince ?? now
        switch happening {
        case .connected: onConnected()
        case .lost(let why): onLost(why, at: now)
        case .answered(let number, let lines): onAnswer(number, lines, at: now)
        case .watchAnswered(let line): onWatchAnswer(line)
        case .event(let fields): onEvent(fields, at: now)
        case .key(let key): onKey(key, at: now)
        case .line(let line): onLine(line, at: now)
        case .inputEnded:
            lines.append("/quit")
            hasEnded = true
        case .terminated(let status):
            print(outbox.unsent)
            output.append(.leave(status))
            return output
        case .resized(let size): self.size = size
        case .tick: onTick(at: now)
        }
        settleViewport()
        advance(at: now)
        draw(at: now)
        return output
    }

    private mutating func onLine(_ line: String, at now: UInt64) {
        guard lines.count < Self.linesMax else {
            hasRefusal = true
            return showSentence(
                "\(Self.linesMax) lines wait; this one is left out: \(line)", at: now)
        }
        lines.append(line)
    }

    // MARK: - The connection

    private mutating func onConnected() {
        link = .up
        if roster.failures > 0 {
            if isScreen { notice = nil } else { print(["* connected to \(roster.current)"]) }
        }
        roster.succeeded()
        // Another node may lag behind what was seen; the token makes it show nothing older.
        if let token { ask("SINCE \(token)", .since) }
        ask("MEMBERS", .members)
        watch()
        wantsChats = true
        wantsHistory = server.openID != nil
    }

    private mutating func watch() {
        wantsWatch = false
        output.append(.watch("WATCH \(user)" + (token.map { " since=\($0)" } ?? "")))
    }

    private mutating func onLost(_ why: String, at now: UInt64) {
        let lost = roster.current
        let pause = roster.failed()
        if link == .up { downSince = now }
        link = .down(until: now + pause)
        purposes = [:]
        outbox.forgetConnection()
        isWatching = false
        typing = nil
        server.forgetTypists()
        // Each node's failure is reported in the first round only.
        if roster.failures <= roster.addresses.count {
            showSentence("\(lost): \(why); trying \(roster.current)", at: now)
        }
    }

    private mutating func onTick(at now: UInt64) {
        if link == .up {
            if purposes.isEmpty, now >= askedAt + Self.pingMilliseconds { ask("PING", .aside) }
            if !isWatching, now >= polledAt + Self.pollMilliseconds {
                polledAt = now
                if wantsWatch { watch() }
                wantsChats = true
                wantsHistory = server.openID != nil
            }
        }
        if let typing, now >= typing.keyAt + Self.typingMilliseconds { stopTyping() }
    }

    mutating func ask(_ line: String, _ purpose: Purpose) {
        requestsMade += 1
        purposes[requestsMade] = purpose
        output.append(.ask(requestsMade, line))
    }

    // MARK: - Due requests

    private mutating func advance(at now: UInt64) {
        if case .down(let until) = link, now >= until {
            link = .dialling
            output.append(.dial(roster.current))
        }
        while !isScreen, !lines.isEmpty, leavingSince == nil, isSettled || lines[0] == "/quit" {
            let line = lines.removeFirst()
            if line.contains(where: { $0 != " " }) { obey(line, at: now) }
        }
        guard link == .up else { return leaveIfDue(at: now) }
        if purposes.isEmpty || outbox.underWay == nil { sendNext(at: now) }
        if wantsChats, !isAsked(.chats) {
            wantsChats = false
            ask("CHATS \(user) show=all", .chats)
        }
        if wantsHistory, let id = server.openID, !isAsked(.history(id)) {
            wantsHistory = false
            server.onHistoryAsked()
            ask("HISTORY \(id) \(user) limit=\(server.limit)", .history(id))
        }
        if output.contains(where: { if case .ask = $0 { true } else { false } }) { askedAt = now }
        leaveIfDue(at: now)
    }

    private mutating func sendNext(at now: UInt64) {
        guard let line = outbox.next(number: requestsMade + 1, at: now) else { return }
        ask(line, .post)
    }

    func isAsked(_ purpose: Purpose) -> Bool { purposes.values.contains(purpose) }

    /// Whether all requests so far are answered, so that the next line of a script may rely on
    /// them.
    private var isSettled: Bool {
        hasChats && outbox.isEmpty && !wantsChats && !wantsHistory
            && !purposes.values.contains { $0 != .aside && $0 != .members }
    }

    private mutating func leaveIfDue(at now: UInt64) {
        if hasEnded, link != .up, let downSince, now >= downSince + Self.leavingMilliseconds {
            return giveUp(at: now)
        }
        guard let since = leavingSince else { return }
        let isDone = isScreen ? outbox.isEmpty : isSettled
        if isDone {
            output.append(.leave(hasRefusal ? 1 : 0))
        } else if !isScreen, now >= since + Self.leavingMilliseconds {
            giveUp(at: now)
        }
    }

    /// Ends without the unacknowledged posts, and prints them.
    private mutating func giveUp(at now: UInt64) {
        for line in outbox.unsent { showSentence(line, at: now) }
        for line in lines where line != "/quit" { showSentence("not done: \(line)", at: now) }
        output.append(.leave(link == .up ? 1 : 69))
    }

    mutating func print(_ lines: [String]) {
        output += lines.map { .print(Columns.harmless($0)) }
    }

    /// Rings the bell, unless it rang within the last second.
    mutating func ring(at now: UInt64) {
        guard isScreen, isBellOn else { return }
        if let bellAt, now < bellAt + Self.bellMilliseconds { return }
        bellAt = now
        output.append(.bell)
    }

    /// Shows a sentence in the status line or, in line mode, prints it.
    mutating func showSentence(_ sentence: String, at now: UInt64) {
        let sentence = Columns.harmless(sentence)
        if isScreen {
            notice = (sentence, now)
        } else {
            output.append(.print("* \(sentence)"))
        }
    }

    private mutating func draw(at now: UInt64) {
        guard let size else { return }
        let screen = screen(size, at: now)
        guard screen != shown else { return }
        shown = screen
        output.append(.draw(screen))
    }
}
