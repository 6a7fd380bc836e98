import Testing

@testable import Node

@Suite struct CrossingTests {
    /// Returns the disks of two nodes of one cluster.
    private func disks() -> (MemoryStore, MemoryStore) {
        let world = NodeWorld()
        let first = world.add("n1", shards: 1)
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 500)
        return (first.store, second.store)
    }

    /// Returns the two nodes after a start, when they dial each other at the same moment.
    private func crossing(on disks: (MemoryStore, MemoryStore)) -> NodeWorld {
        let world = NodeWorld()
        let first = world.add("n1", store: MemoryStore(copying: disks.0), shards: nil)
        let second = world.add("n2", store: MemoryStore(copying: disks.1), shards: nil)
        first.host.dialed = []
        second.host.dialed = []
        _ = world.connect(from: "n1", to: "n2")
        _ = world.connect(from: "n2", to: "n1")
        return world
    }

    /// Tries every order of the first eight events; the others follow in order.
    @Test func `of two crossing connections both keep the same one, in any order of events`() {
        let disks = disks()
        var choices: [(taken: Int, of: Int)] = []
        var runs = 0
        repeat {
            let world = crossing(on: disks)
            var depth = 0
            while depth < 8 {
                let events = world.events
                guard !events.isEmpty else { break }
                if depth == choices.count { choices.append((0, events.count)) }
                world.happen(events[choices[depth].taken])
                depth += 1
            }
            world.settle()
            check(world, "run \(runs): \(choices.map(\.taken))")
            runs += 1
            while let last = choices.last, last.taken + 1 == last.of { choices.removeLast() }
            if !choices.isEmpty { choices[choices.count - 1].taken += 1 }
        } while !choices.isEmpty && runs < 20_000
        #expect(runs > 500)
    }

    private func check(_ world: NodeWorld, _ run: String) {
        let open = world.channels.filter { !$0.isClosed }
        #expect(open.count == 2, "\(run)")
        #expect(open.first?.other === open.last, "\(run)")
        #expect(world.nodes.values.allSatisfy { $0.living == 2 }, "\(run)")
    }
}
