import CRDT
import Chat
import Membership
import StorePort
import Testing
import Wire

@testable import Node
@testable import Replication

/// Returns two nodes that are in sync.
private func pair() -> (world: NodeWorld, first: WorldNode, second: WorldNode) {
    let world = NodeWorld()
    let first = world.add("n1")
    let second = world.add("n2", join: ["n1"], shards: nil)
    world.run(milliseconds: 2_000)
    return (world, first, second)
}

@Suite struct CommitFaultTests {
    @Test func `the late failure of an older commit does not take back a newer one`() throws {
        let world = NodeWorld()
        let node = world.add("n1", shards: 1)
        world.run(milliseconds: 100)
        world.storesAtOnce = false
        _ = node.submit(create(), number: 1)
        world.endTurn(of: node)
        _ = node.submit(send("m1"), number: 2)
        world.endTurn(of: node)
        let older = try #require(node.store.takeFirst())
        let newer = try #require(node.store.takeFirst())
        node.run { $0.onCommitted(older.ticket, failure: .full) }
        _ = node.submit(create(), number: 3)
        world.endTurn(of: node)
        node.run { $0.onCommitted(newer.ticket, failure: .full) }
        world.storesAtOnce = true
        world.endTurn(of: node)
        #expect(node.sink.outcomes[1] == .failed(.full))
        #expect(node.sink.outcomes[2] == .failed(.full))
        #expect(
            node.sink.outcomes[3] == .stored(Stored(on: 1, owners: 1, isEnough: true)))
        #expect(node.store.headers[ShardID(0)]?.documents == 1)
        let shard = try #require(node.run { $0.shard(ShardID(0)) })
        let stored = shard.assumeIsolated { $0.stored }
        #expect(stored == node.store.headers[ShardID(0)])
    }

    @Test func `a cluster that is founded on a full disk is founded once there is room`() throws {
        let world = NodeWorld()
        world.storesAtOnce = false
        let node = world.add("n1")
        world.endTurn(of: node)
        let founding = try #require(node.store.takeFirst())
        node.run { $0.onCommitted(founding.ticket, failure: .full) }
        world.endTurn(of: node)
        #expect(node.store.waiting.isEmpty)
        world.storesAtOnce = true
        world.run(milliseconds: 300)
        #expect(node.store.settings["cluster"] != nil)
        #expect(node.store.settings["members"] != nil)
        let complete = node.store.headers.values.filter(\.isComplete)
        #expect(complete.count == 2)
        #expect(node.store.headers.count == 2)
        #expect(node.submit(create(), number: 1))
    }
}

@Suite struct ConnectionFaultTests {
    @Test func `an address given by join in another spelling is not dialled for ever`() {
        let (world, _, second) = pair()
        let store = second.store
        world.kill("n2")
        world.aliases["zero"] = "n1"
        let again = world.add("n2", join: ["zero"], store: store, shards: nil)
        world.run(milliseconds: 2_000)
        #expect(again.living == 2)
        let connections = world.channels.count
        world.run(milliseconds: 5_000)
        #expect(world.channels.count == connections)
    }

    @Test func `strangers who say nothing do not end the dialling of a member`() {
        let (world, first, second) = pair()
        let store = second.store
        world.kill("n2")
        world.unreachable = ["n1"]
        for _ in 0..<Greeting.greetingsMax { _ = world.connect(from: "stranger", to: "n1") }
        world.settle()
        world.add("n2", store: store, shards: nil)
        world.run(milliseconds: 1_000)
        #expect(first.living == 2)
    }

    @Test func `strangers who say nothing do not keep a member from joining`() {
        let (world, first, second) = pair()
        let store = second.store
        world.kill("n2")
        world.run(milliseconds: 1_000)
        for _ in 0..<600 { _ = world.connect(from: "stranger", to: "n1") }
        world.settle()
        // The member is not dialled: it has to connect by itself.
        first.host.dialed = []
        world.unreachable = ["n2"]
        world.add("n2", join: ["n1"], store: store, shards: nil)
        world.settle()
        world.run(milliseconds: 100)
        #expect(first.living == 2)
        #expect(first.run { $0.load.greetings } <= NodeLoad.greetingsMax)
    }

