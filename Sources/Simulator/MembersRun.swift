import Membership
import Wire

/// The worlds that a seed can decide.
package enum WorldKind: String, CaseIterable, Sendable {
    /// The machines of nodes, in a shell of the simulator's own, with disks and clients.
    case machines
    /// Who is alive: membership alone, with many more faults of links, pauses and starts.
    case members
    /// Whole nodes: the actors of real ones, asked in lines.
    case whole
}

/// One run of the world of members, from the first event to the last check.
package struct MembersRun: Sendable {
    package let seed: UInt64
    package let violation: Violation?
    /// Over everything that happened, in order.
    package let trace: UInt64
    package let events: UInt64
    package let coverage: Coverage
    /// How long it took at most to have one view, in microseconds.
    package let levelIn: UInt64

    /// One seed in this many has a hundred members.
    static let hundredEvery: UInt64 = 1_000

    /// - Parameter tracer: is handed a line for each thing that happens.
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
        levelIn = world.levelInMax
    }
}

extension MembersWorld {
    /// A hundred members find each other, and lose one.
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
