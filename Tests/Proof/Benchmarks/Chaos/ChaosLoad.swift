import LineClient
import LineProtocol
import NetworkIO

/// The clients of a chaos run and the expectations that they share; confined to the loop.
final class ChaosLoad {
    /// The limit of findings that are kept: a broken run has thousands of one kind.
    static let findingsMax = 40
    static let inFlightMax = 24
    static let redialMilliseconds: UInt64 = 50

    var expectations: Expectations
    /// The addresses of all nodes of the run, including those that join later.
    let addresses: [SocketAddress]
    /// The nodes to which clients connect.
    var open: Set<Int>
    let loop: EventLoop
    /// The nodes that are meant to be down or stopped: failures of their clients are no findings.
    var excused: Set<Int> = []
    private(set) var isIssuing = true
    private(set) var findings: [String] = []
    private(set) var findingsCount = 0
    private(set) var acknowledged = 0
    /// The number of acknowledgements, by verb.
    private(set) var acknowledgedOf: [String: Int] = [:]
    private(set) var repeated = 0
    /// The number of refusals, by code and sentence.
    private(set) var refusals: [String: Int] = [:]
    private(set) var lastReplyNanoseconds: UInt64 = 0
    private var clients: [ChaosClient] = []
    private var nextClient = 0

    /// - Parameter open: the nodes that run at the beginning.
    init(
        _ expectations: Expectations, clientsPerNode: Int, seed: UInt64, addresses: [SocketAddress],
        open: Range<Int>, on loop: EventLoop
    ) {
        self.expectations = expectations
        self.open = Set(open)
        self.addresses = addresses
        self.loop = loop
        for number in 0..<(clientsPerNode * addresses.count) {
            clients.append(
                ChaosClient(
                    home: number % addresses.count, isHasty: number < addresses.count,
                    random: SeededRandom(seed: seed &+ UInt64(number) &* 0x1_0000_01B3), self))
        }
    }

    var unansweredCount: Int { clients.reduce(0) { $0 + $1.unansweredCount } }

    func start() { for client in clients { client.dial() } }

    /// Lets the clients send up to `count` new requests, as far as they have few in flight.
    func issue(_ count: Int) {
        for _ in 0..<count {
            nextClient = (nextClient + 1) % clients.count
            clients[nextClient].issue()
        }
    }

    /// Stops new requests; those without a reply are still repeated.
    func drain() { isIssuing = false }

    func close() { for client in clients { client.close() } }

    func report(_ finding: String) {
        findingsCount += 1
        if findings.count < Self.findingsMax { findings.append(finding) }
    }

    func onRepeat() { repeated += 1 }

    /// - Returns: whether the request is complete.
    func onReply(_ reply: LineReply, to request: ChaosRequest, by node: Int) -> Bool {
        lastReplyNanoseconds = loop.nanoseconds
        if let fields = reply.ok {
            acknowledged += 1
            acknowledgedOf[ChaosRequest.verb(of: request.line(in: expectations)), default: 0] += 1
            check(reply, to: request, by: node)
            let copies = fields["replicas"]?.split(separator: "/").first.flatMap { Int($0) }
            expectations.onAcknowledged(request, by: node, copies: copies ?? 1, at: fields["at"])
            return true
        }
        guard let error = reply.error else {
            report("n\(node + 1) answered \(reply.statusText)")
            return true
        }
        refusals[error.description, default: 0] += 1
        // A temporary refusal: the request is repeated, as if it had not been answered.
        if error.code == 503 || error.code == 504 { return false }
        if !isAllowed(error, request, node) {
            let line = request.line(in: expectations)
            report("n\(node + 1) answered '\(error)' to: \(line) (asked \(request.attempts) times)")
        }
        expectations.onRefused(request, by: node)
        return true
    }

    /// Counts a reply to a scripted user.
    ///
    /// - Parameter refusals: the codes that a correct node may answer.
    func noteUserScript(_ reply: LineReply, to line: String, by node: Int, refusals: Set<Int>) {
        if reply.isOK {
            acknowledgedOf[ChaosRequest.verb(of: line), default: 0] += 1
        } else if let error = reply.error {
            self.refusals[error.description, default: 0] += 1
            if error.code == 503 || error.code == 504 || refusals.contains(error.code) { return }
            report("n\(node + 1) answered '\(error)' to: \(line)")
        } else {
            report("n\(node + 1) answered \(reply.statusText)")
        }
    }

    /// Checks what can be checked of a reply while other clients write.
    private func check(_ reply: LineReply, to request: ChaosRequest, by node: Int) {
        let checker = ChaosChecker(expectations: expectations)
        switch request.kind {
        case .send:
            guard reply.ok?["id"] != Expectations.id(of: request.target) else { return }
            report("n\(node + 1) answered a SEND with \(reply.statusText)")
        case .history:
            let lines = reply.dataLines.compactMap { HistoryLine($0) }
            if lines.count != reply.dataLines.count {
                report("n\(node + 1) answered HISTORY with lines that are none")
            }
            for finding in checker.findings(inReply: lines, to: request, by: node) {
                report(finding)
            }
        case .chats:
            guard reply.ok?.isTrue("partial") != true else { return }
            let shown = Set(reply.data("CHAT").compactMap { $0["id"] })
            for conversation in 0..<expectations.conversations
            where Expectations.isFounder(request.user) {
                let name = Expectations.name(ofConversation: conversation)
                guard !shown.contains(name) else { continue }
                report("n\(node + 1) leaves \(name) out of CHATS and does not say partial=true")
            }
        case .unread:
            let sum = reply.data("UNREAD").reduce(0) { $0 + (Int($1["count"] ?? "") ?? 0) }
            guard reply.ok?["total"] != String(sum) else { return }
            report("n\(node + 1) counts \(sum) unread and says \(reply.statusText)")
        default: break
        }
    }

    /// Whether a correct node may refuse the request.
    private func isAllowed(_ error: LineError, _ request: ChaosRequest, _ node: Int) -> Bool {
        switch request.kind {
        case .send, .pinned, .chats, .unread, .turn(.archive, _): return false
        // A guest may be out of the conversation at the moment.
        case .history: return error == .onlyParticipants && !Expectations.isFounder(request.user)
        case .turn(.presence, let isOn): return error == .onlyParticipants && !isOn
        case .edit, .retract, .hide, .restore, .read, .turn(.pin, _): break
        }
        let message = expectations.messages[request.target]
        if error == .messageNotFound {
            // Another node acknowledged the message, and it has not arrived here yet.
            return !expectations.isHeld(request.target, by: node)
        }
        switch request.kind {
        case .edit where error == .editRefused:
            let isHidden =
                Expectations.hiders.contains(message.sender)
                && message.ownDeletions[message.sender - Expectations.hiders.lowerBound]
                    != OwnDeletion()
            return message.retracted != .never || isHidden
        case .turn(.pin, isOn: true) where error.code == 409: return message.retracted != .never
        default: return false
        }
    }
}
