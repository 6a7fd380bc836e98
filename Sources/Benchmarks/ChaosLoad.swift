import LineClient
import LineProtocol
import NetworkIO

/// The clients of a chaos run and the book that they share; confined to the loop.
final class ChaosLoad {
    /// The most findings that are kept: a broken run has thousands of one kind.
    static let findingsMax = 40
    /// Requests pick among so many of the newest messages.
    static let recentMessages = 2_000
    static let inFlightMax = 12
    static let redialMilliseconds: UInt64 = 50

    var book: ChaosBook
    let addresses: [SocketAddress]
    let loop: EventLoop
    /// Nodes that are meant to be down or stopped: what a client suffers there is no finding.
    var excused: Set<Int> = []
    private(set) var isIssuing = true
    private(set) var findings: [String] = []
    private(set) var findingsCount = 0
    private(set) var acknowledged = 0
    private(set) var repeated = 0
    /// By code and sentence, how often a node refused.
    private(set) var refusals: [String: Int] = [:]
    private(set) var lastReplyNanoseconds: UInt64 = 0
    private var clients: [ChaosClient] = []
    private var nextClient = 0

    init(
        conversations: Int, clientsPerNode: Int, seed: UInt64, addresses: [SocketAddress],
        on loop: EventLoop
    ) {
        book = ChaosBook(conversations: conversations)
        self.addresses = addresses
        self.loop = loop
        for number in 0..<(clientsPerNode * addresses.count) {
            clients.append(
                ChaosClient(
                    home: number % addresses.count,
                    random: SeededRandom(seed: seed &+ UInt64(number) &* 0x1_0000_01B3), self))
        }
    }

    var unansweredCount: Int { clients.reduce(0) { $0 + $1.unansweredCount } }

    func start() { for client in clients { client.dial() } }

    /// Lets the clients ask for so many things more, as far as they are not waiting for replies.
    func issue(_ count: Int) {
        for _ in 0..<count {
            nextClient = (nextClient + 1) % clients.count
            clients[nextClient].issue()
        }
    }

    /// No new requests; those without a reply are still repeated.
    func drain() { isIssuing = false }

    func close() { for client in clients { client.close() } }

    func report(_ finding: String) {
        findingsCount += 1
        if findings.count < Self.findingsMax { findings.append(finding) }
    }

    func onRepeat() { repeated += 1 }

    /// - Returns: whether the request is done with.
    func onReply(_ reply: LineReply, to request: ChaosRequest, by node: Int) -> Bool {
        lastReplyNanoseconds = loop.nanoseconds
        if let fields = reply.ok {
            acknowledged += 1
            if request.kind == .history { checkHistory(reply, request, node) }
            if request.kind == .send, fields["id"] != ChaosBook.id(of: request.message) {
                report("n\(node + 1) answered a SEND with \(reply.statusText)")
            }
            let copies = fields["replicas"]?.split(separator: "/").first.flatMap { Int($0) }
            book.onAcknowledged(request, by: node, copies: copies ?? 1)
            return true
        }
        guard let error = reply.error else {
            report("n\(node + 1) answered \(reply.statusText)")
            return true
        }
        refusals[error.description, default: 0] += 1
        // Cannot be done at this moment: asked again, like what was not answered.
        if error.code == 503 || error.code == 504 { return false }
        if !isAllowed(error, request, node) {
            let line = request.line(in: book)
            report("n\(node + 1) answered '\(error)' to: \(line) (asked \(request.attempts) times)")
        }
        book.onRefused(request, by: node)
        return true
    }

    private func checkHistory(_ reply: LineReply, _ request: ChaosRequest, _ node: Int) {
        let lines = reply.dataLines.compactMap { HistoryLine($0) }
        if lines.count != reply.dataLines.count {
            report("n\(node + 1) answered HISTORY with lines that are none")
        }
        let checker = ChaosChecker(book: book)
        for finding in checker.findings(inReply: lines, to: request, by: node) { report(finding) }
    }

    /// What a correct node may refuse.
    private func isAllowed(_ error: LineError, _ request: ChaosRequest, _ node: Int) -> Bool {
        guard request.kind != .send, request.kind != .history else { return false }
        let message = book.messages[request.message]
        if error == .messageNotFound {
            // Acknowledged by another node, and not here yet.
            return message.holders >> UInt16(node) & 1 == 0
        }
        if case .edit = request.kind, error == .editRefused {
            let isHidden =
                ChaosBook.hiders.contains(message.sender)
                && message.seats[message.sender - ChaosBook.hiders.lowerBound] != Seat()
            return message.retracted != .never || isHidden
        }
        return false
    }
}