    @Test func `a node that returns before its death was noticed is let in`() {
        let (world, first, second) = pair()
        let store = second.store
        for channel in world.channels where channel.owner == "n2" { channel.isCut = true }
        world.kill("n2")
        let again = world.add("n2", join: ["n1"], store: store, shards: nil)
        world.run(milliseconds: 3_000)
        #expect(again.host.endings.isEmpty)
        #expect(first.living == 2)
    }

    @Test func `who waits for a slow disk does not take its peers for dead`() {
        let (world, first, _) = pair()
        first.store.queuedBytes = 2 * Node.storeBytesMax
        world.endTurn(of: first)
        let connections = world.channels.count
        world.run(milliseconds: 9_000)
        first.store.queuedBytes = 0
        world.endTurn(of: first)
        world.run(milliseconds: 1_000)
        #expect(first.living == 2)
        #expect(world.channels.count == connections)
    }

    @Test func `after a pause of its own a node takes nobody for dead`() {
        let (world, first, _) = pair()
        let connections = world.channels.count
        world.clock.pass(PeerSync.silenceMilliseconds + 1_000)
        world.run(milliseconds: 1_000)
        #expect(first.living == 2)
        #expect(world.channels.count == connections)
    }

    @Test func `a stranger cannot announce more than a hello`() {
        let world = NodeWorld()
        world.add("n1")
        let (dialer, acceptor) = world.connect(from: "stranger", to: "n1")
        world.settle()
        var head = ByteWriter()
        head.write(fixed: UInt32(1 << 20))
        head.write(fixed: UInt64(0))
        dialer.send(head.bytes)
        world.settle()
        #expect(acceptor.isClosed)
    }

    @Test func `a connection that is unreadable each time is not made in a storm`() {
        let (world, first, _) = pair()
        let connections = world.channels.count
        for _ in 0..<100 {
            for channel in world.channels where channel.owner == "n1" && !channel.isClosed {
                world.receive([UInt8](repeating: 7, count: 12), on: channel)
            }
            world.run(milliseconds: 100)
        }
        #expect(world.channels.count - connections <= 2 * 2 * 10 * 2)
        world.run(milliseconds: 1_000)
        #expect(first.living == 2)
    }

    @Test func `a flood of pings is answered within bounds`() throws {
        let (world, _, _) = pair()
        let channel = try #require(
            world.channels.last { $0.owner == "n1" && !$0.isClosed })
        let peer = try #require(channel.other)
        channel.queuedBytes = 2 * PeerLimits.standard.queueBytesMax
        peer.inbox = []
        var flood = ByteWriter()
        let ping = PeerFrame.gossip(
            .ping(number: 1, tableHash: 1, []), wallMilliseconds: 0)
        for _ in 0..<1_000 { flood.writeEnvelope { ping.encode(into: &$0) } }
        world.receive(flood.bytes, on: channel)
        #expect(peer.inbox.isEmpty)
    }
}

@Suite struct TableFaultTests {
    @Test func `a node with an empty disk and a clock gone back is found at its new address`() {
        let (world, first, _) = pair()
        world.kill("n2")
        world.settle()
        world.clock.wallMilliseconds -= 3_600_000
        world.add("n2", join: ["n1"], shards: nil, address: "moved")
        world.run(milliseconds: 1_000)
        let known = first.run { $0.memberReports().first { $0.member.name.text == "n2" }?.member }
        #expect(known?.gossip == "moved")
    }
}

@Suite struct ConvergenceTests {
    @Test func `what only one co-owner got before a crash is everywhere within a second`() {
        let world = NodeWorld()
        let first = world.add("n1")
        let second = world.add("n2", join: ["n1"], shards: nil)
        let third = world.add("n3", join: ["n1"], shards: nil)
        world.run(milliseconds: 3_000)
        // Each round begins a tick later in the rhythm of summaries than the one before.
        for round in 0..<10 {
            let first = world.nodes["n1"] ?? first
            let id = ConversationID(checked: "c\(round)")
            #expect(first.submit(create(id), number: UInt64(round)))
            for channel in world.channels where channel.owner == "n1" {
                channel.isCut = channel.other?.owner == "n3"
            }
            world.endTurn(of: first)
            let store = first.store
            for channel in world.channels where channel.owner == "n1" { channel.isCut = false }
            world.settle()
            world.kill("n1")
            world.run(milliseconds: 900)
            #expect(second.digest == third.digest, "round \(round)")
            world.add("n1", store: store, shards: nil)
            world.run(milliseconds: 2_200)
        }
    }
}
