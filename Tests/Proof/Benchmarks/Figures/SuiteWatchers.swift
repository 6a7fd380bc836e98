/// The rows of watchers.
extension Suite {
    private static let conversations = 20
    /// The time in which a node releases the memory of the answers, in milliseconds.
    private static let restMilliseconds: UInt64 = 1_000

    func measureEvents() async throws(BenchError) {
        try await withCluster(of: 5, conversations: Self.conversations) {
            (cluster) async throws(BenchError) in
            let run = EventRun(cluster, conversations: Self.conversations)
            defer { run.stop() }
            try await run.run(seconds: plan.seconds)
            record(.eventP50, run.afterSend.milliseconds(50))
            record(.eventP99, run.afterSend.milliseconds(99))
            record(.eventAfterOKP99, run.afterOK.milliseconds(99))
            record(.eventsAstray, Double(run.lost + run.repeated))
        }
    }

    func measureIdleWatchers() async throws(BenchError) {
        try await withCluster(of: 3, conversations: Self.conversations) {
            (cluster) async throws(BenchError) in
            let node = cluster.nodes[0]
            guard let process = node.process else { throw BenchError("\(node.name) has ended") }
            let before = try NodeMemory(of: process).resident
            let watchers = IdleWatchers(plan.watchers, at: node)
            defer { watchers.close() }
            let seconds = try await watchers.open()
            await Stage.pause(milliseconds: Self.restMilliseconds)
            let after = try NodeMemory(of: process).resident
            record(.watchersAnswered(plan.watchers), seconds)
            record(.watcherMemory(plan.watchers), Double(after - before) / Double(plan.watchers))
        }
    }
}
