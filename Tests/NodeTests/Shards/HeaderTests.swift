import CRDT
import Chat
import Replication
import Testing
import Wire

@testable import Node

@Suite struct HeaderTests {
    private let shard = ShardID(0)

    @Test func `a shard whose header is damaged is counted anew and filled by the others`() {
        let world = NodeWorld()
        let first = world.add("n1", shards: 1)
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 2_000)
        #expect(second.submit(create(), number: 1))
        #expect(second.submit(send("m1"), number: 2))
        world.run(milliseconds: 500)
        let store = second.store
        let before = store.headers[shard]
        world.kill("n2")
        #expect(first.submit(send("m2"), number: 3))
        world.run(milliseconds: 500)
        let again = world.add("n2", store: store, shards: nil, damaged: [shard])
        world.run(milliseconds: 3_000)
        #expect(again.host.endings.isEmpty)
        #expect(
            again.host.lines.contains {
                $0.hasPrefix("header damaged; it is recomputed from the documents shard=0")
            })
        #expect(again.digest == first.digest)
        #expect(store.headers[shard]?.isComplete == true)
        #expect(store.headers[shard]?.documents == (before?.documents ?? 0) + 1)
    }

    @Test(arguments: [false, true])
    func `a header is believed with the base that it was written with, and without it is damaged`(
        isBaseDamaged: Bool
    ) {
        let world = NodeWorld()
        let first = world.add("n1", shards: 1)
        let second = world.add("n2", join: ["n1"], shards: nil, restRangesMax: 1)
        world.run(milliseconds: 2_000)
        #expect(first.submit(create(), number: 1))
        world.run(milliseconds: 500)
        for number in 2...9 { #expect(second.submit(send("m\(number)"), number: UInt64(number))) }
        world.run(milliseconds: 500)
        let store = second.store
        #expect(store.headers[shard]?.base.vector.isEmpty == false)
        world.kill("n2")
        #expect(first.submit(send("m1"), number: 10))
        world.run(milliseconds: 500)
        let again = world.add(
            "n2", store: store, shards: nil, restRangesMax: 1, isBaseDamaged: isBaseDamaged)
        world.run(milliseconds: 3_000)
        #expect(again.host.endings.isEmpty)
        let isCounted = again.host.lines.contains {
            $0.hasPrefix("header damaged; it is recomputed from the documents shard=0")
        }
        #expect(isCounted == isBaseDamaged)
        #expect(again.digest == first.digest)
        #expect(store.headers[shard]?.vector == first.store.headers[shard]?.vector)
    }

    @Test func `a node alone goes on with what its documents add up to`() {
        let world = NodeWorld()
        let node = world.add("n1", shards: 1)
        world.run(milliseconds: 500)
        #expect(node.submit(create(), number: 1))
        #expect(node.submit(send("m1"), number: 2))
        world.run(milliseconds: 500)
        let store = node.store
        let greatest = store.headers[shard]?.greatest
        world.kill("n1")
        // The clock is behind what is on disk, and near enough to follow it.
        world.clock.wallMilliseconds -= 700
        let again = world.add("n1", store: store, shards: nil, damaged: [shard])
        world.run(milliseconds: 3_000)
        #expect(again.host.isReady)
        #expect(store.headers[shard]?.documents == 2)
        world.clock.wallMilliseconds -= 3_000
        #expect(again.submit(send("m2"), number: 1))
        world.run(milliseconds: 500)
        let stamped = store.headers[shard]?.greatest
        #expect(stamped ?? .zero > greatest ?? .zero, "its stamps never go back")
    }
}
