import NetworkIO

/// Many connections to one node that each watch a user without events.
@Stage final class IdleWatchers {
    /// The limit of watchers that wait for their answer at the same time.
    private static let waitingMax = 200
    /// The limit of the time until all are answered, in nanoseconds.
    private static let patienceNanoseconds: UInt64 = 120_000_000_000

    private let address: SocketAddress
    private let count: Int
    private var watchers: [IdleWatcher] = []
    private var dialed = 0
    private var answered = 0
    private var complaint: String?

    init(_ count: Int, at node: LocalNode) {
        address = node.admin
        self.count = count
    }

    /// - Returns: the time until the last was answered, in seconds.
    func open() async throws(BenchError) -> Double {
        let began = Stage.loop.nanoseconds
        while answered < count {
            while complaint == nil, dialed < min(count, answered + Self.waitingMax) { dial() }
            await Stage.pause(milliseconds: 1)
            if let complaint { throw BenchError(complaint) }
            guard Stage.loop.nanoseconds < began + Self.patienceNanoseconds else {
                throw BenchError("of \(count) watchers \(answered) were answered in 120 s")
            }
        }
        return Double(Stage.loop.nanoseconds - began) / 1e9
    }

    func close() { for watcher in watchers { watcher.connection.close() } }

    private func dial() {
        let line = "WATCH idle\(dialed)\n"
        dialed += 1
        Connection.dial(address, on: Stage.loop, timeoutMilliseconds: 10_000) {
            [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let connection):
                watchers.append(
                    IdleWatcher(connection) { [weak self] isOK in
                        self?.answered += 1
                        if !isOK { self?.complaint = "an idle watcher was refused or dropped" }
                    })
                connection.write(Array(line.utf8))
            case .failure(let error): complaint = "an idle watcher could not connect: \(error)"
            }
        }
    }
}

/// A client that gets one answer and no events.
private final class IdleWatcher: ConnectionDelegate {
    let connection: Connection
    private var onAnswer: ((Bool) -> Void)?

    init(_ connection: Connection, onAnswer: @escaping (Bool) -> Void) {
        self.connection = connection
        self.onAnswer = onAnswer
        connection.delegate = self
    }

    private func answer(_ isOK: Bool) {
        onAnswer?(isOK)
        onAnswer = nil
    }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        answer(bytes.first == UInt8(ascii: "O"))
    }

    func connectionDidReachEnd(_ connection: Connection) { connection.close() }

    func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {}

    func connectionDidClose(_ connection: Connection, error: NetworkError?) { answer(false) }
}
