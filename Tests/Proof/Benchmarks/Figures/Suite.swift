import NetworkIO

/// All figures, in passes: each pass measures the machine first, then every row once.
///
/// Passes, and not row after row, because other load on the machine varies: the runs of a row lie
/// minutes apart, and so reveal it.
@Stage final class Suite {
    let plan: SuitePlan
    let program: String
    private(set) var figures = FigureRecord()
    /// The name of the current stage, for the progress report.
    private var stage = ""

    init(_ plan: SuitePlan, program: String) {
        self.plan = plan
        self.program = program
    }

    func run() async {
        if !plan.isGrowthAlone { await runAll() }
        stage = "growth"
        for messages in plan.growth {
            let count = decimal(Double(messages), digits: 0)
            await step("each verb with a conversation of \(count) messages") {
                () async throws(BenchError) in try await self.measureGrowth(messages)
            }
        }
    }

    private func runAll() async {
        for pass in 1...plan.runs {
            stage = "pass \(pass) of \(plan.runs)"
            await step("what the machine can do", measureCeilings)
            await step("three nodes, one client, one send at a time", measureOneClient)
            await step("three nodes, 50 connections, 16 sends in flight on each", measureThree)
            await step("one node, the same load", measureOne)
            for (way, row) in [(SendWay.socket, Row.socketSends), (.http, .httpSends)] {
                await step("one node, the same load over \(way)") {
                    () async throws(BenchError) in try await self.measureOne(over: way, row)
                }
            }
            await step("\(Self.sockets) WebSockets, a message to all of them", measureFanOut)
            await step("new TLS connections", measureHandshakes)
            await step("files of 25 MiB, and the disk beside them", measureFiles)
            await step("kill -9 of one of three nodes under load", measureKill)
            await step("five nodes, 100 sends a second, a watcher on each", measureEvents)
            for sends in plan.missed where pass <= plan.runs(missing: sends) {
                await step("a node that missed \(decimal(Double(sends), digits: 0)) sends") {
                    () async throws(BenchError) in try await self.measureCatchUp(sends)
                }
            }
            figures.endPass()
        }
        stage = "last"
        let messages = decimal(Double(plan.messages), digits: 0)
        let watchers = decimal(Double(plan.watchers), digits: 0)
        await step("\(watchers) idle watchers on one of three nodes", measureIdleWatchers)
        await step("a conversation of \(messages) messages, and a start with them", measurePages)
    }

    /// Runs a measurement; its failure does not affect the other rows.
    private func step(
        _ name: String, _ measure: () async throws(BenchError) -> Void
    ) async {
        say("\(stage): \(name)")
        let began = Stage.loop.nanoseconds
        do throws(BenchError) {
            try await measure()
        } catch {
            figures.fail("\(name): \(error)")
            say("  failed: \(error)")
        }
        say("  \(decimal(Double(Stage.loop.nanoseconds - began) / 1e9, digits: 1)) s")
    }

    func record(_ row: Row, _ value: Double) {
        figures.record(row, value)
        say("  \(row.name) \(decimal(value, digits: row.digits)) \(row.unit)")
    }

    /// Runs the work on fresh nodes that are in sync and have the conversations of the load.
    func withCluster(
        of nodes: Int, conversations: Int, options: [String] = [],
        _ work: (LocalCluster) async throws(BenchError) -> Void
    ) async throws(BenchError) {
        let cluster = try LocalCluster(
            of: nodes, program: program, options: ["--log", "error"] + options)
        defer { cluster.shutDown(keepingFolder: false) }
        try await cluster.start()
        try await cluster.createConversations(conversations)
        try await work(cluster)
    }

    private func measureCeilings() async throws(BenchError) {
        let disk = try diskSpeed()
        record(.coreSpeed, Machine.coreSpeed { Stage.loop.nanoseconds })
        record(.syncRate, disk.syncsPerSecond)
        record(.syncP50, disk.latencies.milliseconds(50))
        record(.syncP99, disk.latencies.milliseconds(99))
        let loopback = try LoopbackSpeed { Stage.loop.nanoseconds }
        record(.tcpRoundTrip, loopback.roundTrips.milliseconds(50))
        record(.tcpStream, loopback.linesPerSecond)
    }

    /// Measures the disk in a folder on the same file system as the nodes' data.
    private func diskSpeed() throws(BenchError) -> DiskSpeed {
        let folder = try Files.temporaryFolder()
        defer { removeOrSay(folder) }
        return try DiskSpeed(in: folder) { Stage.loop.nanoseconds }
    }

    func removeOrSay(_ folder: String) {
        do throws(BenchError) {
            try Files.remove(folder: folder)
        } catch {
            say("left behind: \(error)")
        }
    }
}
