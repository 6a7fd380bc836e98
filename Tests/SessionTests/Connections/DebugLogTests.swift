import NodeKit
import Testing

/// The lines that `--log debug` adds.
@Suite struct DebugLogTests {
    private let world = World()

    private func debugLines(of node: TestNode) -> [String] {
        node.host.assumeIsolated { $0.debugLines }
    }

    @Test func `every answer, commit and frame has its line`() {
        let joined = world.join("n2")
        _ = world.n1.connect().ask("CREATE c alice,bob", "SEND c eve hello", "nonsense")
        world.settle(world.n1, joined)
        let lines = debugLines(of: world.n1)
        #expect(lines.contains { $0.hasPrefix("answered CREATE OK client=") })
        #expect(lines.contains { $0.hasPrefix("answered SEND ERR 403 client=") })
        #expect(lines.contains { $0.hasPrefix("answered ? ERR 400 client=") })
        #expect(lines.contains { $0.hasPrefix("stored documents=1 us=") })
        #expect(
            debugLines(of: joined).contains {
                $0.hasPrefix("heard push documents=1 shard=") && $0.hasSuffix("peer=n1")
            })
    }

    @Test func `nothing that people wrote is in it`() {
        let joined = world.join("n2")
        _ = world.n1.connect().ask("CREATE c alice,bob title=secrecy", "SEND c alice -- secretly")
        world.settle(world.n1, joined)
        for line in debugLines(of: world.n1) + debugLines(of: joined) {
            #expect(!line.contains("secre"))
        }
    }
}
