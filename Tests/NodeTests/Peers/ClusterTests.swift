import CRDT
import Chat
import Testing
import Wire

@testable import Node
@testable import Replication

let alice = UserID(checked: "alice")
let lobby = ConversationID(checked: "lobby")

func create(_ conversation: ConversationID = lobby) -> Mutation {
    Mutation(
        CreateConversation(participants: [alice], title: nil), in: conversation,
        by: alice)
}

/// Returns a write as the first operation of the node that read its line.
func operation(_ mutation: Mutation, after unsettled: Unsettled = Unsettled()) -> Operation {
    let stamp = Stamp(
        time: HybridTimestamp(milliseconds: 1), process: RandomID(high: 8, low: 8), counter: 1)
    return Operation(mutation, stamp, after: unsettled)
}

func send(
    _ id: String, text: String = "hello", in conversation: ConversationID = lobby
) -> Mutation {
    Mutation(
        SendMessage(type: .text, item: nil, text: text), of: MessageID(checked: id),
        in: conversation,
        by: alice)
}

@Suite struct ClusterTests {
    @Test func `a node without a cluster to join founds one and serves at once`() {
        let world = NodeWorld()
        let node = world.add("n1")
        world.run(milliseconds: 100)
        #expect(node.host.isReady)
        #expect(node.store.settings["cluster"] != nil)
        #expect(node.members == ["n1"])
    }

    @Test func `who joins takes the cluster's settings and all that it holds`() {
        let world = NodeWorld()
        let first = world.add("n1", cluster: "team")
        world.run(milliseconds: 100)
        #expect(first.submit(create(), number: 1))
        #expect(first.submit(send("m1"), number: 2))
        world.endTurn(of: first)
        let second = world.add("n2", join: ["n1"], shards: nil)
        let third = world.add("n3", join: ["n2"], shards: nil)
        world.run(milliseconds: 1_000)
        for node in [second, third] {
            #expect(node.host.isReady)
            #expect(node.digest == first.digest)
            #expect(node.living == 3)
            #expect(node.members == ["n1", "n2", "n3"])
            #expect(node.store.settings["cluster"] == first.store.settings["cluster"])
        }
    }

    @Test func `a node that was told otherwise than the cluster is ends`() {
        let world = NodeWorld()
        world.add("n1", shards: 2, cluster: "team")
        let wrongName = world.add("n2", join: ["n1"], shards: nil, cluster: "other")
        let wrongShards = world.add("n3", join: ["n1"], shards: 8)
        world.run(milliseconds: 500)
        #expect(
            wrongName.host.endings.first
                == .badOption("--cluster other: this cluster's name is team"))
        #expect(
            wrongShards.host.endings.first
                == .badOption("--shards 8: this cluster has 2 shards"))
    }

    @Test func `a folder of another cluster is not taken along`() {
        let world = NodeWorld()
        world.add("n1")
        let other = world.add("n2")
        world.run(milliseconds: 200)
        let store = other.store
        world.kill("n2")
        let again = world.add("n2", join: ["n1"], store: store)
        world.run(milliseconds: 500)
        let reason = "the data folder is of another cluster than the node at n1"
        #expect(again.host.endings.first == .unusable(reason))
    }

    @Test func `a second node of a living member's name ends`() {
        let world = NodeWorld()
        world.add("n1")
        world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 500)
        let twin = world.add("n2", join: ["n1"], shards: nil, address: "elsewhere")
        world.run(milliseconds: 5_000)
        #expect(twin.host.endings.first == .unusable("a living member has the name n2"))
        #expect(world.nodes["n1"]?.living == 2)
    }

    @Test func `that the name is taken counts where it is said again two seconds later`() {
        let world = NodeWorld()
        let node = world.add("n1")
        var rejection = ByteWriter()
        rejection.writeEnvelope { PeerFrame.reject(.nameTaken).encode(into: &$0) }
        let first = world.connect(from: "n1", to: "nobody").dialer
        world.settle()
        world.receive(rejection.bytes, on: first)
        // A rejection that arrives late was sent when its connection began.
        let early = world.connect(from: "n1", to: "nobody").dialer
        world.run(milliseconds: 2_500)
        world.receive(rejection.bytes, on: early)
        #expect(node.host.endings.isEmpty)
        for _ in 1...2 {
            // A peer that was suspended rejects as soon as it goes on.
            #expect(node.host.endings.isEmpty)
            let late = world.connect(from: "n1", to: "nobody").dialer
            world.settle()
            world.receive(rejection.bytes, on: late)
            world.run(milliseconds: 600)
        }
        #expect(node.host.endings.first == .unusable("a living member has the name n1"))
    }

    @Test func `a write reaches the others, and its reply says how many have it`() {
        let world = NodeWorld()
        let first = world.add("n1")
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.add("n3", join: ["n1"], shards: nil)
        world.run(milliseconds: 1_000)
        #expect(second.submit(create(), number: 1, level: .all))
        world.endTurn(of: second)
        #expect(second.sink.outcomes[1] == nil)
        world.settle()
        guard case .stored(let stored) = second.sink.outcomes[1] else {
            Issue.record("no reply")
            return
        }
        #expect(stored.on == 3)
        #expect(stored.owners == 3)
        #expect(first.digest == second.digest)
    }

    @Test func `a killed node is missed at once, and is level again after its return`() {
        let world = NodeWorld()
        let first = world.add("n1")
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 1_000)
        let store = second.store
        world.kill("n2")
        world.settle()
        #expect(first.living == 1)
        #expect(first.submit(create(), number: 1, level: .majority))
        world.endTurn(of: first)
        // The peer is suspect at once; a reply waits for its replica until it is considered dead.
        #expect(first.sink.outcomes[1] == nil)
        world.run(milliseconds: 500)
        #expect(first.sink.outcomes[1] == .stored(Stored(on: 1, owners: 2, isEnough: false)))
        let again = world.add("n2", join: ["n1"], store: store, shards: nil)
        #expect(!again.host.isReady)
        world.run(milliseconds: 1_000)
        #expect(again.host.isReady)
        #expect(again.digest == first.digest)
        let digest = first.digest
        world.kill("n1")
        world.kill("n2")
        let alone = world.add("n2", store: store, shards: nil)
        world.run(milliseconds: 500)
        #expect(!alone.host.isReady)
        world.run(milliseconds: 1_000)
        #expect(alone.host.isReady)
        #expect(alone.digest == digest)
    }

    @Test func `a connection that ends in the middle of a frame takes nothing with it`() {
        let world = NodeWorld()
        let first = world.add("n1")
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 1_000)
        #expect(first.submit(create(), number: 1))
        world.endTurn(of: first)
        guard let channel = world.channels.last(where: { $0.owner == "n2" && !$0.isClosed }) else {
            Issue.record("no connection")
            return
        }
        let half = channel.inbox.removeFirst()
        channel.inbox = []
        world.receive(Array(half.prefix(half.count / 2)), on: channel)
        channel.close()
        world.settle()
        world.run(milliseconds: 1_000)
        #expect(second.digest == first.digest)
        #expect(second.living == 2)
    }

    @Test func `bytes that no node sends close their connection and nothing else`() {
        let world = NodeWorld()
        let first = world.add("n1")
        var random = TestBytes(seed: 1)
        for _ in 0..<200 {
            let (_, acceptor) = world.connect(from: "stranger", to: "n1")
            world.settle()
            world.receive(random.bytes(40), on: acceptor)
            world.settle()
            acceptor.other?.close()
            world.settle()
        }
        #expect(first.living == 1)
        #expect(first.host.endings.isEmpty)
    }
}
