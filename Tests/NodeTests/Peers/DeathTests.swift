import Membership
import Placement
import Testing
import Wire

@testable import Node

/// Returns nodes that know each other.
private func cluster(of count: Int) -> (world: NodeWorld, nodes: [WorldNode]) {
    let world = NodeWorld()
    var nodes = [world.add("n1")]
    for number in 2...count {
        nodes.append(world.add("n\(number)", join: ["n1"], shards: nil))
    }
    world.run(milliseconds: 2_000)
    return (world, nodes)
}

@Suite struct DeathTests {
    @Test(arguments: [2, 3, 5])
    func `who is killed is suspect at once and dead within a second, at all others`(count: Int) {
        // Each round begins a tick later in the rhythm of pings than the one before.
        for round in 0..<10 {
            let (world, nodes) = cluster(of: count)
            world.run(milliseconds: UInt64(round) * Node.tickMilliseconds)
            let (killed, others) = (nodes[count - 1].name, nodes.dropLast())
            world.kill(killed)
            world.settle()
            #expect(others.allSatisfy { $0.state(of: killed) == .suspect }, "round \(round)")
            world.run(milliseconds: 1_000)
            #expect(others.allSatisfy { $0.state(of: killed) == .dead }, "round \(round)")
            #expect(others.allSatisfy { $0.living == count - 1 }, "round \(round)")
        }
    }

    @Test func `who is gone without a word is dead within six seconds, and not before five`() {
        let (world, nodes) = cluster(of: 3)
        for channel in world.channels where channel.owner == "n3" { channel.isCut = true }
        world.kill("n3")
        world.unreachable = ["n3"]
        world.run(milliseconds: 5_000)
        #expect(nodes[0].state(of: "n3") == .suspect)
        #expect(nodes[1].state(of: "n3") == .suspect)
        world.run(milliseconds: 1_000)
        #expect(nodes[0].state(of: "n3") == .dead)
        #expect(nodes[1].state(of: "n3") == .dead)
    }

    @Test(arguments: [["n1"], ["n3"], ["n1", "n2"], ["n1", "n2", "n3"]])
    func `a pause of five seconds makes nobody dead`(paused: Set<String>) {
        for round in 0..<10 {
            let (world, nodes) = cluster(of: 3)
            world.run(milliseconds: UInt64(round) * Node.tickMilliseconds)
            let connections = world.channels.count
            world.paused = paused
            world.run(milliseconds: 5_000)
            world.paused = []
            world.run(milliseconds: 1_000)
            let lines = nodes.flatMap(\.host.lines)
            #expect(!lines.contains { $0.hasPrefix("member dead") }, "round \(round)")
            #expect(
                nodes.allSatisfy { $0.living == 3 && $0.isConverged }, "round \(round)")
            #expect(world.channels.count == connections, "round \(round)")
        }
    }

    @Test func `who was taken for dead while it stood still is alive within a second after`() {
        let (world, nodes) = cluster(of: 3)
        world.paused = ["n2"]
        world.run(milliseconds: 7_000)
        #expect(nodes[0].state(of: "n2") == .dead)
        world.paused = []
        world.run(milliseconds: 1_000)
        #expect(nodes.allSatisfy { $0.living == 3 })
    }

    @Test func `the dead keep their shards until they are evicted, and own them again after`() {
        let world = NodeWorld()
        let first = world.add("n1", evictAfterMilliseconds: 3_000)
        let second = world.add("n2", join: ["n1"], shards: nil, evictAfterMilliseconds: 3_000)
        world.add("n3", join: ["n1"], shards: nil, evictAfterMilliseconds: 3_000)
        world.run(milliseconds: 1_000)
        let store = second.store
        world.kill("n2")
        world.run(milliseconds: 3_000)
        #expect(first.state(of: "n2") == .dead)
        #expect(Set(first.owners(of: 0)) == ["n1", "n2", "n3"])
        world.run(milliseconds: 1_000)
        #expect(first.state(of: "n2") == .evicted)
        #expect(Set(first.owners(of: 0)) == ["n1", "n3"])
        let again = world.add("n2", store: store, shards: nil)
        world.run(milliseconds: 2_000)
        #expect(first.living == 3)
        #expect(Set(first.owners(of: 0)) == ["n1", "n2", "n3"])
        #expect(again.digest == first.digest)
    }

    @Test func `who is evicted may hold what nobody else does, until it is forgotten`() {
        let world = NodeWorld()
        let nodes = ["n1", "n2", "n3"].map { name in
            world.add(
                name, join: name == "n1" ? [] : ["n1"], shards: name == "n1" ? 8 : nil,
                replicas: name == "n1" ? .count(1) : nil, evictAfterMilliseconds: 3_000)
        }
        world.run(milliseconds: 3_000)
        let lost = nodes[1].held
        #expect(!lost.isEmpty)
        world.kill("n2")
        world.run(milliseconds: 6_000)
        #expect(nodes[0].state(of: "n2") == .evicted)
        #expect(nodes[0].held.count + nodes[2].held.count == 8)
        // They own its shards, and cannot know what its replicas contained.
        #expect(!nodes[0].isConverged || !nodes[2].isConverged)
        _ = nodes[0].run { $0.forgetMember(NodeName(checked: "n2")) }
        world.run(milliseconds: 3_000)
        #expect(nodes[0].isConverged && nodes[2].isConverged)
    }
}
