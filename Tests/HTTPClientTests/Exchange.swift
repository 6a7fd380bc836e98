import CSystem
import HTTPClient
import NetworkIO
import TLS
import Testing

/// A client and a server on one loop, on the thread of the test.
final class Exchange {
    typealias Outcome = Result<Int, HTTPClientError>

    let loop: EventLoop
    let client: HTTPClient
    let address: SocketAddress
    private(set) var outcomes: [Outcome] = []
    /// What the server has read on each connection, in their order.
    private(set) var served: [ServedConnection] = []
    /// Called after each outcome.
    var onOutcome: ((Outcome) -> Void)?

    private let listener: Listener
    private var pending = 0
    private var isOver = false

    /// - Parameters:
    ///   - answer: nil for a port at which nobody listens.
    ///   - certificates: of a server that speaks TLS.
    init(
        _ answer: ServedConnection.Answer?, certificates: CertificateContext? = nil,
        authorities: String? = nil, mayReachPrivate: Bool = true
    ) throws {
        try #require(csystem_ignore_signals() == 0)
        loop = try EventLoop()
        client = try HTTPClient(
            on: loop, authorities: authorities, mayReachPrivate: mayReachPrivate)
        listener = try Listener(try #require(SocketAddress("127.0.0.1:0")), on: loop)
        address = listener.address
        guard let answer else { return }
        try listener.start { [self] connection in
            let end = ServedConnection(answer)
            served.append(end)
            guard let certificates else {
                connection.delegate = end
                return
            }
            connection.raise(certificates.accepting(), timeoutMilliseconds: 5_000) { result in
                if case .success = result { connection.delegate = end }
            }
        }
    }

    func request(
        _ url: String? = nil, headers: [(String, String)] = [], body: String = "hello",
        timeoutMilliseconds: UInt64 = 20_000
    ) -> OutgoingRequest {
        OutgoingRequest(
            url: url ?? "http://\(address)/push", headers: headers, body: Array(body.utf8),
            timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Sends a request, and has the loop run until it is answered.
    @discardableResult
    func post(_ request: OutgoingRequest) -> Bool {
        // SAFETY: called on the thread of the test alone.
        nonisolated(unsafe) let exchange = self
        let isTaken = client.post(request) { exchange.onDone($0) }
        if isTaken { pending += 1 }
        return isTaken
    }

    /// Runs the loop until every request is answered, or until `finish`.
    @discardableResult
    func run() -> [Outcome] {
        after(milliseconds: 30_000) { [self] in
            Issue.record("not over after 30 s: \(outcomes)")
            finish()
        }
        if pending == 0 { finish() }
        loop.run()
        return outcomes
    }

    /// Runs the loop for the requests of `post(_:)` and returns their outcomes.
    func run(_ requests: OutgoingRequest...) -> [Outcome] {
        for request in requests { #expect(post(request)) }
        return run()
    }

    func after(milliseconds: UInt64, _ work: @escaping () -> Void) {
        _ = Timer(on: loop, afterMilliseconds: milliseconds, work)
    }

    func finish() {
        guard !isOver else { return }
        isOver = true
        client.close()
        loop.stop()
    }

    private func onDone(_ outcome: Outcome) {
        #expect(loop.isCurrent)
        pending -= 1
        outcomes.append(outcome)
        onOutcome?(outcome)
        if pending == 0 { loop.afterFlush { [self] in finish() } }
    }
}

/// The server's end of a connection.
final class ServedConnection: ConnectionDelegate {
    enum Answer {
        /// The same bytes after each request.
        case text(String)
        /// Bytes that are repeated for ever.
        case endless(first: String, then: String)
        case silence
        case hangUp
    }

    private(set) var requests: [String] = []
    private(set) var isClosed = false
    private let answer: Answer
    private var unread: [UInt8] = []

    init(_ answer: Answer) { self.answer = answer }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        unread += bytes
        guard let request = ServedConnection.request(unread) else { return }
        requests.append(request)
        unread = []
        switch answer {
        case .text(let text): connection.write(Array(text.utf8))
        case .endless(let first, _): connection.write(Array(first.utf8))
        case .silence: break
        case .hangUp: connection.close()
        }
    }

    func connectionDidReachEnd(_ connection: Connection) { connection.closeAfterFlush() }

    func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {
        guard case .endless(_, let then) = answer, queuedBytes == 0 else { return }
        connection.write(Array(then.utf8))
    }

    func connectionDidClose(_ connection: Connection, error: NetworkError?) { isClosed = true }

    /// Returns the text of a request that is complete, with its body.
    private static func request(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        let length = text.firstMatch(of: #/Content-Length: (\d+)/#).flatMap { Int($0.output.1) }
        return text[end.upperBound...].utf8.count >= length ?? 0 ? text : nil
    }
}
