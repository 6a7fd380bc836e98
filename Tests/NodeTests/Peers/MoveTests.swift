import Chat
import Membership
import Placement
import Testing
import Wire

@testable import Node
@testable import Replication

private let shardCount: UInt16 = 8

/// A cluster that keeps two replicas of each shard; every shard has conversations in it.
private struct Team {
    let world = NodeWorld()
    private(set) var nodes: [WorldNode]
    private var rooms: UInt64 = 0

    init(of count: Int) {
        nodes = [world.add("n1", shards: shardCount, replicas: .count(2))]
        world.run(milliseconds: 100)
        fill()
        while nodes.count < count { join() }
        world.run(milliseconds: 5_000)
        fill()
        world.run(milliseconds: 1_000)
    }

    /// Adds a node with an empty folder.
    mutating func join() {
        nodes.append(
            world.add("n\(nodes.count + 1)", join: ["n1"], shards: nil, replicas: nil))
    }

    /// Adds some conversations, each at a node that owns its shard.
    mutating func fill() {
        for _ in 0..<4 * UInt64(shardCount) {
            rooms += 1
            let (number, room) = (rooms, create(ConversationID(checked: "c\(rooms)")))
            let isTaken = nodes.contains { $0.submit(room, number: number) }
            #expect(isTaken, "c\(number)")
            for node in nodes { world.endTurn(of: node) }
        }
    }

    /// Checks that the owners of each shard hold it with the same content, and no other node does.
    func check(_ comment: Comment, among nodes: [WorldNode]) {
        var documents = 0
        for shard in 0..<shardCount {
            let owners = nodes[0].owners(of: shard)
            #expect(owners.count == min(2, nodes.count), comment)
            let ownership = nodes.filter { $0.held.contains(shard) }
            #expect(Set(ownership.map(\.name)) == Set(owners), comment)
            let contents = nodes.map { $0.stored(of: shard) }.filter { !$0.isEmpty }
            #expect(contents.count == owners.count, comment)
            #expect(Set(contents).count == 1, comment)
            documents += contents.first?.count ?? 0
        }
        #expect(documents == Int(rooms), comment)
        #expect(nodes.allSatisfy { $0.isConverged }, comment)
    }

    /// Compares each replica that is dropped with what its owners have on their disks.
    ///
    /// - Returns: the number of drops.
    func watchDrops() -> DropCount {
        let count = DropCount()
        for node in nodes {
            node.store.onDrop = { [nodes] shard in
                count.drops += 1
                let mine = node.stored(of: shard.number)
                for owner in nodes
                where node.owners(of: shard.number).contains(owner.name) {
                    let theirs = owner.stored(of: shard.number)
                    let isThere = mine.allSatisfy { theirs[$0.key] == $0.value }
                    #expect(isThere, "shard \(shard) of \(node.name), at \(owner.name)")
                }
            }
        }
        return count
    }
}

private final class DropCount {
    nonisolated(unsafe) var drops = 0
}

@Suite struct MoveTests {
    @Test func `who joins pulls the shards that it owns, and who held them drops them`() {
        var team = Team(of: 2)
        team.check("two", among: team.nodes)
        team.join()
        let drops = team.watchDrops()
        team.world.run(milliseconds: 3_000)
        team.check("three", among: team.nodes)
        #expect(drops.drops == team.nodes[2].held.count)
        #expect(drops.drops > 0)
        #expect(team.nodes[2].host.isReady)
    }

    @Test func `a copy stays until every owner has it on disk`() {
        var team = Team(of: 2)
        team.join()
        team.world.stalled = ["n3"]
        let drops = team.watchDrops()
        team.world.run(milliseconds: 4_000)
        #expect(drops.drops == 0)
        #expect(team.nodes[0].held.count == Int(shardCount))
        #expect(team.nodes[1].held.count == Int(shardCount))
        team.world.stalled = []
        team.world.run(milliseconds: 3_000)
        #expect(drops.drops > 0)
        team.check("after", among: team.nodes)
    }

    @Test func `writes while shards move are on every owner`() {
        var team = Team(of: 2)
        team.join()
        let drops = team.watchDrops()
        for _ in 0..<10 {
            team.world.run(milliseconds: 100)
            team.fill()
        }
        team.world.run(milliseconds: 3_000)
        #expect(drops.drops > 0)
        team.check("after", among: team.nodes)
    }

    @Test func `a cluster of five holds each shard twice, after all joined at once`() {
        let team = Team(of: 5)
        team.check("five", among: team.nodes)
    }

    @Test func `a node told of a cluster by its operator joins it`() {
        let world = NodeWorld()
        let first = world.add("n1")
        let second = world.add("n2", join: ["nowhere"], shards: nil)
        world.run(milliseconds: 1_000)
        #expect(!second.host.isReady)
        _ = second.run { $0.join("n1") }
        world.run(milliseconds: 1_000)
        #expect(second.host.isReady)
        #expect(second.owned == [0, 1])
        #expect(second.held == [0, 1])
        #expect(first.living == 2)
        #expect(second.host.endings.isEmpty)
    }

    @Test func `a node told by its operator of another cluster's goes on as it is`() {
        let world = NodeWorld()
        let first = world.add("n1")
        let second = world.add("n2")
        world.run(milliseconds: 1_000)
        _ = second.run { $0.join("n1") }
        world.run(milliseconds: 1_000)
        #expect(second.host.lines.contains("another cluster at n1"))
        let connections = world.channels.count
        world.run(milliseconds: 5_000)
        #expect(world.channels.count == connections)
        #expect(first.host.endings.isEmpty && second.host.endings.isEmpty)
        #expect(second.living == 1)
        #expect(second.submit(create(), number: 1))
    }
}

