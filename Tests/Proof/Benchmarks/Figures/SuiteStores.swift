import LineClient
import NetworkIO

/// The rows of a node that starts with much data on its disk, or with missing data.
extension Suite {
    /// Enough for a million sends that one core merges at 10,000 a second.
    private static let levelSecondsMax: UInt64 = 300

    private static let pageMessages = 50

    /// The number of sends right before the kill, so that every start finds unfinished work.
    private static let sendsBeforeKill = 10_000

    func measureCatchUp(_ sends: Int) async throws(BenchError) {
        let shape = SendLoad.Shape(sendsMax: sends)
        try await withCluster(of: 3, conversations: shape.conversations) {
            (cluster) async throws(BenchError) in
            let late = cluster.nodes[2]
            late.kill()
            let run = SendRun(shape, on: Array(cluster.nodes.prefix(2)))
            defer { run.stop() }
            try await run.fill()
            let began = Stage.loop.nanoseconds
            try cluster.launch(late)
            try await cluster.awaitReady(late)
            try await cluster.awaitCaughtUp(secondsMax: Self.levelSecondsMax)
            let seconds = Double(Stage.loop.nanoseconds - began) / 1e9
            guard let process = late.process else { throw BenchError("\(late.name) has ended") }
            // The kernel counts in hundredths of a second; a smaller value counts as one.
            let cpuMilliseconds = max(10, try NodeMemory.cpuMilliseconds(of: process))
            record(.levelAfter(sends), seconds)
            record(.mergeRate(sends), Double(sends) / seconds)
            record(.mergePerCPU(sends), Double(sends) * 1e3 / Double(cpuMilliseconds))
        }
    }

    func measurePages() async throws(BenchError) {
        let messages = plan.messages
        let shape = SendLoad.Shape(isWithIDs: true, conversations: 1, sendsMax: messages)
        try await withCluster(of: 1, conversations: 1) { (cluster) async throws(BenchError) in
            let node = cluster.nodes[0]
            let run = SendRun(shape, on: [node])
            defer { run.stop() }
            try await run.fill()
            // All connections have sent about as many messages, so this one lies about in the
            // middle.
            let middle = SendLoad.id(
                ofConnection: 0, send: messages / shape.connections / 2)
            let line = "HISTORY \(SendLoad.conversation(0)) bob limit=\(Self.pageMessages)"
            for _ in 1...plan.runs {
                let newest = try await pages(line, of: cluster)
                record(.newestP50(messages), newest.milliseconds(50))
                record(.newestP99(messages), newest.milliseconds(99))
                let older = try await pages("\(line) before=\(middle)", of: cluster)
                record(.middleP50(messages), older.milliseconds(50))
                record(.middleP99(messages), older.milliseconds(99))
            }
            run.stop()
            for _ in 1...plan.runs {
                let more = SendRun(
                    SendLoad.Shape(conversations: 1, sendsMax: Self.sendsBeforeKill), on: [node])
                defer { more.stop() }
                try await more.fill()
                node.kill()
                let began = Stage.loop.nanoseconds
                try cluster.launch(node, isFounding: true)
                try await cluster.awaitReady(node)
                record(.start(messages), Double(Stage.loop.nanoseconds - began) / 1e6)
            }
        }
    }

    private func pages(
        _ line: String, of cluster: LocalCluster
    ) async throws(BenchError) -> Latencies {
        let connection = try await cluster.connect(cluster.nodes[0])
        defer { connection.close() }
        var latencies = Latencies()
        for _ in 0..<plan.pages {
            let began = Stage.loop.nanoseconds
            let reply = try await cluster.ask(line, on: connection)
            latencies.record(nanoseconds: Stage.loop.nanoseconds - began)
            guard reply.isOK, reply.dataLines.count == Self.pageMessages else {
                throw BenchError(
                    "'\(line)' has \(reply.dataLines.count) messages and \(reply.statusText)")
            }
        }
        return latencies
    }
}
