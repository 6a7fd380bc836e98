import Testing

@testable import Benchmarks

@Suite struct ChaosPlanTests {
    @Test func `a seed gives the same plan, and another seed another`() {
        let plan = ChaosPlan(seed: 7, nodes: 5, seconds: 30)
        #expect(plan == ChaosPlan(seed: 7, nodes: 5, seconds: 30))
        #expect(plan.steps != ChaosPlan(seed: 8, nodes: 5, seconds: 30).steps)
        #expect(plan.text.split(separator: "\n").count == plan.steps.count)
    }

    /// The states of the nodes while a plan is carried out.
    private struct Lives {
        var isUp: [Bool]
        var stoppedAt: [Int?]
        var hasJoined: [Bool]
        var left: Int?
        var cut: ChaosPlan.Cut?
        var counts: [String: Int] = [:]
        var endsOfAll = 0

        init(_ plan: ChaosPlan) {
            isUp = (0..<plan.nodesEver).map { $0 < plan.nodes }
            hasJoined = isUp
            stoppedAt = .init(repeating: nil, count: plan.nodesEver)
        }

        /// - Returns: whether the step can be taken.
        mutating func take(_ step: ChaosPlan.Step) -> Bool {
            let wasUp = isUp[step.node] && stoppedAt[step.node] == nil && left != step.node
            switch step.act {
            case .kill:
                count("kill")
                isUp[step.node] = false
                if !isUp.contains(true) { endsOfAll += 1 }
                return wasUp
            case .wipe:
                count("wipe")
                return !isUp[step.node] && left == nil
            case .start, .join:
                let isFirst = step.act == .join
                if isFirst { count("join") }
                defer { (isUp[step.node], hasJoined[step.node]) = (true, true) }
                return !isUp[step.node] && hasJoined[step.node] != isFirst
            case .stop:
                count("stop")
                stoppedAt[step.node] = step.milliseconds
                return wasUp
            case .resume:
                guard let stopped = stoppedAt[step.node] else { return false }
                stoppedAt[step.node] = nil
                return step.milliseconds - stopped <= ChaosPlan.pauseMillisecondsMax
            case .leave:
                count("leave")
                left = step.node
                return wasUp
            case .cut(let cut):
                count(cut.isOneWay ? "cut one way" : "cut")
                defer { self.cut = cut }
                return self.cut == nil && !cut.side.isEmpty
                    && Set(cut.side).isSubset(of: hasJoined.indices)
                    && cut.side.count < hasJoined.count
            case .heal:
                defer { cut = nil }
                return cut != nil
            }
        }

        private mutating func count(_ act: String) { counts[act, default: 0] += 1 }
    }

    @Test(arguments: [(3, 10), (5, 10), (5, 30), (5, 120), (9, 20), (2, 15), (1, 15)])
    func `every plan can be followed, has every kind of fault, and ends with all up and whole`(
        nodes: Int, seconds: Int
    ) {
        for seed in 0..<200 as Range<UInt64> {
            let plan = ChaosPlan(seed: seed, nodes: nodes, seconds: seconds)
            var lives = Lives(plan)
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
            #expect(lives.cut == nil)
            let isGrowing = ChaosPlan.growingNodes.contains(nodes)
            #expect(lives.counts["join", default: 0] == (isGrowing ? 1 : 0))
            #expect(lives.counts["leave", default: 0] == (isGrowing ? 1 : 0))
            #expect(lives.counts["wipe", default: 0] == (nodes > 1 ? 1 : 0))
            #expect(lives.counts["stop", default: 0] > 0, "seed \(seed)")
            #expect(lives.counts["kill", default: 0] >= (nodes > 1 ? nodes + 1 : 1))
            for kind in ["cut", "cut one way"] {
                #expect((lives.counts[kind, default: 0] > 0) == (nodes > 1), "seed \(seed)")
            }
            #expect(nodes == 1 ? lives.endsOfAll > 0 : lives.endsOfAll == 1, "seed \(seed)")
        }
    }

    @Test func `each step is told in words`() {
        let cut = ChaosPlan.Cut(side: [0, 2], isOneWay: false)
        let deaf = ChaosPlan.Cut(side: [1], isOneWay: true)
        #expect(cut.text == "cut n1,n3 from the others")
        #expect(deaf.text == "n2: deaf to the others")
        let step = ChaosPlan.Step(milliseconds: 0, node: 5, act: .join)
        #expect(step.text == "start n6 for the first time")
    }
}
