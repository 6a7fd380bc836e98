import Testing

@testable import Benchmarks

@Suite struct ChaosPlanTests {
    @Test func `a seed gives the same plan, and another seed another`() {
        let plan = ChaosPlan(seed: 7, nodes: 5, seconds: 30)
        #expect(plan == ChaosPlan(seed: 7, nodes: 5, seconds: 30))
        #expect(plan.steps != ChaosPlan(seed: 8, nodes: 5, seconds: 30).steps)
        #expect(plan.text.split(separator: "\n").count == plan.steps.count)
    }

    /// What the nodes go through when a plan is followed.
    private struct Lives {
        var isUp: [Bool]
        var stoppedAt: [Int?]
        var counts: [ChaosPlan.Act: Int] = [:]
        var endsOfAll = 0

        init(nodes: Int) {
            isUp = .init(repeating: true, count: nodes)
            stoppedAt = .init(repeating: nil, count: nodes)
        }

        /// - Returns: whether the step can be taken.
        mutating func take(_ step: ChaosPlan.Step) -> Bool {
            counts[step.act, default: 0] += 1
            let (wasUp, stopped) = (isUp[step.node], stoppedAt[step.node])
            switch step.act {
            case .kill:
                isUp[step.node] = false
                if !isUp.contains(true) { endsOfAll += 1 }
                return wasUp && stopped == nil
            case .wipe: return !wasUp
            case .start:
                isUp[step.node] = true
                return !wasUp
            case .stop:
                stoppedAt[step.node] = step.milliseconds
                return wasUp && stopped == nil
            case .resume:
                stoppedAt[step.node] = nil
                guard let stopped else { return false }
                return step.milliseconds - stopped <= ChaosPlan.pauseMillisecondsMax
            }
        }
    }

    @Test(arguments: [(3, 10), (5, 30), (5, 120), (9, 20), (1, 15)])
    func `every plan can be followed, has every kind of fault, and ends with all up`(
        nodes: Int, seconds: Int
    ) {
        for seed in 0..<200 as Range<UInt64> {
            let plan = ChaosPlan(seed: seed, nodes: nodes, seconds: seconds)
            var lives = Lives(nodes: nodes)
            var last = 0
            for step in plan.steps {
                let isPossible = lives.take(step)
                #expect(isPossible, "\(step) of seed \(seed)")
                #expect(step.milliseconds >= last)
                last = step.milliseconds
            }
            #expect(last < seconds * 1_000)
            #expect(!lives.isUp.contains(false))
            #expect(lives.stoppedAt.allSatisfy { $0 == nil })
            #expect(lives.counts[.wipe, default: 0] == (nodes > 1 ? 1 : 0))
            #expect(lives.counts[.stop, default: 0] > 0, "seed \(seed)")
            #expect(lives.counts[.kill, default: 0] >= (nodes > 1 ? nodes + 1 : 1))
            #expect(nodes == 1 ? lives.endsOfAll > 0 : lives.endsOfAll == 1, "seed \(seed)")
        }
    }
}
