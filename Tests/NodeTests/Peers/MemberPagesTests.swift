import Membership
import Testing
import Wire

@testable import Node

@Suite struct MemberPagesTests {
    private let world = NodeWorld()

    private func join(_ name: String, store: MemoryStore = MemoryStore()) -> WorldNode {
        world.add(
            name, join: name == "n1" ? [] : ["n1", "n2"], store: store,
            shards: name == "n1" ? 2 : nil, evictAfterMilliseconds: 3_000)
    }

    /// The nodes whose pages a node lists.
    private func listed(_ node: WorldNode) -> [String] {
        node.run { $0.memberPages }.map { String($0.chat.dropFirst("https://".count)) }
    }

    @Test func `pages follow who joins, who is evicted and comes back, and who leaves`() {
        let (first, second) = (join("n1"), join("n2"))
        world.run(milliseconds: 1_000)
        #expect(listed(first) == ["n2"])
        var third = join("n3")
        world.run(milliseconds: 1_000)
        #expect([first, second].map(listed) == [["n2", "n3"], ["n1", "n3"]])
        #expect(listed(third) == ["n1", "n2"])
        let store = third.store
        world.kill("n3")
        world.run(milliseconds: 2_000)
        #expect(first.state(of: "n3") == .dead)
        #expect(listed(first) == ["n2", "n3"])
        world.run(milliseconds: 3_000)
        #expect(first.state(of: "n3") == .evicted)
        #expect(listed(first) == ["n2"])
        third = join("n3", store: store)
        world.run(milliseconds: 2_000)
        #expect(listed(first) == ["n2", "n3"])
        #expect(third.refusal { $0.leave() } == nil)
        world.run(milliseconds: 3_000)
        #expect([first, second].map(listed) == [["n2"], ["n1"]])
        #expect(first.run { $0.knownPages }.count == 2)
    }

    @Test func `who was forgotten on the other side of a cut is listed again after it`() {
        let nodes = ["n1", "n2", "n3"].map { join($0) }
        world.run(milliseconds: 2_000)
        for channel in world.channels where channel.owner == "n3" { channel.isCut = true }
        world.unreachable = ["n1", "n2", "n3"]
        world.run(milliseconds: 7_000)
        #expect(nodes[1].refusal { $0.forgetMember(NodeName(checked: "n3")) } == nil)
        world.run(milliseconds: 1_000)
        #expect(listed(nodes[0]) == ["n2"])
        world.unreachable = []
        world.run(milliseconds: 10_000)
        #expect(nodes.map(listed) == [["n2", "n3"], ["n1", "n3"], ["n1", "n2"]])
    }

    @Test func `a node that starts alone lists the others, a hundred times`() {
        let nodes = ["n1", "n2", "n3"].map { join($0) }
        world.run(milliseconds: 2_000)
        for node in nodes { world.kill(node.name) }
        for _ in 0..<100 {
            let alone = join("n2", store: nodes[1].store)
            world.run(milliseconds: 100)
            #expect(listed(alone) == ["n1", "n3"])
            world.kill("n2")
        }
    }

    @Test func `on two sides of a cut each node lists those that it knew`() {
        let nodes = ["n1", "n2", "n3"].map { join($0) }
        world.run(milliseconds: 2_000)
        for channel in world.channels where channel.owner == "n3" { channel.isCut = true }
        world.unreachable = ["n1", "n2", "n3"]
        world.run(milliseconds: 2_000)
        #expect(nodes.map(listed) == [["n2", "n3"], ["n1", "n3"], ["n1", "n2"]])
        world.unreachable = []
        world.run(milliseconds: 3_000)
        #expect(nodes.map(listed) == [["n2", "n3"], ["n1", "n3"], ["n1", "n2"]])
    }

    @Test func `who has no pages any more is not listed`() {
        var pages = MemberPages()
        let name = NodeName(checked: "n1")
        let member = Member(
            name: name, process: RandomID(high: 1, low: 2), gossip: "a:1", admin: "a:2",
            incarnation: 1)
        let table = MemberTable([MemberEntry(member: member, state: .alive)])
        let (chat, none) = (PageAddresses(chat: "https://a"), PageAddresses())
        let areNew = [chat, chat, none, none].map { pages.insert($0, of: name, in: table) }
        #expect(areNew == [true, false, true, false])
        #expect(pages.listed.isEmpty && pages.version == 2)
    }
}
