import LineProtocol

/// A chat client for one user, as a machine: what happens goes in, what to do comes out.
///
/// It talks to one node at a time, over one connection for requests and one for events. When either
/// is gone it turns to the next node and goes on there: what was not acknowledged is said again
/// with the same ids, and the watch resumes by the last token. What it shows of chats and messages
/// is what the node says: after an event it asks again, one request at a time, instead of working
/// out by itself what an edit or a deletion does.
public struct ChatMachine: Sendable {
    public struct Settings: Sendable {
        let user: String
        let nodes: [String]
        /// Where lines are printed as they come, the terminal's size is nil.
        let size: Size?
        /// Begins every id that this client makes: no other client may have the same.
        let idPrefix: String
        /// What clocks here are ahead of UTC.
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

    /// Lines over the open chat, and the first that is shown.
    struct Panel {
        let title: String
        let lines: [String]
        var top = 0
    }

    /// What a request that has no reply was asked for.
    enum Purpose: Equatable {
        case chats
        case history(String)
        case members
        case since
        case post
        case panel(String)
        /// Whose reply nobody waits for.
        case aside
    }

    /// How long a connection may be quiet before the node is asked whether it is there.
    static let pingMilliseconds: UInt64 = 3_000

    /// How often to look for what is new while the node does not tell by itself.
    static let pollMilliseconds: UInt64 = 2_000

    /// How often a node is told that somebody still types, and after which pause that he stopped.
    static let typingMilliseconds: UInt64 = 3_000

    /// How long a notice stays on the screen.
    static let noticeMilliseconds: UInt64 = 8_000

    /// How often the bell rings at most.
    static let bellMilliseconds: UInt64 = 1_000

    /// How long the end waits for what is not acknowledged, where nobody can be asked.
    static let leavingMilliseconds: UInt64 = 15_000

    /// How many lines of an input that is no terminal may wait.
    static let linesMax = 100_000

    let settings: Settings
    var size: Size?
    var roster: Roster
    var outbox = Outbox()
    var book = ServerState()
    var editor = LineEditor()
    var link = LinkState.down(until: 0)
    var isWatching = false
    /// Whether the node could not watch just now.
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
    /// The newest message of each chat that this client has marked as read.
    var marks: [String: Position] = [:]
    /// What this user deleted last for himself.
    var deleted: (conversation: String, id: String)?
    var notice: (text: String, at: UInt64)?
    var panel: Panel?
    var showsArchived = false
    /// The first chat of the list that is shown, where none is open.
    var listTop = 0
    var viewport = Viewport()
    var search: Search?
    var completion = Completion()
    var isBellOn = true
    var bellAt: UInt64?
    var rowsCache: (key: RowsKey, rows: [ChatRow])?
    /// Lines of an input that is no terminal.
    var lines: [String] = []
    var printed: Set<String> = []
    var leavingSince: UInt64?
    var hasEnded = false
    /// Since when no node is connected; nil before anything has happened.
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
            return tell("\(Self.linesMax) lines wait; this one is left out: \(line)", at: now)
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
        // Another node may lag behind what was seen; from here on it shows nothing older.
        if let token { ask("SINCE \(token)", .since) }
        ask("MEMBERS", .members)
        watch()
        wantsChats = true
        wantsHistory = book.openID != nil
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
        book.forgetTypists()
        // Every node in vain is said once, and not twice a second.
        if roster.failures <= roster.addresses.count {
            tell("\(lost): \(why); trying \(roster.current)", at: now)
        }
    }

    private mutating func onTick(at now: UInt64) {
        if link == .up {
            if purposes.isEmpty, now >= askedAt + Self.pingMilliseconds { ask("PING", .aside) }
            if !isWatching, now >= polledAt + Self.pollMilliseconds {
                polledAt = now
                if wantsWatch { watch() }
                wantsChats = true
                wantsHistory = book.openID != nil
            }
        }
        if let typing, now >= typing.keyAt + Self.typingMilliseconds { stopTyping() }
    }

    mutating func ask(_ line: String, _ purpose: Purpose) {
        requestsMade += 1
        purposes[requestsMade] = purpose
        output.append(.ask(requestsMade, line))
    }

    // MARK: - What is due

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
        if wantsHistory, let id = book.openID, !isAsked(.history(id)) {
            wantsHistory = false
            book.onHistoryAsked()
            ask("HISTORY \(id) \(user) limit=\(book.limit)", .history(id))
        }
        if output.contains(where: { if case .ask = $0 { true } else { false } }) { askedAt = now }
        leaveIfDue(at: now)
    }

    private mutating func sendNext(at now: UInt64) {
        guard let line = outbox.next(number: requestsMade + 1, at: now) else { return }
        ask(line, .post)
    }

    func isAsked(_ purpose: Purpose) -> Bool { purposes.values.contains(purpose) }

    /// Whether everything that was asked so far has come: the next line of a script may rely on it.
    private var isSettled: Bool {
        hasChats && outbox.isEmpty && !wantsChats && !wantsHistory
            && !purposes.values.contains { $0 != .aside && $0 != .members }
    }

    private mutating func leaveIfDue(at now: UInt64) {
        if hasEnded, link != .up, let downSince, now >= downSince + Self.leavingMilliseconds {
            return giveUp(at: now)
        }
        guard let since = leavingSince else { return }
        let isDone = isScreen ? outbox.isEmpty : isSettled || (!hasChats && book.openID == nil)
        if isDone {
            output.append(.leave(hasRefusal ? 1 : 0))
        } else if !isScreen, now >= since + Self.leavingMilliseconds {
            giveUp(at: now)
        }
    }

    /// Ends without what was not acknowledged, and says what that was.
    private mutating func giveUp(at now: UInt64) {
        for line in outbox.unsent { tell(line, at: now) }
        for line in lines where line != "/quit" { tell("not done: \(line)", at: now) }
        output.append(.leave(link == .up ? 1 : 69))
    }

    mutating func print(_ lines: [String]) {
        output += lines.map { .print(Columns.harmless($0)) }
    }

    /// Rings, unless it has done so just now.
    mutating func ring(at now: UInt64) {
        guard isScreen, isBellOn else { return }
        if let bellAt, now < bellAt + Self.bellMilliseconds { return }
        bellAt = now
        output.append(.bell)
    }

    /// Says something to the person: on the screen's last line but one, or as a line.
    mutating func tell(_ sentence: String, at now: UInt64) {
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
