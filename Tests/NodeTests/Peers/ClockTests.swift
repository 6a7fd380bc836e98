import CRDT
import Chat
import Replication
import Testing
import Wire

@testable import Node

private let decade: Int64 = 10 * 365 * 86_400_000

private func cluster(of count: Int) -> (world: NodeWorld, nodes: [WorldNode]) {
    let world = NodeWorld()
    let nodes = (1...count).map { number in
        world.add(
            "n\(number)", join: number == 1 ? [] : ["n1"], shards: number == 1 ? 2 : nil)
    }
    world.run(milliseconds: 4_000)
    return (world, nodes)
}

extension WorldNode {
    var clockOffset: Int64? { run { $0.report().clockOffsetMilliseconds } }

    /// The greatest timestamp on disk, from which a shard here would continue, in milliseconds.
    var storedGreatest: UInt64 {
        store.headers.values.map(\.greatest.milliseconds).max() ?? 0
    }
}

@Suite struct ClockTests {
    @Test(arguments: [decade, -decade, 10_000, -10_000])
    func `a node whose clock is wrong refuses writes until it is right`(error: Int64) {
        let (world, nodes) = cluster(of: 3)
        #expect(nodes.allSatisfy { $0.clockOffset == 0 })
        nodes[2].clock.aheadMilliseconds = error
        world.run(milliseconds: 4_000)
        #expect(nodes.map(\.clockOffset) == [0, 0, error])
        nodes[2].handle(create(), number: 1)
        #expect(nodes[2].sink.outcomes[1] == .answered(.failed(.clock(error)), nil))
        #expect(nodes[2].run { $0.unreadiness } == .clock(error))
        let wrong = nodes[2].host.lines.filter { $0.hasPrefix("Clock is ") }
        #expect(wrong.count == 1)
        nodes[0].handle(create(), number: 1)
        world.run(milliseconds: 500)
        guard case .stored? = nodes[0].sink.outcomes[1] else {
            Issue.record("the others take writes: \(nodes[0].sink.outcomes)")
            return
        }
        nodes[2].clock.aheadMilliseconds = 0
        world.run(milliseconds: 200)
        #expect(nodes[2].run { $0.unreadiness } == nil)
        nodes[2].handle(send("m1"), number: 2)
        world.run(milliseconds: 500)
        guard case .stored? = nodes[2].sink.outcomes[2] else {
            Issue.record("it takes writes again: \(nodes[2].sink.outcomes)")
            return
        }
    }

    @Test func `after a sleep of the machine, all nodes take writes within three ticks`() {
        let (world, nodes) = cluster(of: 5)
        // Every monotonic clock stood still.
        world.clock.wallMilliseconds += 2_000
        world.run(milliseconds: 400)
        #expect(nodes.allSatisfy { node in node.run { $0.unreadiness } == nil })
    }

    @Test func `a measurement that spans a jump of this node's clock proves nothing`() {
        let right = FakeClock()
        let clock = WrongClock(right)
        let name = NodeName(checked: "a")
        clock.aheadMilliseconds = decade
        var time = ClusterTime(maxOffsetMilliseconds: 500, clock)
        time.recordOffset(name, wall: right.wallMilliseconds, rttMilliseconds: 0, clock)
        time.onTick(barrierRound: [name], clock)
        #expect(time.refusedOffset == decade)
        clock.aheadMilliseconds = 0
        time.recordOffset(name, wall: right.wallMilliseconds, rttMilliseconds: 0, clock)
        time.onTick(barrierRound: [name], clock)
        #expect(time.refusedOffset == nil)
    }

