import Glibc
import NetworkIO

/// The rows of a load on running nodes, and with one node killed.
extension Suite {
    /// The pause after which the traffic between three nodes counts as idle, and the time for which
    /// it is measured.
    private static let settleMilliseconds: UInt64 = 2_000
    private static let idleSeconds = 3

    private static let fullLoad = SendLoad.Shape(ackLevel: "majority")

    func measureOneClient() async throws(BenchError) {
        let shape = SendLoad.Shape(connections: 1, inFlight: 1, ackLevel: "majority")
        try await withCluster(of: 3, conversations: shape.conversations) {
            (cluster) async throws(BenchError) in
            let run = SendRun(shape, on: cluster.nodes)
            defer { run.stop() }
            let figures = try await run.measure(seconds: plan.seconds)
            record(.oneClientP50, figures.p50)
            record(.oneClientP99, figures.p99)
        }
    }

    func measureOne() async throws(BenchError) {
        let shape = Self.fullLoad
        try await withCluster(of: 1, conversations: shape.conversations) {
            (cluster) async throws(BenchError) in
            let run = SendRun(shape, on: cluster.nodes)
            defer { run.stop() }
            let figures = try await run.measure(seconds: plan.seconds)
            record(.oneNodeSends, figures.sendsPerSecond)
            record(.oneNodeP50, figures.p50)
            record(.oneNodeP99, figures.p99)
        }
    }

    func measureOne(over way: SendWay, _ row: Row) async throws(BenchError) {
        // The level of the port for apps is the node's own, which is this one.
        let shape = SendLoad.Shape(way: way)
        try await withCluster(of: 1, conversations: shape.conversations) {
            (cluster) async throws(BenchError) in
            let run = SendRun(shape, on: cluster.nodes)
            defer { run.stop() }
            record(row, try await run.measure(seconds: plan.seconds).sendsPerSecond)
        }
    }

    func measureThree() async throws(BenchError) {
        let shape = Self.fullLoad
        try await withCluster(of: 3, conversations: shape.conversations) {
            (cluster) async throws(BenchError) in
            record(.idleMemory, try greatestMebibytes(cluster))
            let before = try traffic(cluster)
            let run = SendRun(shape, on: cluster.nodes)
            defer { run.stop() }
            let figures = try await run.measure(seconds: plan.seconds)
            record(.threeNodesSends, figures.sendsPerSecond)
            record(.threeNodesP50, figures.p50)
            record(.threeNodesP99, figures.p99)
            let missing = await run.finish()
            guard missing == 0 else { throw BenchError("\(missing) sends were never answered") }
            try await cluster.awaitCaughtUp()
            let after = try traffic(cluster, like: before)
            let texts = run.load.answeredCount * SendLoad.textBytes
            record(.wire, Double(after.receivedBytes - before.receivedBytes) / Double(texts * 2))
            record(.loadedMemory, try greatestMebibytes(cluster))
            try await measureIdle(cluster)
        }
    }

    private func measureIdle(_ cluster: LocalCluster) async throws(BenchError) {
        await Stage.pause(milliseconds: Self.settleMilliseconds)
        let before = try traffic(cluster)
        await Stage.pause(milliseconds: UInt64(Self.idleSeconds) * 1_000)
        let after = try traffic(cluster, like: before)
        let pairs = 3
        let bytes = Double(after.receivedBytes - before.receivedBytes)
        record(.idleWire, bytes / Double(pairs * Self.idleSeconds))
    }

    func measureKill() async throws(BenchError) {
        let shape = SendLoad.Shape(inFlight: 1, ackLevel: "majority")
        try await withCluster(of: 3, conversations: shape.conversations) {
            (cluster) async throws(BenchError) in
            let victim = cluster.nodes[2]
            let run = SendRun(shape, on: Array(cluster.nodes.prefix(2)))
            defer { run.stop() }
            try await run.warmUp()
            run.load.beginMeasuring()
            await Stage.pause(milliseconds: 500)
            victim.process?.send(SIGKILL)
            // Waits without blocking, which would delay the load on the same loop.
            while victim.collect() == nil { await Stage.pause(milliseconds: 1) }
            await Stage.pause(milliseconds: UInt64(plan.seconds) * 1_000)
            let missing = await run.finish()
            record(.killFailures, Double(run.load.refusalCount + missing))
            record(.killLongestWait, run.figures(run.load.endMeasuring()).longest)
        }
    }

    private func greatestMebibytes(_ cluster: LocalCluster) throws(BenchError) -> Double {
        var greatest = 0
        for node in cluster.nodes {
            guard let process = node.process else { continue }
            greatest = max(greatest, try NodeMemory(of: process).resident)
        }
        return Double(greatest) / Double(1 << 20)
    }

    /// - Parameter earlier: an earlier measurement of the same connections, for comparison.
    private func traffic(
        _ cluster: LocalCluster, like earlier: TCPTraffic? = nil
    ) throws(BenchError) -> TCPTraffic {
        let traffic = try TCPTraffic(ports: Set(cluster.nodes.map(\.gossip.port)))
        guard traffic.sockets > 0, traffic.sockets == earlier?.sockets ?? traffic.sockets,
            traffic.receivedBytes >= earlier?.receivedBytes ?? 0
        else { throw BenchError("connections between the nodes ended, with what they counted") }
        return traffic
    }
}
