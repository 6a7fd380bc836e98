import NetworkIO
import Testing

/// Runs `body` while a loop runs on its own thread; the thread has ended when this returns.
@discardableResult
func withLoop<Answer>(_ body: (EventLoop) async throws -> Answer) async throws -> Answer {
    let thread = try LoopThread()
    defer { thread.join() }
    return try await body(thread.loop)
}

extension EventLoop {
    /// Runs `body` on the loop's thread.
    func perform<Answer: Sendable>(
        _ body: @escaping @Sendable () throws -> Answer
    ) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            post { continuation.resume(with: Result { try body() }) }
        }
    }

    func dial(_ address: SocketAddress) async throws -> Connection {
        try await withCheckedThrowingContinuation { continuation in
            post {
                Connection.dial(address, on: self, timeoutMilliseconds: 5_000) { result in
                    continuation.resume(with: result.mapError { $0 as any Error })
                }
            }
        }
    }

    /// Listens at a free port of this machine.
    func listen(
        _ onConnection: @escaping @Sendable (Connection) -> Void
    ) async throws -> SocketAddress {
        let anyPort = try loopback(0)
        return try await perform {
            let listener = try Listener(anyPort, on: self)
            try listener.start(onConnection)
            return listener.address
        }
    }
}

func loopback(_ port: UInt16) throws -> SocketAddress {
    try #require(SocketAddress("127.0.0.1:\(port)"))
}

/// Both ends of one connection, each with a recorder.
struct Pair {
    let client: Connection
    let server: Connection
    let clientSees = Recorder()
    let serverSees = Recorder()

    /// - Parameter answering: called with the bytes that the server's end reads.
    init(
        on loop: EventLoop, answering: (@Sendable (Connection, [UInt8]) -> Void)? = nil
    ) async throws {
        serverSees.answer.withLock { $0 = answering }
        let accepted = Watched<Connection?>(nil)
        let address = try await loop.listen { connection in accepted.change { $0 = connection } }
        client = try await loop.dial(address)
        server = try #require(try await accepted.wait { $0 != nil })
        try await loop.perform { [self] in
            client.delegate = clientSees
            server.delegate = serverSees
        }
    }
}
