import CRDT
import Chat
import Replication
import Testing
import Wire

@testable import Node

/// Three nodes with a replica of each shard, all written to.
private struct Wide {
    let world = NodeWorld()
    let nodes: [WorldNode]
    let rooms: [ConversationID]

    init(shards: UInt16 = 64) {
        rooms = (0..<shards * 6).map { ConversationID(checked: "room\($0)") }
        let first = world.add("n1", shards: shards)
        let (second, third) = (
            world.add("n2", join: ["n1"], shards: nil), world.add("n3", join: ["n1"], shards: nil)
        )
        nodes = [first, second, third]
        world.run(milliseconds: 2_000)
        for room in rooms { first.handle(create(room), number: 1) }
        world.run(milliseconds: 2_500)
    }

    /// Returns the token of a client that was shown all shards of a node.
    func token(of node: WorldNode) -> Token? {
        node.run { node in
            node.token(of: node.storedVectors, first: [])
        }
    }

    /// Writes a message of this name to every room.
    func write(_ message: String, on node: WorldNode) {
        for room in rooms { node.handle(send(message, in: room), number: 2) }
        world.run(milliseconds: 500)
    }
}

extension NodeWorld {
    /// Returns the result of a `SINCE` on a node.
    func since(_ token: Token, on node: WorldNode) -> ReplyResult? {
        let slot = ReplySlot(session: 1, number: 900)
        node.run { $0.since(token, for: slot) }
        endTurn(of: node)
        run(milliseconds: 1_500)
        return node.sink.outcomes[900]
    }
}

extension Node {
    /// What the replicas here have on disk, by shard.
    var storedVectors: [(shard: ShardID, vector: Vector)] {
        shards.map { shard in (shard.id, shard.assumeIsolated { $0.stored.vector }) }
    }
}

@Suite struct CheckpointTests {
    @Test func `a token of all shards needs no dead node, whatever was written since`() throws {
        let wide = Wide()
        let token = try #require(wide.token(of: wide.nodes[2]))
        wide.write("m1", on: wide.nodes[0])
        wide.world.kill("n3")
        wide.write("m2", on: wide.nodes[1])
        #expect(wide.world.since(token, on: wide.nodes[1]) == .level)
    }

    @Test func `a token of the most shards is good after a long absence, whoever is dead`() throws {
        let wide = Wide(shards: ClusterSettings.shardsMax)
        let token = try #require(wide.token(of: wide.nodes[2]))
        #expect(token.text.utf8.count <= Token.textBytesMax)
        for round in 0..<12 {
            wide.write("m\(round)", on: wide.nodes[0])
            wide.world.run(milliseconds: 600)
        }
        wide.world.kill("n3")
        wide.write("last", on: wide.nodes[0])
        #expect(wide.world.since(token, on: wide.nodes[1]) == .level)
    }

    @Test func `a node that was restarted learns again what tokens name`() throws {
        let wide = Wide()
        let token = try #require(wide.token(of: wide.nodes[2]))
        let store = wide.nodes[1].store
        wide.world.kill("n2")
        wide.world.run(milliseconds: 500)
        let again = wide.world.add("n2", join: ["n1"], store: store, shards: nil)
        wide.world.run(milliseconds: 2_000)
        wide.write("m1", on: wide.nodes[0])
        wide.world.kill("n1")
        wide.world.kill("n3")
        wide.world.run(milliseconds: 1_000)
        #expect(wide.world.since(token, on: again) == .level)
    }

    /// Three nodes with a replica of one shard.
    private struct Narrow {
        let world = NodeWorld()
        let nodes: [WorldNode]
        let room = ConversationID(checked: "room")

        init() {
            nodes = [
                world.add("n1", shards: 1), world.add("n2", join: ["n1"], shards: nil),
                world.add("n3", join: ["n1"], shards: nil),
            ]
            world.run(milliseconds: 2_000)
            nodes[0].handle(create(room), number: 1)
            world.run(milliseconds: 2_500)
        }

        /// Returns the token of a client that was shown all, with no space for more than its name.
        func named(by node: WorldNode) throws -> Token {
            let token = node.run { node -> Token? in
                node.cluster.map {
                    Token(of: node.storedVectors, cluster: $0.id, textBytesMax: 52)
                }
            }
            try #require(token?.isNamedOnly(ShardID(0)) == true)
            return try #require(token)
        }

        /// Writes so much that no node keeps the vectors of before.
        func grow(by node: WorldNode) {
            for index in 0..<200 {
                node.handle(send("m\(index)", in: room), number: 2)
                world.run(milliseconds: 1_100)
            }
        }
    }

    @Test func `a name is good where it was held, however old it is, and whoever is dead`() throws {
        let narrow = Narrow()
        let token = try narrow.named(by: narrow.nodes[2])
        narrow.grow(by: narrow.nodes[0])
        narrow.world.kill("n3")
        #expect(narrow.world.since(token, on: narrow.nodes[1]) == .level)
        let store = narrow.nodes[1].store
        narrow.world.kill("n2")
        narrow.world.run(milliseconds: 500)
        let again = narrow.world.add("n2", join: ["n1"], store: store, shards: nil)
        narrow.world.run(milliseconds: 3_000)
        #expect(narrow.world.since(token, on: again) == .level)
    }

