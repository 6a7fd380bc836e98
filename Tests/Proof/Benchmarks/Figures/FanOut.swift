import LineClient
import NetworkIO

/// Many WebSockets of one user at one node, all of which are told of each message.
@Stage final class FanOut {
    /// The limit of WebSockets that wait for their first answers at the same time.
    private static let waitingMax = 200
    /// The limit of the time until all watch, and until all are told of a message, in nanoseconds.
    private static let patienceNanoseconds: UInt64 = 10_000_000_000

    private let address: SocketAddress
    private let count: Int
    private var listeners: [FanOutListener] = []
    private var dialed = 0
    private var watching = 0
    private var told = 0
    private var lastToldNanoseconds: UInt64 = 0
    private var complaint: String?

    init(_ count: Int, at node: LocalNode) {
        address = node.http
        self.count = count
    }

    func open() async throws(BenchError) {
        let began = Stage.loop.nanoseconds
        while watching < count {
            while dialed < min(count, watching + Self.waitingMax) { dial() }
            try await pause("watch", watching, since: began)
        }
    }

    func close() { for listener in listeners { listener.connection.close() } }

    /// Sends a message, and waits until every WebSocket has its event.
    ///
    /// - Returns: the time from the line to the last event, in nanoseconds.
    func deliver(
        _ line: String, from sender: LineConnection, of cluster: LocalCluster
    ) async throws(BenchError) -> UInt64 {
        told = 0
        let began = Stage.loop.nanoseconds
        let reply = try await cluster.ask(line, on: sender)
        guard reply.isOK else { throw BenchError("\(reply.statusText) to '\(line)'") }
        while told < count { try await pause("were told", told, since: began) }
        return lastToldNanoseconds - began
    }

    private func pause(
        _ what: String, _ reached: Int, since began: UInt64
    ) async throws(BenchError) {
        await Stage.pause(milliseconds: 1)
        if let complaint { throw BenchError(complaint) }
        guard Stage.loop.nanoseconds < began + Self.patienceNanoseconds else {
            throw BenchError("of \(count) WebSockets \(reached) \(what) in 10 s")
        }
    }

    private func dial() {
        dialed += 1
        Connection.dial(address, on: Stage.loop, timeoutMilliseconds: 10_000) {
            [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let connection): add(connection)
            case .failure(let error): complaint = "a WebSocket could not connect: \(error)"
            }
        }
    }

    private func add(_ connection: Connection) {
        let listener = FanOutListener(connection) { [weak self] change in
            guard let self else { return }
            switch change {
            case .watches: watching += 1
            case .isTold:
                told += 1
                if told == count { lastToldNanoseconds = Stage.loop.nanoseconds }
            case .isLost: complaint = "a WebSocket was refused or dropped"
            }
        }
        listeners.append(listener)
    }
}

/// One of the WebSockets.
private final class FanOutListener: ConnectionDelegate {
    enum Change { case watches, isTold, isLost }

    /// The replies before the first event: to the handshake, and to the request for events.
    private static let openingReplies = 2

    let connection: Connection
    private let onChange: (Change) -> Void
    private var replies = ReplyCounter(.socket)
    private var count = 0

    init(_ connection: Connection, onChange: @escaping (Change) -> Void) {
        self.connection = connection
        self.onChange = onChange
        connection.delegate = self
        connection.write((SendWay.socket.opening ?? []) + SendWay.watchRequest)
    }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        replies.read(bytes) { [self] _, isGood in
            count += 1
            if count > Self.openingReplies { return onChange(.isTold) }
            guard isGood else { return onChange(.isLost) }
            if count == Self.openingReplies { onChange(.watches) }
        }
    }

    func connectionDidReachEnd(_ connection: Connection) { connection.close() }

    func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {}

    func connectionDidClose(_ connection: Connection, error: NetworkError?) { onChange(.isLost) }
}
