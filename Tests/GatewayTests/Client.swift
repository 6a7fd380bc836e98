import LineProtocol
import Node
import Session

@testable import Gateway

/// What a test's node says of itself.
struct FakeReports: NodeReports {
    var reason: LineError?

    func metricsText() -> [UInt8] { Array("figures\n".utf8) }
    func clusterJSON() -> [UInt8] { Array("{}".utf8) }
    func unreadiness() -> LineError? { reason }
}

/// The number of turns that a connection has asked for.
final class TurnCount: Sendable {
    nonisolated(unsafe) private(set) var count = 0

    func add() { count += 1 }
}

/// A client of the port for operations, without a socket.
final class Client {
    let output = FakeOutput()
    let clock = FakeClock()
    let connection: OpsConnection
    /// What the last step wrote.
    private(set) var text = ""
    private let executor = InlineExecutor()
    private let turnCount = TurnCount()

    init(_ reports: FakeReports = FakeReports(), nodes: [WebOrigin] = []) {
        connection = OpsConnection(
            showing: reports, and: WebPages(.cluster, nodes: nodes, executor: executor),
            clock: clock, output: output, executor: executor,
            askForTurn: { [turnCount] in turnCount.add() })
    }

    /// How many turns the connection has asked for.
    var turns: Int { turnCount.count }
    var status: Int? { Int(text.dropFirst(9).prefix(3)) }
    var body: String {
        guard let head = text.firstRange(of: "\r\n\r\n") else { return "" }
        return String(text[head.upperBound...])
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        step { connection in
            bytes.withUnsafeBytes { bytes in
                nonisolated(unsafe) let bytes = bytes
                connection.assumeIsolated { $0.onBytes(bytes) }
            }
        }
    }

    func turn() { step { $0.assumeIsolated { $0.onTurn() } } }

    func read() {
        output.queuedBytes = 0
        step { $0.assumeIsolated { $0.onDrained() } }
    }

    func end() { step { $0.assumeIsolated { $0.onEnd() } } }

    func wait(_ milliseconds: UInt64) {
        clock.milliseconds += milliseconds
        step { $0.assumeIsolated { $0.onTick() } }
    }

    private func step(_ body: (OpsConnection) -> Void) {
        output.bytes = []
        body(connection)
        text = String(decoding: output.bytes, as: UTF8.self)
    }
}