    @Test func `a name that was not held is not good, however old it is`() throws {
        let narrow = Narrow()
        narrow.world.stalled = ["n1", "n2"]
        narrow.nodes[2].handle(send("lost", in: narrow.room), number: 2)
        narrow.world.run(milliseconds: 3_000)
        let token = try narrow.named(by: narrow.nodes[2])
        narrow.world.kill("n3")
        for name in ["n1", "n2"] { narrow.world.kill(name) }
        let stores = narrow.nodes[..<2].map(\.store)
        narrow.world.stalled = []
        let first = narrow.world.add("n1", store: stores[0], shards: nil)
        let second = narrow.world.add("n2", store: stores[1], shards: nil)
        narrow.world.run(milliseconds: 3_000)
        narrow.grow(by: first)
        #expect(narrow.world.since(token, on: second) == .answered(.failed(.behind), nil))
    }

    @Test(arguments: [["n3"], ["n1", "n2"]])
    func `a name from one side of a cut is good on the other once that holds it`(
        writers: [String]
    ) throws {
        let narrow = Narrow()
        let before = try narrow.named(by: narrow.nodes[2])
        let cut = narrow.world.channels.filter { !$0.isClosed && ($0.owner == "n3") }
        for channel in cut.flatMap({ [$0, $0.other].compactMap(\.self) }) { channel.isCut = true }
        narrow.world.unreachable = ["n1", "n2", "n3"]
        let nodes = narrow.nodes.filter { writers.contains($0.name) }
        let others = narrow.nodes.filter { !writers.contains($0.name) }
        for (index, node) in nodes.enumerated() {
            node.handle(send("side\(index)", in: narrow.room), number: 2)
        }
        narrow.world.run(milliseconds: 3_000)
        let named = try narrow.named(by: nodes[0])
        // What was named before the cut is good on both sides of it; what was named since is not.
        for node in narrow.nodes { #expect(narrow.world.since(before, on: node) == .level) }
        #expect(narrow.world.since(named, on: others[0]) == .answered(.failed(.behind), nil))
        #expect(narrow.world.since(named, on: nodes[0]) == .level)
        narrow.world.unreachable = []
        narrow.world.run(milliseconds: 12_000)
        for writer in writers { narrow.world.kill(writer) }
        narrow.world.run(milliseconds: 1_000)
        for node in others { #expect(narrow.world.since(named, on: node) == .level) }
    }

    @Test func `a name is good after a hundred restarts of each node`() throws {
        let narrow = Narrow()
        let token = try narrow.named(by: narrow.nodes[2])
        var nodes = narrow.nodes
        for round in 0..<100 {
            for place in nodes.indices {
                let (name, store) = (nodes[place].name, nodes[place].store)
                narrow.world.kill(name)
                let joins = ["n1", "n2", "n3"].filter { $0 != name }
                nodes[place] = narrow.world.add(name, join: joins, store: store, shards: nil)
                narrow.world.run(milliseconds: 400)
                nodes[place].handle(send("m\(round)-\(place)", in: narrow.room), number: 2)
            }
        }
        narrow.world.run(milliseconds: 3_000)
        for node in nodes { #expect(narrow.world.since(token, on: node) == .level) }
        narrow.world.kill("n3")
        narrow.world.run(milliseconds: 1_000)
        #expect(narrow.world.since(token, on: nodes[0]) == .level)
    }

    @Test(arguments: [true, false])
    func `what a replica loses it no longer knows by name`(isLoss: Bool) throws {
        let narrow = Narrow()
        let token = try narrow.named(by: narrow.nodes[2])
        narrow.grow(by: narrow.nodes[0])
        for name in ["n1", "n2", "n3"] { narrow.world.kill(name) }
        let store = MemoryStore(copying: narrow.nodes[1].store)
        #expect(store.settings.contains { $0.key.hasPrefix("held-0-") && !$0.value.isEmpty })
        let again = narrow.world.add(
            "n2", store: store, shards: nil, loss: isLoss ? "the log is damaged" : nil,
            acceptsDataLoss: true)
        narrow.world.run(milliseconds: 3_000)
        if !isLoss {
            #expect(narrow.world.since(token, on: again) == .level)
            again.run { [room = narrow.room] in
                $0.onBadRecords([.conversation(room)], in: ShardID(0))
            }
            narrow.world.run(milliseconds: 3_000)
            #expect(store.settings.allSatisfy { !$0.key.hasPrefix("held-") || $0.value.isEmpty })
        }
        #expect(narrow.world.since(token, on: again) == .answered(.failed(.behind), nil))
    }

    @Test func `what a dead node alone holds is not taken for held`() throws {
        let wide = Wide()
        wide.world.stalled = ["n1", "n2"]
        wide.nodes[2].handle(send("m1", in: wide.rooms[0]), number: 2)
        wide.world.run(milliseconds: 3_000)
        let token = try #require(wide.token(of: wide.nodes[2]))
        for name in ["n1", "n2"] { wide.world.kill(name) }
        let stores = wide.nodes[..<2].map(\.store)
        wide.world.kill("n3")
        wide.world.stalled = []
        let again = wide.world.add("n2", store: stores[1], shards: nil)
        wide.world.add("n1", store: stores[0], shards: nil)
        wide.world.run(milliseconds: 3_000)
        #expect(wide.world.since(token, on: again) == .answered(.failed(.behind), nil))
    }
}
