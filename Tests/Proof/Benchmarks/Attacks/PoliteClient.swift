import LineClient
import NetworkIO

/// A well-behaved client of one node during the attacks: it sends and reads, and measures the time
/// of every answer.
@Stage final class PoliteClient {
    /// The pause between two requests, in milliseconds.
    private static let pauseMilliseconds: UInt64 = 10

    let node: LocalNode
    /// The time of the slowest answer since `takeSlowest`.
    private var slowestNanoseconds: UInt64 = 0
    private var askedNanoseconds: UInt64?
    private var complaint: String?
    private(set) var answers = 0
    private let connection: LineConnection
    private var isOver = false

    private init(_ node: LocalNode, _ connection: LineConnection) {
        self.node = node
        self.connection = connection
    }

    static func start(
        on node: LocalNode, of cluster: LocalCluster
    ) async throws(BenchError) -> PoliteClient {
        let client = PoliteClient(node, try await cluster.connect(node))
        client.ask(0)
        return client
    }

    /// Sends the next request; every tenth is a read.
    private func ask(_ number: Int) {
        guard !isOver else { return }
        let line =
            switch number {
            case 0: "CREATE polite-\(node.name) polite,other"
            case _ where number % 10 == 9: "HISTORY polite-\(node.name) other limit=5"
            default: "SEND polite-\(node.name) polite hello number \(number)"
            }
        let began = Stage.loop.nanoseconds
        askedNanoseconds = began
        let isSent = connection.send(line) { [weak self] answer in
            self?.onAnswer(answer, to: line, number, began)
        }
        if !isSent { complain("could not send") }
    }

    private func onAnswer(
        _ answer: LineConnection.Answer, to line: String, _ number: Int, _ began: UInt64
    ) {
        askedNanoseconds = nil
        slowestNanoseconds = max(slowestNanoseconds, Stage.loop.nanoseconds - began)
        switch answer {
        case .success(let reply) where reply.isOK: answers += 1
        case .success(let reply): complain("\(reply.statusText) to \(line)")
        case .failure(let failure):
            complain("\(failure)")
            return
        }
        _ = Timer(on: Stage.loop, afterMilliseconds: Self.pauseMilliseconds) { [weak self] in
            self?.ask(number + 1)
        }
    }

    private func complain(_ sentence: String) {
        guard !isOver, complaint == nil else { return }
        complaint = "\(node.name)'s client: \(sentence)"
    }

    /// Returns the time of the slowest answer since the last call, and the first failure; a missing
    /// answer counts with the time waited so far.
    func takeSlowest() -> (milliseconds: Double, complaint: String?) {
        defer {
            slowestNanoseconds = 0
            complaint = nil
        }
        let waiting = askedNanoseconds.map { Stage.loop.nanoseconds - $0 } ?? 0
        return (Double(max(slowestNanoseconds, waiting)) / 1e6, complaint)
    }

    func stop() {
        isOver = true
        connection.close()
    }
}
