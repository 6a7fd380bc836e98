import LineClient
import NetworkIO
import Testing

/// A node whose replies are set by a test; it lives on the loop on which it was made.
final class ScriptedServer {
    let address: SocketAddress
    private let listener: Listener

    /// - Parameter answer: called with each line and its connection, to write to or close.
    init(on loop: EventLoop, _ answer: @escaping (String, Connection) -> Void) throws {
        listener = try Listener(try #require(SocketAddress("127.0.0.1:0")), on: loop)
        address = listener.address
        try listener.start { $0.delegate = Client(answer) }
    }

    func close() { listener.close() }

    private final class Client: ConnectionDelegate {
        private let answer: (String, Connection) -> Void
        private var rest: [UInt8] = []

        init(_ answer: @escaping (String, Connection) -> Void) { self.answer = answer }

        func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
            rest += bytes
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest.removeSubrange(...end)
                answer(line, connection)
            }
        }

        func connectionDidReachEnd(_ connection: Connection) { connection.closeAfterFlush() }
        func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {}
        func connectionDidClose(_ connection: Connection, error: NetworkError?) {}
    }
}

/// Runs a loop on the calling thread, until the body's `stop` is called.
func onLoop(_ body: (EventLoop, _ stop: @escaping () -> Void) throws -> Void) throws {
    let loop = try EventLoop()
    _ = Timer(on: loop, afterMilliseconds: 30_000) {
        Issue.record("not over after 30 s")
        loop.stop()
    }
    try body(loop) { loop.stop() }
    loop.run()
}

/// Makes a connection to a server with this script, and passes it to `body` once it is established.
func withConnection(
    answering answer: @escaping (String, Connection, EventLoop) -> Void,
    _ body: @escaping (LineConnection, _ stop: @escaping () -> Void) -> Void
) throws {
    try onLoop { loop, stop in
        let server = try ScriptedServer(on: loop) { line, connection in
            answer(line, connection, loop)
        }
        LineConnection.dial(server.address, on: loop) { result in
            switch result {
            case .success(let connection): body(connection, stop)
            case .failure(let failure):
                Issue.record(failure)
                stop()
            }
        }
    }
}
