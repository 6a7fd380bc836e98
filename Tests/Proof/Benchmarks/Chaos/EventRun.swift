import LineClient
import LineProtocol
import NetworkIO

/// Sends at a steady rate to every node in turn, while one user is watched on each node.
@Stage final class EventRun {
    static let sendsPerSecond: UInt64 = 100
    static let watcher = "bob"
    /// The time after which a missing event counts as lost, in milliseconds.
    private static let lastEventsMilliseconds: UInt64 = 2_000
    /// The limit of the time in which a node opens the feeds for a watcher, in milliseconds.
    private static let settleMilliseconds: UInt64 = 500

    private struct Sent {
        let began: UInt64
        var answered: UInt64?
        /// Per watcher, the time of the first event for the message.
        var heard: [UInt64?]
    }

    private let cluster: LocalCluster
    private let conversations: Int
    private var senders: [LineConnection] = []
    private var watchers: [LineConnection] = []
    private var sent: [Sent] = []
    private var ticker: Timer?
    private var complaint: String?
    /// The number of events that came a second time.
    private(set) var repeated = 0

    init(_ cluster: LocalCluster, conversations: Int) {
        self.cluster = cluster
        self.conversations = conversations
    }

    /// Sends for `seconds`, and waits for the events in flight.
    func run(seconds: Int) async throws(BenchError) {
        for (number, node) in cluster.nodes.enumerated() {
            senders.append(try await cluster.connect(node))
            let connection = try await cluster.connect(node)
            watchers.append(connection)
            connection.onEvent = { [weak self] fields in self?.onEvent(fields, at: number) }
            let reply = try await cluster.ask("WATCH \(Self.watcher)", on: connection)
            guard reply.isOK else { throw BenchError("\(node.name): \(reply.statusText)") }
        }
        await Stage.pause(milliseconds: Self.settleMilliseconds)
        ticker = Timer(on: Stage.loop, everyMilliseconds: 1_000 / Self.sendsPerSecond) {
            [weak self] in self?.send()
        }
        await Stage.pause(milliseconds: UInt64(seconds) * 1_000)
        ticker?.cancel()
        await Stage.pause(milliseconds: Self.lastEventsMilliseconds)
        if let complaint { throw BenchError(complaint) }
    }

    func stop() {
        ticker?.cancel()
        for connection in senders + watchers { connection.close() }
    }

    /// The times from the sender's `OK` to a watcher's event; zero if the event came first.
    var afterOK: Latencies { latencies { $0.answered } }

    /// The times from the sender's line to a watcher's event.
    var afterSend: Latencies { latencies { $0.began } }

    private func latencies(since moment: (Sent) -> UInt64?) -> Latencies {
        var latencies = Latencies()
        for send in sent {
            guard let began = moment(send) else { continue }
            for heard in send.heard.compactMap(\.self) {
                latencies.record(nanoseconds: heard > began ? heard - began : 0)
            }
        }
        return latencies
    }

    /// The number of events that watchers did not get for acknowledged messages.
    var lost: Int {
        sent.filter { $0.answered != nil }.reduce(0) { $0 + $1.heard.count { $0 == nil } }
    }

    private func send() {
        let number = sent.count
        sent.append(
            Sent(began: Stage.loop.nanoseconds, heard: Array(repeating: nil, count: watchers.count))
        )
        let conversation = SendLoad.conversation(number % conversations)
        let text = String(repeating: "0123456789", count: SendLoad.textBytes / 10)
        let isSent = senders[number % senders.count].send(
            "SEND \(conversation) alice id=e\(number) \(text)"
        ) { [weak self] answer in self?.onAnswer(answer, number) }
        if !isSent { complaint = complaint ?? "a sender's connection takes nothing" }
    }

    private func onAnswer(_ answer: LineConnection.Answer, _ number: Int) {
        switch answer {
        case .success(let reply) where reply.isOK:
            sent[number].answered = Stage.loop.nanoseconds
        case .success(let reply): complaint = complaint ?? reply.statusText
        case .failure(let failure): complaint = complaint ?? "a sender's node \(failure)"
        }
    }

    private func onEvent(_ fields: ReplyFields, at watcher: Int) {
        guard fields["kind"] == "message", let id = fields["id"], id.hasPrefix("e"),
            let number = Int(id.dropFirst()), sent.indices.contains(number)
        else { return }
        if sent[number].heard[watcher] == nil {
            sent[number].heard[watcher] = Stage.loop.nanoseconds
        } else {
            repeated += 1
        }
    }
}
