import LineClient
import LineProtocol
import NetworkIO

/// A watcher that moves from node to node and resumes with its last token.
final class ChaosWatcher {
    /// The range of the time that it stays on a node unless a fault drives it away, in
    /// milliseconds.
    private static let stayMilliseconds = 1_500...4_000
    private static let pageLines = 1_000

    let user: Int
    private let load: ChaosLoad
    private var random: SeededRandom
    private(set) var view: WatcherView
    private(set) var events = 0
    /// The number of times that it was accepted by another node than the last.
    private(set) var moves = 0
    /// The number of times that it resumed from a token.
    private(set) var resumes = 0
    private(set) var historiesRead = 0
    /// The nodes on which it watched, in order and with wall-clock times, to be read beside the
    /// nodes' logs.
    var stays: [String] { staysOver + [stay].compactMap(\.self) }
    private var staysOver: [String] = []
    private var stayBegan = ""
    private var eventsBefore = 0
    /// Whether it moves without a fault.
    var isRestless = true
    private var token: String?
    private var node: Int?
    private var lastNode: Int?
    private var connection: LineConnection?
    /// The number of the current connection attempt; callbacks of earlier ones are ignored.
    private var turn = 0
    private var isDialing = false
    private var isReading = false
    private(set) var isWatching = false
    private var moveNanoseconds: UInt64 = 0
    private var isClosed = false

    init(_ user: Int, seed: UInt64, _ load: ChaosLoad) {
        self.user = user
        self.load = load
        random = SeededRandom(seed: seed)
        let conversations = (0..<load.expectations.conversations).map {
            Expectations.name(ofConversation: $0)
        }
        view = WatcherView(
            of: Expectations.users[user], in: Expectations.isFounder(user) ? conversations : [])
    }

    private var name: String { Expectations.users[user] }

    private static var wallTime: String {
        LineTime.text(Int64(EventLoop.wallMilliseconds()))
    }

    /// The node on which it watches, with times; nil if it watches nowhere.
    private var stay: String? {
        guard isWatching, let node else { return nil }
        let count = events - eventsBefore
        return "n\(node + 1) from \(stayBegan) to \(Self.wallTime), \(count) events"
    }

    func close() {
        isClosed = true
        leave()
    }

    func onWipe(of node: Int) { view.onWipe(of: node) }

    // MARK: Moves

    /// Advances the watcher; called every few milliseconds.
    func onTick() {
        guard !isClosed else { return }
        if let node, load.excused.contains(node) || !load.open.contains(node) { leave() }
        if isRestless, isWatching, load.loop.nanoseconds >= moveNanoseconds { leave() }
        if connection == nil, !isDialing { dial() }
        if isWatching, !isReading, let conversation = view.unread { read(conversation) }
    }

    /// Disconnects; the next node learns the position from the token.
    func leave() {
        if let stay { staysOver.append(stay) }
        turn += 1
        isWatching = false
        isReading = false
        isDialing = false
        lastNode = node ?? lastNode
        node = nil
        connection?.close()
        connection = nil
    }

    private func dial() {
        let able = load.open.subtracting(load.excused).sorted()
        let others = able.filter { $0 != lastNode }
        let choice = others.isEmpty ? able : others
        guard !choice.isEmpty else { return }
        let next = choice[random.below(choice.count)]
        isDialing = true
        let turn = turn
        LineConnection.dial(load.addresses[next], on: load.loop, timeoutMilliseconds: 1_000) {
            [self] result in
            guard turn == self.turn, !isClosed else {
                if case .success(let late) = result { late.close() }
                return
            }
            isDialing = false
            guard case .success(let connection) = result else { return }
            watch(connection, on: next)
        }
    }

    private func watch(_ connection: LineConnection, on node: Int) {
        self.connection = connection
        self.node = node
        let turn = turn
        connection.onEvent = { [self] fields in
            if turn == self.turn { onEvent(fields, from: node) }
        }
        connection.onClose = { [self] failure in
            if turn == self.turn { onClose(failure, on: node) }
        }
        let since = token
        connection.send("WATCH \(name)" + (since.map { " since=\($0)" } ?? "")) { [self] answer in
            guard turn == self.turn, case .success(let reply) = answer else { return }
            onReply(reply, isResumed: since != nil, by: node)
        }
    }

    private func onReply(_ reply: LineReply, isResumed: Bool, by node: Int) {
        guard let fields = reply.ok else {
            // The node cannot accept the watch at this moment; the next one may.
            if let code = reply.error?.code, code != 503, code != 504 {
                load.report("n\(node + 1) answers a WATCH of \(name) with \(reply.statusText)")
            }
            return leave()
        }
        keepToken(fields["token"], from: node)
        if let lastNode, lastNode != node { moves += 1 }
        if isResumed { resumes += 1 }
        isWatching = true
        stayBegan = Self.wallTime
        eventsBefore = events
        let stay = UInt64(random.within(Self.stayMilliseconds))
        moveNanoseconds = load.loop.nanoseconds + stay * 1_000_000
    }

    private func onClose(_ failure: LineFailure, on node: Int) {
        if case .silent = failure, !load.excused.contains(node) {
            load.report("n\(node + 1), watched by \(name), \(failure)")
        }
        if failure == .notAReply { load.report("n\(node + 1), watched by \(name), \(failure)") }
        leave()
    }

    // MARK: Events

    private func onEvent(_ fields: ReplyFields, from node: Int) {
        events += 1
        keepToken(fields["token"], from: node)
        let what = "\(fields["for"] ?? "") of \(fields["by"] ?? "?") at \(fields["at"] ?? "?")"
        let place = "\(what), by n\(node + 1) after \(resumes) resumes"
        view.onEvent(
            fields, from: load.expectations.ownDisks.contains(node) ? node : nil, at: place)
    }

    private func keepToken(_ token: String?, from node: Int) {
        guard let token, !token.isEmpty, token.utf8.count <= LineLimits.tokenBytesMax else {
            return load.report("n\(node + 1) tells \(name) no token of at most 2,048 bytes")
        }
        self.token = token
    }

    // MARK: Reads

    /// Reads a conversation that the user came into, with a token so that it is not older.
    private func read(_ conversation: String) {
        isReading = true
        // Events that came with the one that brought the user in arrive before this is answered.
        ask("TOKEN") { [self] _ in
            ask("SINCE \(token ?? "")") { [self] _ in readPage(of: conversation, before: "", []) }
        }
    }

    private func readPage(
        of conversation: String, before: String, _ newer: [ReplyFields]
    ) {
        let request = "HISTORY \(conversation) \(name) limit=\(Self.pageLines)\(before)"
        ask(request) { [self] reply in
            let page = reply.data("MESSAGE")
            guard page.count == Self.pageLines, let oldest = page.first?["id"] else {
                return finish(conversation, page + newer)
            }
            readPage(of: conversation, before: " before=\(oldest)", page + newer)
        }
    }

    private func finish(_ conversation: String, _ lines: [ReplyFields]) {
        isReading = false
        historiesRead += 1
        view.onHistory(lines, of: conversation)
    }

    /// Sends a line and continues after an `OK`; otherwise reading starts over at the next tick.
    private func ask(_ line: String, then: @escaping (LineReply) -> Void) {
        let turn = turn
        let isSent =
            connection?.send(line) { [self] answer in
                guard turn == self.turn else { return }
                guard case .success(let reply) = answer, reply.isOK else {
                    isReading = false
                    return
                }
                then(reply)
            } ?? false
        if !isSent { isReading = false }
    }
}
