import ChatClient
import LineProtocol
import NetworkIO
import TLS

/// The two connections of a chat client to one node: for requests, and for events.
///
/// If one of them cannot be established, or ends, both are closed, and that is reported once.
final class NodeConnection {
    /// The time after which a node that owes a reply is considered dead, in milliseconds.
    private static let patienceMilliseconds: UInt64 = 4_000
    private static let dialMilliseconds: UInt64 = 2_000

    private let keys: [Key]
    private let report: (Happening) -> Void
    private var requests: LineConnection?
    private var events: LineConnection?
    private var isOver = false

    init(_ keys: [Key], _ report: @escaping (Happening) -> Void) {
        self.keys = keys
        self.report = report
    }

    func dial(_ address: String, on loop: EventLoop) {
        guard let endpoint = Endpoint(address) else { return lose("is no address") }
        connect(endpoint, on: loop) { [self] connection in
            requests = connection
            connect(endpoint, on: loop) { [self] connection in
                events = connection
                connection.onEvent = { [weak self] fields in self?.notifyOwner(.event(fields)) }
                notifyOwner(.connected)
            }
        }
    }

    func ask(_ number: Int, _ line: String) {
        send(line, on: requests) { [weak self] reply in
            self?.notifyOwner(.answered(number, reply.lines))
        }
    }

    func watch(_ line: String) {
        send(line, on: events) { [weak self] reply in
            if let status = reply.lines.last { self?.notifyOwner(.watchAnswered(status)) }
        }
    }

    /// Closes both connections; nothing is reported any more.
    func close() {
        isOver = true
        requests?.close()
        events?.close()
    }

    private func connect(
        _ endpoint: Endpoint, on loop: EventLoop, then: @escaping (LineConnection) -> Void
    ) {
        LineConnection.dial(endpoint, on: loop, timeoutMilliseconds: Self.dialMilliseconds) {
            [self] result in
            switch result {
            case .failure(let failure): lose("\(failure)")
            case .success(let connection):
                guard !isOver else { return connection.close() }
                connection.onClose = { [weak self] failure in self?.lose("\(failure)") }
                connection.signIn(with: keys) { [self] outcome in
                    switch outcome {
                    case .signedIn: if !isOver { then(connection) }
                    case .refused(let reply): lose(reply.error?.sentence ?? "refuses the key")
                    case .failed(let failure): lose("\(failure)")
                    }
                }
            }
        }
    }

    private func send(
        _ line: String, on connection: LineConnection?, then: @escaping (LineReply) -> Void
    ) {
        let isSent = connection?.send(line, patienceMilliseconds: Self.patienceMilliseconds) {
            [weak self] answer in
            switch answer {
            case .success(let reply): then(reply)
            case .failure(let failure): self?.lose("\(failure)")
            }
        }
        if isSent != true { lose("takes no more requests") }
    }

    private func notifyOwner(_ happening: Happening) {
        if !isOver { report(happening) }
    }

    private func lose(_ why: String) {
        guard !isOver else { return }
        close()
        report(.lost(why))
    }
}
