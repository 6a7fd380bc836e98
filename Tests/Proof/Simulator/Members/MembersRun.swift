import Membership
import Wire

/// The simulated worlds; a seed determines a run in each of them.
package enum WorldKind: String, CaseIterable, Sendable {
    /// The shard machines of nodes, in a shell of the simulator's own, with disks and clients.
    case machines
    /// Membership alone, with many more faults of connections, pauses and starts.
    case members
    /// The actors of whole nodes, used through request lines.
    case whole
}

/// One run of the world of members, from the first event to the last check.
package struct MembersRun: Sendable {
    package let seed: UInt64
    package let violation: Violation?
    /// A hash over all events in order; equal for two runs of one seed.
    package let trace: UInt64
    package let events: UInt64
    package let coverage: Coverage
    /// The longest time until all members had one view, in microseconds.
    package let levelIn: UInt64

    /// The interval of seeds that run with a hundred members.
    static let hundredEvery: UInt64 = 1_000

    /// - Parameter tracer: receives one line for each event.
    package init(seed: UInt64, tracer: ((String) -> Void)? = nil) {
        let world = MembersWorld(seed: seed, tracer: tracer)
        var violation: Violation?
        do throws(Violation) {
            if seed % MembersRun.hundredEvery == 99 {
                try world.runHundred()
            } else {
                try world.runEpisodes()
            }
        } catch {
            violation = error
        }
        self.seed = seed
        self.violation = violation
        trace = world.trace
        events = world.events
        coverage = world.coverage
        levelIn = world.caughtUpInMax
    }
}

extension MembersWorld {
    /// Runs a cluster of a hundred members, of which one is killed and started again.
    func runHundred() throws(Violation) {
        try found(members: 100)
        coverage.count("hundred")
        try run(milliseconds: 1_500)
        let victim = random.pick(nodes)
        mayDie = [victim.name]
        kill(victim)
        try run(milliseconds: MembersWorld.killSeenWithin)
        try require([victim], .dead ... .left, at: running, .seenDead, after: "a kill")
        start(victim, table: victim.savedTable, contact: nil)
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "a start")
    }
}
