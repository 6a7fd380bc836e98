import Testing

@testable import Simulator

@Suite struct RunTests {
    /// A few seeds: a debug build checks what a release build does not; `cluster/test` runs a
    /// thousand in a release build, and those that once broke something.
    @Test(arguments: UInt64(0)..<12) func `a fixed seed breaks nothing`(seed: UInt64) {
        let run = Run(Plan(seed: seed))
        #expect(run.violation == nil, "\(run.violation?.explanation ?? "")")
    }

    @Test func `fresh seeds break nothing`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<6 {
            let seed = random.next() >> 16
            let run = Run(Plan(seed: seed))
            #expect(
                run.violation == nil,
                "grapevine-sim --seed \(seed): \(run.violation?.explanation ?? "")")
        }
    }

    @Test(arguments: [0, 1, 7, 286] as [UInt64])
    func `one seed gives one run, also from its saved plan`(seed: UInt64) throws {
        let plan = Plan(seed: seed)
        let first = Run(plan)
        #expect(Run(plan).trace == first.trace)
        let saved = try Plan(parsing: plan.text)
        #expect(saved == plan)
        #expect(Run(saved).trace == first.trace)
        #expect(first.events > 100)
    }

    @Test func `two seeds give two runs`() {
        #expect(Run(Plan(seed: 3)).trace != Run(Plan(seed: 4)).trace)
    }

    @Test func `what is no plan is refused with its line`() {
        #expect(throws: Plan.Unreadable.self) { try Plan(parsing: "seed 1\nfault 3 flood 0 0 0\n") }
        #expect(throws: Plan.Unreadable.self) { try Plan(parsing: "seed 1\n") }
        let farAway = Plan(seed: 1).text + "fault 3 crash 9 0 0\n"
        #expect(throws: Plan.Unreadable.self) { try Plan(parsing: farAway) }
    }

    @Test func `a small sweep sees every verb`() {
        var sweep = Sweep()
        for seed in UInt64(0)..<40 { sweep.add(Run(Plan(seed: seed))) }
        let seen = Set(sweep.coverage.list.map(\.name))
        for verb in ["create", "send", "edit", "hide", "retract", "restore", "pin", "unpin"] {
            #expect(seen.contains(verb))
        }
    }
}