@Suite struct LeavingTests {
    @Test func `who leaves hands everything over, then ends`() {
        let team = Team(of: 3)
        let (leaver, others) = (
            team.nodes[0], Array(team.nodes.dropFirst())
        )
        let drops = team.watchDrops()
        let held = leaver.held.count
        #expect(leaver.refusal { $0.leave() } == nil)
        team.world.endTurn(of: leaver)
        #expect(leaver.host.endings.isEmpty)
        team.world.run(milliseconds: 3_000)
        #expect(drops.drops == held)
        #expect(leaver.host.endings == [.shutdown])
        #expect(leaver.store.headers.isEmpty)
        #expect(others.allSatisfy { $0.state(of: "n1") == .left })
        team.world.kill("n1")
        team.world.run(milliseconds: 2_000)
        #expect(others.allSatisfy { $0.state(of: "n1") == .left && $0.host.dialed.isEmpty })
        team.check("after", among: others)
    }

    @Test func `who leaves holds on to what an owner has not stored`() {
        let team = Team(of: 3)
        let leaver = team.nodes[0]
        team.world.stalled = ["n2"]
        #expect(leaver.refusal { $0.leave() } == nil)
        team.world.run(milliseconds: 3_000)
        #expect(leaver.host.endings.isEmpty)
        #expect(!leaver.held.isEmpty)
        team.world.stalled = []
        team.world.run(milliseconds: 3_000)
        #expect(leaver.host.endings == [.shutdown])
    }

    @Test func `the last living member does not leave`() {
        let team = Team(of: 2)
        team.world.kill("n2")
        team.world.run(milliseconds: 1_000)
        #expect(team.nodes[0].refusal { $0.leave() } == .nobodyElse)
        #expect(team.nodes[0].held.count == Int(shardCount))
    }

    @Test func `who left and starts again is a member again`() {
        let team = Team(of: 3)
        #expect(team.nodes[2].refusal { $0.leave() } == nil)
        team.world.run(milliseconds: 3_000)
        #expect(team.nodes[2].host.endings == [.shutdown])
        let store = team.nodes[2].store
        team.world.kill("n3")
        let again = team.world.add("n3", store: store, shards: nil, replicas: nil)
        team.world.run(milliseconds: 3_000)
        team.check("again", among: [team.nodes[0], team.nodes[1], again])
    }
}

@Suite struct ForgettingTests {
    @Test func `who is forgotten is out of the ring, and what it held is elsewhere`() {
        let team = Team(of: 3)
        let others = Array(team.nodes.dropLast())
        team.world.kill("n3")
        team.world.run(milliseconds: 1_000)
        #expect(others[0].owned.count < Int(shardCount))
        #expect(others[0].refusal { $0.forgetMember(NodeName(checked: "n3")) } == nil)
        team.world.run(milliseconds: 1_000)
        #expect(others.allSatisfy { $0.state(of: "n3") == .left })
        team.world.run(milliseconds: 2_000)
        team.check("after", among: others)
    }

    @Test func `who lives, is suspect, unknown or oneself is not forgotten`() {
        let team = Team(of: 3)
        let node = team.nodes[0]
        func forget(_ name: String) -> OperationFailure? {
            node.refusal { $0.forgetMember(NodeName(checked: name)) }
        }
        #expect(forget("n1") == .oneself)
        #expect(forget("n9") == .unknownMember)
        #expect(forget("n3") == .notDead)
        team.world.kill("n3")
        team.world.settle()
        #expect(node.state(of: "n3") == .suspect)
        #expect(forget("n3") == .notDead)
        team.world.run(milliseconds: 1_000)
        #expect(forget("n3") == nil)
        #expect(forget("n3") == nil)
    }

    @Test func `who was forgotten and returns is a member again, with what it held`() {
        let team = Team(of: 3)
        let store = team.nodes[2].store
        team.world.kill("n3")
        team.world.run(milliseconds: 1_000)
        #expect(
            team.nodes[0].refusal { $0.forgetMember(NodeName(checked: "n3")) } == nil)
        team.world.run(milliseconds: 3_000)
        let again = team.world.add("n3", store: store, shards: nil, replicas: nil)
        team.world.run(milliseconds: 3_000)
        team.check("again", among: [team.nodes[0], team.nodes[1], again])
    }
}

@Suite struct ReplicasTests {
    @Test func `a node told of another number of copies than the cluster's ends`() {
        let world = NodeWorld()
        let first = world.add("n1", replicas: .count(2))
        let joining = world.add("n2", join: ["n1"], shards: nil, replicas: .count(3))
        let all = world.add("n3", join: ["n1"], shards: nil, replicas: .all)
        let silent = world.add("n4", join: ["n1"], shards: nil, replicas: nil)
        let agreeing = world.add("n5", join: ["n1"], shards: nil, replicas: .count(2))
        world.run(milliseconds: 1_000)
        let sentence = "this cluster keeps 2 copies"
        #expect(joining.host.endings.first == .badOption("--replicas 3: \(sentence)"))
        #expect(all.host.endings.first == .badOption("--replicas all: \(sentence)"))
        #expect(silent.host.endings.isEmpty)
        #expect(agreeing.host.endings.isEmpty)
        let store = first.store
        world.kill("n1")
        let again = world.add("n1", store: store, shards: nil, replicas: .count(3))
        #expect(again.host.endings.first == .badOption("--replicas 3: \(sentence)"))
    }

    @Test func `a cluster founded without a word on copies keeps three`() {
        let world = NodeWorld()
        world.add("n1", replicas: nil)
        for number in 2...4 {
            world.add("n\(number)", join: ["n1"], shards: nil, replicas: nil)
        }
        world.run(milliseconds: 3_000)
        #expect(world.nodes["n4"]?.owners(of: 0).count == 3)
    }
}
