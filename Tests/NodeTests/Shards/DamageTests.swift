import CRDT
import Chat
import Placement
import StorePort
import Testing
import Wire

@testable import Node
@testable import Replication

private func fill(_ node: WorldNode, in world: NodeWorld, rooms: ClosedRange<UInt64>) {
    for number in rooms {
        #expect(
            node.submit(create(ConversationID(checked: "c\(number)")), number: number))
    }
    world.run(milliseconds: 500)
}

/// Damaged or missing rows by which documents are found.
@Suite struct DamagedIndexTests {
    /// Returns two nodes with one replica of each shard; the first holds all when the second joins.
    private func handOver(_ damage: (MemoryStore) -> Void) -> (NodeWorld, [WorldNode]) {
        let world = NodeWorld()
        let first = world.add("n1", shards: 8, replicas: .count(1))
        world.run(milliseconds: 100)
        fill(first, in: world, rooms: 1...64)
        damage(first.store)
        let second = world.add("n2", join: ["n1"], shards: nil, replicas: nil)
        world.run(milliseconds: 8_000)
        return (world, [first, second])
    }

    private static let damages: [@Sendable (MemoryStore, Set<DocumentKey>) -> Void] = [
        { $0.misindexed = $1 }, { $0.unindexed = $1 },
    ]

    @Test(arguments: damages) func `a copy that is given away is all there, whatever leads to it`(
        damage: @Sendable (MemoryStore, Set<DocumentKey>) -> Void
    ) {
        let (_, nodes) = handOver { store in
            let keys = store.documents.values.flatMap(\.keys)
            damage(store, Set(keys.filter { $0.partition < "c4" }))
        }
        let held = nodes.map { $0.store.documents.values.reduce(0) { $0 + $1.count } }
        #expect(held.reduce(0, +) == 64)
        #expect(held.allSatisfy { $0 > 0 })
        #expect(Set(nodes[0].held).isDisjoint(with: nodes[1].held))
        #expect(
            nodes[0].host.lines.contains {
                $0.hasPrefix("index damaged; it is rebuilt shard=")
            })
    }

    @Test func `a copy with a damaged index claims nothing until it is made anew`() throws {
        let world = NodeWorld()
        let first = world.add("n1", shards: 1)
        world.run(milliseconds: 100)
        fill(first, in: world, rooms: 1...9)
        let vector = try #require(first.store.headers[ShardID(0)]?.vector)
        first.store.misindexed = [.conversation(ConversationID(checked: "c3"))]
        first.run { $0.onBadIndex(of: ShardID(0)) }
        let held = try #require(first.run { $0.shards.first })
        #expect(!first.run { _ in held.assumeIsolated { $0.isReady } })
        world.run(milliseconds: 2_000)
        #expect(first.run { _ in held.assumeIsolated { $0.isReady } })
        #expect(first.store.misindexed.isEmpty)
        // No document was missing, so the vector still counts the seqs that are no document's last
        // one.
        #expect(first.store.headers[ShardID(0)]?.vector == vector)
        #expect(first.store.headers[ShardID(0)]?.isComplete == true)
    }
}

/// A log that lost acknowledged writes.
@Suite struct LossTests {
    private let loss = "the write-ahead log is damaged at frame 7 of 90"

    @Test func `a node alone does not serve what is left, unless it is told to`() {
        let world = NodeWorld()
        let first = world.add("n1", shards: 2)
        world.run(milliseconds: 100)
        fill(first, in: world, rooms: 1...9)
        world.kill("n1")
        let store = MemoryStore(copying: first.store)
        let refusing = world.add("n1", store: store, shards: nil, loss: loss)
        world.run(milliseconds: 20_000)
        #expect(!refusing.host.isReady && store.lossesForgotten == 0)
        #expect(refusing.run { $0.shards.allSatisfy { !$0.assumeIsolated { $0.isReady } } })
        #expect(refusing.run { $0.unreadiness } == .damaged(loss, hasOthers: false))
        #expect(refusing.run { $0.report().loss } == loss)
        #expect(refusing.host.lines.contains(loss + ", and " + Node.lossAdvice))
        world.kill("n1")
        let told = world.add("n1", store: store, shards: nil, loss: loss, acceptsDataLoss: true)
        world.run(milliseconds: 3_000)
        #expect(told.host.endings.isEmpty && told.host.isReady)
        #expect(store.lossesForgotten == 1)
        #expect(told.run { $0.report().loss } == nil && told.run { $0.unreadiness } == nil)
    }

    @Test func `a folder that lost even its cluster founds no other`() {
        let world = NodeWorld()
        let node = world.add("n1", shards: 2, loss: loss)
        world.run(milliseconds: 1_000)
        #expect(node.store.settings.isEmpty && !node.host.isReady)
        #expect(node.run { $0.unreadiness } == .damaged(loss, hasOthers: false))
    }

    @Test func `a node with others shows nothing before they have filled it`() {
        let world = NodeWorld()
        let first = world.add("n1", shards: 2)
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 2_000)
        fill(second, in: world, rooms: 1...9)
        let early = MemoryStore(copying: second.store)
        fill(second, in: world, rooms: 10...19)
        world.kill("n2")
        world.unreachable = ["n1", "n2"]
        world.run(milliseconds: 1_000)
        let again = world.add("n2", store: early, shards: nil, loss: loss)
        world.run(milliseconds: 10_000)
        #expect(!again.host.isReady && again.run { $0.loss } == loss)
        #expect(again.host.endings.isEmpty && early.lossesForgotten == 0)
        world.unreachable = []
        world.run(milliseconds: 5_000)
        #expect(again.host.isReady && again.run { $0.loss } == nil)
        #expect(early.lossesForgotten == 1)
        #expect(again.digest == first.digest)
    }
}

/// Another program that locks the database.
@Suite struct LockTests {
    @Test func `writes are refused until the lock is released, and the node goes on`() throws {
        let world = NodeWorld()
        let node = world.add("n1", shards: 1)
        world.run(milliseconds: 500)
        node.handle(create(), number: 1)
        world.run(milliseconds: 100)
        let replicas = { node.store.headers[ShardID(0)]?.vector.entries.count }
        #expect(replicas() == 1)
        world.locked = ["n1"]
        for number: UInt64 in 2...20 {
            node.handle(send("m\(number)"), number: number)
            world.run(milliseconds: 100)
        }
        // The first write meets the lock; the others are refused since the lock is known.
        #expect(node.sink.outcomes[2] == .failed(.locked))
        let refusal = ReplyResult.answered(.failed(.store(.locked)), nil)
        #expect((3...20).allSatisfy { node.sink.outcomes[$0] == refusal })
        #expect(node.run { $0.unreadiness } == .locked)
        #expect(node.run { $0.report().isLocked && $0.metrics().isRefusingWrites })
        #expect(node.host.endings.isEmpty)
        world.locked = []
        world.run(milliseconds: 200)
        #expect(node.run { $0.unreadiness } == nil)
        node.handle(send("m21"), number: 21)
        world.run(milliseconds: 100)
        #expect(
            node.sink.outcomes[21] == .stored(Stored(on: 1, owners: 1, isEnough: true)))
        // Of the refused writes only the first has ended a replica's numbering.
        #expect(replicas() == 2)
    }
}
