import Wire

/// One run of a plan, from the first event to the last check.
package struct Run: Sendable {
    package let plan: Plan
    package let violation: Violation?
    /// Over everything that happened, in order.
    package let trace: UInt64
    package let events: UInt64
    package let coverage: Coverage
    /// How long it took to be level after the heal, and after the last write; in microseconds.
    package let healedIn: UInt64
    package let levelIn: UInt64
    /// Changes that were accepted.
    package let changes: Int

    /// - Parameter tracer: is handed a line for each thing that happens.
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

    /// The smallest plan found by leaving faults out that still breaks the same invariant.
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
