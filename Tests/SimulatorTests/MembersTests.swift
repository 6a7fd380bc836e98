import Testing

@testable import Simulator

@Suite struct MembersTests {
    /// Seed 99 has a hundred members.
    static let seeds: [UInt64] = [0, 1, 2, 3, 99]

    @Test(arguments: seeds) func `a fixed seed of members breaks nothing`(seed: UInt64) {
        let run = MembersRun(seed: seed)
        #expect(run.violation == nil, "\(run.violation?.explanation ?? "")")
    }

    @Test func `fresh seeds of members break nothing`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<5 {
            let seed = random.next() >> 16
            let run = MembersRun(seed: seed)
            #expect(
                run.violation == nil,
                """
                grapevine-sim --world members --seed \(seed): \
                \(run.violation?.explanation ?? "")
                """)
        }
    }

    @Test(arguments: [0, 7, 33] as [UInt64])
    func `one seed gives one run of members`(seed: UInt64) {
        let first = MembersRun(seed: seed)
        #expect(MembersRun(seed: seed).trace == first.trace)
        #expect(first.events > 100)
        #expect(MembersRun(seed: seed + 1).trace != first.trace)
    }
}
