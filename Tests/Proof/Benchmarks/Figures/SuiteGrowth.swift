import LineClient
import NetworkIO

/// The rows of verbs with conversations of several sizes: no verb should cost more in a larger one.
extension Suite {
    /// The number of things that each listing verb returns, whatever the number of messages.
    private static let listed = 10

    func measureGrowth(_ messages: Int) async throws(BenchError) {
        let shape = SendLoad.Shape(
            connections: 10, isWithIDs: true, conversations: 1, sendsMax: messages)
        try await withCluster(of: 1, conversations: 1) { (cluster) async throws(BenchError) in
            let run = SendRun(shape, on: cluster.nodes)
            defer { run.stop() }
            try await run.fill()
            run.stop()
            let connection = try await cluster.connect(cluster.nodes[0])
            defer { connection.close() }
            let conversation = SendLoad.conversation(0)
            try await expectOK("DEVICE ADD bob phone token=t", cluster, connection)
            for number in 0..<Self.listed {
                try await expectOK(
                    "SEND \(conversation) alice id=late-\(number) hello", cluster, connection)
                try await expectOK("PIN \(conversation) late-\(number) bob", cluster, connection)
                try await expectOK(
                    "ACTION ADD bob id=a-\(number) chat=\(conversation) call back", cluster,
                    connection)
            }
            // Verbs that move a mark advance through the messages of one connection.
            let each = max(1, messages / shape.connections)
            for verb in GrowingVerb.allCases {
                var latencies = Latencies()
                for call in 0..<plan.pages {
                    let send = each * call / plan.pages
                    let message = SendLoad.id(ofConnection: 0, send: send)
                    let began = Stage.loop.nanoseconds
                    try await expectOK(
                        verb.line(conversation, "bob", message: message), cluster, connection)
                    latencies.record(nanoseconds: Stage.loop.nanoseconds - began)
                }
                record(.growth(verb, messages), latencies.milliseconds(50))
            }
        }
    }

    private func expectOK(
        _ line: String, _ cluster: LocalCluster, _ connection: LineConnection
    ) async throws(BenchError) {
        let reply = try await cluster.ask(line, on: connection)
        guard reply.isOK else { throw BenchError("\(reply.statusText) to '\(line)'") }
    }
}