    @Test func `what a node wrote alone with a wrong clock moves no clock, after restarts too`() {
        let world = NodeWorld()
        let first = world.add("n1")
        first.clock.aheadMilliseconds = decade
        world.run(milliseconds: 1_000)
        #expect(first.submit(create(), number: 1))
        world.run(milliseconds: 1_000)
        #expect(first.storedGreatest > world.clock.wallMilliseconds + UInt64(decade) / 2)
        let store = first.store
        world.kill("n1")
        let again = world.add("n1", store: store, shards: nil)
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 4_000)
        #expect(again.clockOffset == 0)
        for (number, node) in [again, second].enumerated() {
            #expect(node.submit(send("m\(number)"), number: 9))
            world.run(milliseconds: 500)
            let sent = node.run { node in
                node.shard(of: lobby).map { shard in
                    shard.assumeIsolated { $0.greatestTime.milliseconds }
                }
            }
            let now = world.clock.wallMilliseconds
            #expect(sent.map { now - 1_000...now + 1_000 ~= $0 } == true)
        }
    }

    @Test func `of an even number of others the own clock decides, so that one is not believed`() {
        let clock = FakeClock()
        var time = ClusterTime(maxOffsetMilliseconds: 500, clock)
        let names = ["a", "b", "c"].map { NodeName(checked: $0) }
        #expect(time.offset == nil)
        time.recordOffset(names[0], wall: clock.wallMilliseconds, rttMilliseconds: 0, clock)
        time.recordOffset(
            names[1], wall: clock.wallMilliseconds + 10_000, rttMilliseconds: 0, clock)
        time.onTick(barrierRound: names, clock)
        #expect(time.offset == 0)
        time.recordOffset(
            names[2], wall: clock.wallMilliseconds + 10_000, rttMilliseconds: 0, clock)
        time.onTick(barrierRound: names, clock)
        #expect(time.refusedOffset == -10_000)
        #expect(ClusterTime.sentence(-10_000) == "Clock is 10 s behind the cluster's")
        #expect(ClusterTime.sentence(10_400) == "Clock is 10 s ahead of the cluster's")
        // A node that hears nobody trusts its own clock; a response that took a second proves
        // nothing.
        time.onTick(barrierRound: [], clock)
        #expect(time.offset == nil && time.refusedOffset == nil)
        time.recordOffset(names[0], wall: 0, rttMilliseconds: 1_000, clock)
        time.onTick(barrierRound: names, clock)
        #expect(time.offset == nil)
    }
}

@Suite struct SafetyTests {
    @Test func `a node is safe under load, and not while an owner is cut off or catches up`() {
        let (world, nodes) = cluster(of: 3)
        #expect(nodes.allSatisfy { $0.isSafe })
        nodes[0].handle(create(), number: 1, level: .majority)
        world.run(milliseconds: 500)
        for number in 0..<100 {
            for (index, node) in nodes.enumerated() {
                node.handle(send("m\(number).\(index)"), number: UInt64(number) + 2)
            }
            world.run(milliseconds: 100)
            #expect(nodes.allSatisfy { $0.isSafe }, "send \(number)")
        }
        for channel in world.channels where channel.owner == "n3" || channel.other?.owner == "n3" {
            channel.isCut = true
        }
        world.unreachable = ["n1", "n2", "n3"]
        world.run(milliseconds: 1_500)
        #expect(nodes.allSatisfy { !$0.isSafe })
        world.run(milliseconds: 20_000)
        #expect(nodes.allSatisfy { !$0.isSafe })
        world.unreachable = []
        world.run(milliseconds: 4_000)
        #expect(nodes.allSatisfy { $0.isSafe })
    }

    @Test func `who is heard and does not hear keeps others from being safe`() {
        let (world, nodes) = cluster(of: 3)
        for channel in world.channels
        where channel.owner == "n1" && channel.other?.owner == "n3" { channel.isCut = true }
        world.run(milliseconds: 2_000)
        #expect(!nodes[0].isSafe)
    }

    @Test func `a node is ready once it has fetched what it owns, and not while it leaves`() {
        let world = NodeWorld()
        let lone = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 500)
        #expect(lone.run { $0.unreadiness } == .noCluster)
        let first = world.add("n1")
        world.run(milliseconds: 1_000)
        #expect(first.run { $0.unreadiness } == nil)
        world.run(milliseconds: 3_000)
        #expect(lone.run { $0.unreadiness } == nil)
        #expect(lone.isSafe)
        world.stalled = ["n1"]
        _ = lone.run { $0.leave() }
        #expect(lone.run { $0.unreadiness } == .leaving(shards: 2))
        #expect(lone.run { $0.report().leavingShards } == 2)
    }
}
