import Wire

/// One run of a plan in the world of machines, from the first event to the last check.
package struct Run: Sendable {
    package let plan: Plan
    package let violation: Violation?
    /// A hash over all events in order; equal for two runs of one plan.
    package let trace: UInt64
    package let events: UInt64
    package let coverage: Coverage
    /// The times, in microseconds, that the nodes took to be in sync after the heal (`healedIn`)
    /// and after the last writes (`levelIn`).
    package let healedIn: UInt64
    package let levelIn: UInt64
    /// The number of changes that nodes accepted.
    package let changes: Int

    /// - Parameter tracer: receives one line for each event.
    package init(_ plan: Plan, tracer: ((String) -> Void)? = nil) {
        let world = World(plan, tracer: tracer)
        var violation: Violation?
        do throws(Violation) {
            try world.run()
        } catch {
            violation = error
        }
        self.plan = plan
        self.violation = violation
        trace = world.trace
        events = world.events
        coverage = world.coverage
        healedIn = world.quiet.healedIn
        levelIn = world.quiet.levelIn
        changes = world.ledger.entries.count
    }

    /// Removes faults from a plan, one at a time, as long as the rest still breaks the same
    /// invariant.
    ///
    /// - Returns: the smallest plan found.
    package static func shrunk(_ plan: Plan, breaking invariant: Invariant) -> Plan {
        var smallest = plan
        var isSmaller = true
        while isSmaller {
            isSmaller = false
            for index in smallest.faults.indices.reversed() {
                var candidate = smallest
                candidate.faults.remove(at: index)
                guard Run(candidate).violation?.invariant == invariant else { continue }
                smallest = candidate
                isSmaller = true
            }
        }
        return smallest
    }
}
