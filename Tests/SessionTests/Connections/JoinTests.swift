import Node
import NodeKit
import Testing

/// What clients see of nodes that join, or may not.
@Suite struct JoinTests {
    private let world = World()
    private var node: TestNode { world.n1 }

    @Test func `who joins is a member everywhere`() {
        let joined = world.join("n2")
        let mine = node.connect().ask("MEMBERS")
        let theirs = joined.connect().ask("MEMBERS")
        #expect(mine.count == 3 && theirs.count == 3)
        #expect((mine + theirs).filter { $0.contains("state=alive") }.count == 4)
        #expect(joined.host.assumeIsolated { $0.isReady })
    }

    @Test func `who dials two members at once is linked to both`() {
        let second = world.join("n2")
        let third = world.join("n3", dialing: second)
        for member in [node, second, third] {
            let alive = member.connect().ask("MEMBERS").filter { $0.contains("state=alive") }
            #expect(alive.count == 3)
        }
    }

    @Test func `a node without a cluster agrees with nobody`() {
        let status = world.start("n2").connect().ask("STATUS")
        #expect(status.count == 2 && !status[0].contains("converged"))
    }

    @Test func `who was told of other shards ends, and is no member`() {
        let refused = world.join("n2", shards: 7)
        #expect(
            refused.host.assumeIsolated { $0.ending }
                == .badOption("--shards 7: this cluster has 4 shards"))
        #expect(node.connect().ask("MEMBERS").count == 2)
    }

    @Test func `who has the name of a living member ends, and serves nobody before`() {
        let other = world.join("n1")
        #expect(!other.host.assumeIsolated { $0.isReady })
        for _ in 0..<6 {
            world.pass(milliseconds: 500, node, other)
            world.connect(other)
        }
        #expect(
            other.host.assumeIsolated { $0.ending }
                == .unusable("a living member has the name n1"))
        #expect(!other.host.assumeIsolated { $0.isReady })
        #expect(node.connect().ask("MEMBERS").count == 2)
    }
}
