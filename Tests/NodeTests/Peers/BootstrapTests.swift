import Membership
import Testing

@testable import Node

/// Nodes that start together with empty folders and know only each other.
@Suite struct BootstrapTests {
    private let all = ["n1", "n2", "n3"]
    private let world = NodeWorld()

    private func start(_ names: String..., store: MemoryStore? = nil) -> [WorldNode] {
        names.map { name in
            world.add(
                name, join: all, store: store ?? MemoryStore(), shards: nil, isBootstrapping: true)
        }
    }

    @Test(arguments: [["n1", "n2", "n3"], ["n3", "n2", "n1"], ["n2", "n1", "n3"]])
    func `in whatever order they start, they become one cluster`(_ order: [String]) {
        for name in order {
            _ = start(name)
            world.run(milliseconds: 700)
        }
        world.run(milliseconds: 4_000)
        let clusters = Set(world.nodes.values.map { $0.store.settings["cluster"] })
        #expect(clusters.count == 1)
        #expect(clusters.first != .some(nil))
        for node in world.nodes.values {
            #expect(node.host.isReady)
            #expect(node.living == 3)
        }
        let founders = world.nodes.values.filter { node in
            node.host.lines.contains { $0.hasPrefix("cluster founded") }
        }
        #expect(founders.map(\.name) == ["n1"])
    }

    @Test func `as long as one of them is away, none founds, and that is said`() {
        let nodes = start("n1", "n2")
        world.run(milliseconds: 15_000)
        for node in nodes {
            #expect(node.store.settings["cluster"] == nil)
            #expect(!node.host.isReady)
        }
        #expect(
            nodes[0].host.lines.contains(
                "waiting for a cluster: start a node that is in it, or all of --join without=n3"))
    }

    @Test func `who said long ago that it was in none is not counted`() {
        let nodes = start("n1", "n2")
        world.run(milliseconds: 1_000)
        world.kill("n2")
        world.run(milliseconds: 5_000)
        let third = start("n3")
        world.run(milliseconds: 5_000)
        #expect(nodes[0].store.settings["cluster"] == nil)
        #expect(third[0].store.settings["cluster"] == nil)
    }

    @Test func `the first one that lost its disk joins the others`() throws {
        let nodes = start("n1", "n2", "n3")
        world.run(milliseconds: 4_000)
        #expect(nodes[1].submit(create(), number: 1))
        world.run(milliseconds: 1_000)
        let cluster = try #require(nodes[1].store.settings["cluster"])
        world.kill("n1")
        world.run(milliseconds: 1_000)
        let wiped = start("n1")[0]
        world.run(milliseconds: 8_000)
        #expect(wiped.store.settings["cluster"] == cluster)
        #expect(wiped.host.isReady)
        #expect(wiped.digest == nodes[1].digest)
    }

    @Test func `the first one that lost its disk waits for the others, and founds nothing`() {
        let nodes = start("n1", "n2", "n3")
        world.run(milliseconds: 4_000)
        for name in all { world.kill(name) }
        let wiped = start("n1")[0]
        world.run(milliseconds: 20_000)
        #expect(wiped.store.settings["cluster"] == nil)
        // Another empty node does not make it two of three.
        _ = start("n2")
        world.run(milliseconds: 20_000)
        #expect(wiped.store.settings["cluster"] == nil)
        _ = start("n3", store: nodes[2].store)
        world.run(milliseconds: 10_000)
        #expect(wiped.store.settings["cluster"] == nodes[2].store.settings["cluster"])
        #expect(wiped.host.isReady)
    }

    @Test func `a node that is not on the list joins, and founds nothing`() {
        let nodes = start("n1", "n4")
        world.run(milliseconds: 5_000)
        #expect(nodes.allSatisfy { $0.store.settings["cluster"] == nil })
        _ = start("n2", "n3")
        world.run(milliseconds: 5_000)
        #expect(
            nodes[1].store.settings["cluster"]
                == nodes[0].store.settings["cluster"])
        #expect(nodes[1].living == 4)
    }
}

/// Nodes that join a member whose disk has not stored that they are members.
@Suite struct UnstoredMemberTests {
    private let world = NodeWorld()

    @Test func `a node serves once the disk of the one that it joins has it`() {
        let first = world.add("n1")
        world.run(milliseconds: 1_000)
        world.stalled = ["n1"]
        let second = world.add("n2", join: ["n1"])
        world.run(milliseconds: 2_000)
        #expect(first.members == ["n1", "n2"])
        #expect(!second.host.isReady)
        #expect(!second.submit(create(), number: 1))
        world.stalled = []
        world.run(milliseconds: 4_000)
        #expect(second.host.isReady)
        #expect(second.submit(create(), number: 1))
        world.run(milliseconds: 1_000)
        #expect(first.isConverged && second.isConverged)
    }

    @Test func `a process that has forgotten a member has missed no write of it`() {
        let first = world.add("n1")
        world.run(milliseconds: 1_000)
        world.stalled = ["n1"]
        let second = world.add("n2", join: ["n1"])
        world.run(milliseconds: 2_000)
        let store = first.store
        world.kill("n1")
        world.stalled = []
        world.unreachable = ["n2"]
        let back = world.add("n1", store: store)
        #expect(back.members == ["n1"], "the disk does not have the member")
        #expect(!second.submit(create(), number: 1))
        world.run(milliseconds: 5_000)
        #expect(back.living == 2 && second.living == 2)
        #expect(second.submit(create(), number: 2))
    }
}

/// Members whose addresses become known to others, or change.
@Suite struct AddressTests {
    @Test func `a member that comes back at another address is found there`() {
        let world = NodeWorld()
        let first = world.add("n1", address: "n1:a")
        let second = world.add("n2", join: ["n1:a"], address: "n2:a")
        let third = world.add("n3", join: ["n1:a"], address: "n3:a")
        world.run(milliseconds: 2_000)
        #expect(first.living == 3)
        let store = second.store
        world.kill("n2:a")
        world.run(milliseconds: 3_000)
        #expect(first.state(of: "n2") == .dead)
        let back = world.add("n2", join: ["n1:a"], store: store, address: "n2:b")
        world.run(milliseconds: 3_000)
        for node in [first, third, back] {
            #expect(node.living == 3)
            #expect(node.isConverged)
            let addresses = node.run { $0.memberReports().map(\.member.gossip) }
            #expect(addresses == ["n1:a", "n2:b", "n3:a"])
        }
    }

    @Test func `all that come back at other addresses find each other by what they are told`() {
        let world = NodeWorld()
        let stores = [MemoryStore(), MemoryStore()]
        world.add("n1", store: stores[0], address: "n1:a")
        world.add("n2", join: ["n1:a"], store: stores[1], address: "n2:a")
        world.run(milliseconds: 2_000)
        world.kill("n1:a")
        world.kill("n2:a")
        let first = world.add("n1", join: ["n2:b"], store: stores[0], address: "n1:b")
        let second = world.add("n2", join: ["n1:b"], store: stores[1], address: "n2:b")
        world.run(milliseconds: 3_000)
        #expect(first.living == 2)
        #expect(second.living == 2)
        #expect(first.isConverged && second.isConverged)
    }
}
