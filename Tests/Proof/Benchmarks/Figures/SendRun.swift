import LineClient
import NetworkIO

/// The results of a load of sends.
struct SendFigures {
    let sendsPerSecond: Double
    /// The times from a send to its `OK`, in milliseconds.
    let p50: Double
    let p99: Double
    let longest: Double
}

/// One load on running nodes, from its first send to its last reply.
@Stage final class SendRun {
    /// The time for which the load runs before it is measured, in milliseconds.
    private static let warmUpMilliseconds: UInt64 = 1_000

    /// The silence after which a node that owes replies has failed, in nanoseconds.
    private static let silenceNanosecondsMax: UInt64 = 30_000_000_000

    /// The time after which the last replies of a load count as missing, in nanoseconds.
    private static let lastRepliesNanosecondsMax: UInt64 = 10_000_000_000

    let load: SendLoad
    private let addresses: [SocketAddress]

    /// - Parameter nodes: the nodes over which the connections are spread.
    init(_ shape: SendLoad.Shape, on nodes: [LocalNode]) {
        load = SendLoad(shape, on: Stage.loop)
        addresses = nodes.map { shape.way == .lines ? $0.admin : $0.http }
    }

    /// Starts the load, and measures it for `seconds` after the warm-up.
    func measure(seconds: Int) async throws(BenchError) -> SendFigures {
        try await warmUp()
        load.beginMeasuring()
        await Stage.pause(milliseconds: UInt64(seconds) * 1_000)
        let sendsPerSecond = load.endMeasuring()
        try check()
        guard load.latencies.count > 0 else { throw BenchError("no send was answered") }
        return figures(sendsPerSecond)
    }

    /// Starts the load; returns when it has run for a second.
    func warmUp() async throws(BenchError) {
        load.start(addresses)
        await Stage.pause(milliseconds: Self.warmUpMilliseconds)
        try check()
    }

    /// Sends as many messages as the shape allows, and returns when all are answered.
    func fill() async throws(BenchError) {
        load.start(addresses)
        var answered = 0
        var heard = Stage.loop.nanoseconds
        while load.answeredCount < load.shape.sendsMax ?? 0 {
            await Stage.pause(milliseconds: 5)
            try check()
            if load.answeredCount > answered {
                answered = load.answeredCount
                heard = Stage.loop.nanoseconds
            } else if Stage.loop.nanoseconds > heard + Self.silenceNanosecondsMax {
                throw BenchError("a node answered \(answered) sends and then none for 30 s")
            }
        }
    }

    /// Stops new sends, and waits for the last replies.
    ///
    /// - Returns: the number of sends without a reply.
    func finish() async -> Int {
        load.stopSending()
        let deadline = Stage.loop.nanoseconds + Self.lastRepliesNanosecondsMax
        while load.unansweredCount > 0, Stage.loop.nanoseconds < deadline {
            await Stage.pause(milliseconds: 5)
        }
        return load.unansweredCount
    }

    func stop() { load.stop() }

    func figures(_ sendsPerSecond: Double) -> SendFigures {
        let latencies = load.latencies
        return SendFigures(
            sendsPerSecond: sendsPerSecond, p50: latencies.milliseconds(50),
            p99: latencies.milliseconds(99), longest: latencies.milliseconds(100))
    }

    private func check() throws(BenchError) {
        if let refusal = load.refusal { throw BenchError("a node answered \(refusal)") }
        if let lost = load.lost { throw BenchError("a connection was lost: \(lost)") }
    }
}

extension Latencies {
    func milliseconds(_ percent: Double) -> Double { Double(percentile(percent)) / 1e6 }
}

extension LocalCluster {
    /// Creates the conversations of a load, and waits until every node has them.
    func createConversations(_ count: Int) async throws(BenchError) {
        let connection = try await connect(nodes[0])
        defer { connection.close() }
        for index in 0..<count {
            let line = "CREATE \(SendLoad.conversation(index)) alice,bob"
            let reply = try await ask(line, on: connection)
            guard reply.isOK else {
                throw BenchError("\(nodes[0].name) answers '\(line)' with \(reply.statusText)")
            }
        }
        try await awaitCaughtUp()
    }
}
