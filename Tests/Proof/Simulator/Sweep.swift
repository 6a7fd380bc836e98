/// The sums of many runs.
package struct Sweep: Sendable {
    package private(set) var runs = 0
    package private(set) var events: UInt64 = 0
    package private(set) var changes = 0
    package private(set) var coverage = Coverage()
    /// The longest time that any run took to be in sync, in microseconds.
    package private(set) var healedInMax: UInt64 = 0
    package private(set) var caughtUpInMax: UInt64 = 0
    /// The violation with the lowest seed.
    package private(set) var failure: Failure?
    /// The hash of each run's trace.
    package private(set) var traces = TraceHashes()
    package let world: WorldKind

    package struct Failure: Sendable {
        package let seed: UInt64
        package let violation: Violation
    }

    /// The least number of runs for which a missing fault or conflict counts as a failure.
    package static let coverageRunsMin = 1_000

    package init(_ world: WorldKind = .machines) { self.world = world }

    package mutating func add(_ run: Run) {
        runs += 1
        events += run.events
        changes += run.changes
        coverage.add(run.coverage)
        healedInMax = max(healedInMax, run.healedIn)
        caughtUpInMax = max(caughtUpInMax, run.levelIn)
        traces.add(run.trace, of: TraceHashes.Run(.machines, run.plan.seed))
        recordResult(run.violation, of: run.plan.seed)
    }

    package mutating func add(_ run: MembersRun) {
        runs += 1
        events += run.events
        coverage.add(run.coverage)
        healedInMax = max(healedInMax, run.levelIn)
        traces.add(run.trace, of: TraceHashes.Run(.members, run.seed))
        recordResult(run.violation, of: run.seed)
    }

    package mutating func add(_ run: ClusterRun) {
        runs += 1
        events += run.events
        changes += run.messages
        coverage.add(run.coverage)
        traces.add(run.trace.hash, of: TraceHashes.Run(.whole, run.seed))
        recordResult(run.finding, of: run.seed)
    }

    package mutating func add(_ other: Sweep) {
        runs += other.runs
        events += other.events
        changes += other.changes
        coverage.add(other.coverage)
        traces.add(other.traces)
        healedInMax = max(healedInMax, other.healedInMax)
        caughtUpInMax = max(caughtUpInMax, other.caughtUpInMax)
        if let failure = other.failure { recordResult(failure.violation, of: failure.seed) }
    }

    private mutating func recordResult(_ violation: Violation?, of seed: UInt64) {
        guard let violation else { return }
        if let failure, failure.seed < seed { return }
        failure = Failure(seed: seed, violation: violation)
    }

    /// The required situations that did not occur; empty for fewer than `coverageRunsMin` runs.
    package var missing: [String] {
        runs < Sweep.coverageRunsMin ? [] : coverage.missing(in: world)
    }
}
