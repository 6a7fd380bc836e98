/// One run of whole nodes, from the first start to the last check.
package struct ClusterRun: Sendable {
    package let seed: UInt64
    package private(set) var finding: Violation?
    package let trace: ClusterTrace
    package let events: UInt64
    package let messages: Int
    package let coverage: Coverage

    /// - Parameter tracer: receives one line for each event.
    package init(seed: UInt64, tracer: ((String) -> Void)? = nil) {
        let world = ClusterWorld(ClusterPlan(seed: seed), tracer: tracer)
        world.run()
        self.seed = seed
        finding = world.finding
        trace = world.trace
        events = world.events
        messages = world.expectations.names.count
        coverage = world.coverage
    }

    /// Runs a seed twice; a difference between the two runs is a violation, too.
    package static func twice(seed: UInt64) -> ClusterRun {
        var run = ClusterRun(seed: seed)
        if let difference = ClusterRun(seed: seed).trace.firstDifference(from: run.trace) {
            run.finding = Violation(invariant: .same, explanation: difference)
        }
        return run
    }
}