/// One connection: it asks, and repeats what was not answered, on whatever node it finds.
private final class ChaosClient {
    private let home: Int
    private let load: ChaosLoad
    private var random: SeededRandom
    private var node: Int
    private var connection: LineConnection?
    private var dials = 0
    /// Requests on their way, in the order in which they are answered.
    private var inFlight: [ChaosRequest] = []
    /// To be sent again as soon as there is a connection.
    private var waiting: [ChaosRequest] = []
    private var isClosed = false

    init(home: Int, random: SeededRandom, _ load: ChaosLoad) {
        self.home = home
        node = home
        self.random = random
        self.load = load
    }

    var unansweredCount: Int { inFlight.count + waiting.count }

    func close() {
        isClosed = true
        connection?.close()
    }

    // MARK: The connection

    /// Tries its own node first, then any.
    func dial() {
        guard !isClosed else { return }
        node = dials.isMultiple(of: 2) ? home : random.below(load.addresses.count)
        dials += 1
        LineConnection.dial(load.addresses[node], on: load.loop, timeoutMilliseconds: 1_000) {
            [self] result in
            switch result {
            case .success(let connection): take(connection)
            case .failure: redial()
            }
        }
    }

    private func redial() {
        _ = Timer(on: load.loop, afterMilliseconds: ChaosLoad.redialMilliseconds) { [self] in
            dial()
        }
    }

    private func take(_ connection: LineConnection) {
        dials = 0
        self.connection = connection
        connection.onClose = { [self] failure in onClose(failure) }
        repeatWaiting()
    }

    private func repeatWaiting() {
        let requests = waiting
        waiting = []
        for request in requests {
            if request.attempts > 0 { load.onRepeat() }
            send(request)
        }
    }

    private func onClose(_ failure: LineFailure) {
        connection = nil
        if case .silent = failure, !load.excused.contains(node) {
            load.report("n\(node + 1) \(failure)")
        }
        if failure == .notAReply { load.report("n\(node + 1) \(failure)") }
        redial()
    }

    // MARK: Requests

    func issue() {
        guard load.isIssuing, connection != nil, unansweredCount < ChaosLoad.inFlightMax,
            let request = makeRequest()
        else { return }
        load.book.onBegin(request)
        send(request)
    }

    private func send(_ request: ChaosRequest) {
        guard let connection else { return waiting.append(request) }
        var request = request
        let line = request.line(in: load.book)
        let node = node
        request.attempts += 1
        let isSent = connection.send(line) { [self] answer in onAnswer(answer, from: node) }
        guard isSent else {
            request.attempts -= 1
            return waiting.append(request)
        }
        load.book.onAttempt(request, at: node)
        inFlight.append(request)
    }

    private func onAnswer(_ answer: LineConnection.Answer, from node: Int) {
        let request = inFlight.removeFirst()
        guard case .success(let reply) = answer else { return waiting.append(request) }
        guard !load.onReply(reply, to: request, by: node) else { return }
        waiting.append(request)
        _ = Timer(on: load.loop, afterMilliseconds: 100) { [self] in
            if connection != nil { repeatWaiting() }
        }
    }

    private func makeRequest() -> ChaosRequest? {
        let dice = random.below(100)
        if dice < 65 { return makeSend() }
        if dice < 69 {
            return request(
                .history, random.below(load.book.conversations),
                user: random.below(ChaosBook.users.count))
        }
        let recent = min(ChaosLoad.recentMessages, load.book.messages.count)
        guard recent > 0 else { return makeSend() }
        let index = load.book.messages.count - 1 - random.below(recent)
        let message = load.book.messages[index]
        guard message.sent.isCertain else { return makeSend() }
        if dice < 83 {
            guard message.edits.count < ChaosBook.editsMax else { return makeSend() }
            return request(.edit(load.book.addEdit(of: index)), index, user: message.sender)
        }
        if dice < 88, message.sender == ChaosBook.retractor, message.retracted == .never {
            return request(.retract, index, user: message.sender)
        }
        let user = random.within(ChaosBook.hiders)
        let seat = message.seats[user - ChaosBook.hiders.lowerBound]
        guard !seat.isOpen else { return makeSend() }
        let isRestore = seat.standing == .hidden || dice > 97
        return request(isRestore ? .restore : .hide, index, user: user)
    }

    private func makeSend() -> ChaosRequest {
        let sender = random.within(ChaosBook.hiders.lowerBound...ChaosBook.retractor)
        let conversation = random.below(load.book.conversations)
        return request(.send, load.book.addMessage(in: conversation, from: sender), user: sender)
    }

    private func request(
        _ kind: ChaosRequest.Kind, _ message: Int, user: Int
    ) -> ChaosRequest {
        ChaosRequest(kind: kind, message: message, user: user, time: load.book.time)
    }
}
