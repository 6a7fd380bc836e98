import NodeKit
import Placement
import Testing
import Wire

/// The reports of a node about the shards, its own and the others.
@Suite struct ShardVerbTests {
    private let empty = "state=ready entities=0 digest=" + String(repeating: "0", count: 32)

    @Test func `every shard is told of, with what is held of it here`() {
        let client = World().n1.connect()
        let lines = (0..<4).map { "SHARD id=\($0) owners=n1 here=true \(empty)" }
        #expect(client.ask("SHARDS") == lines + ["OK"])
        _ = client.ask("CREATE c alice,bob", "SEND c alice id=m hello")
        let digests = client.ask("DIGEST").dropLast().map { line in
            line.replacing("DIGEST shard=", with: "SHARD id=")
                .replacing(" entities", with: " owners=n1 here=true state=ready entities")
                .replacing("hash=", with: "digest=")
        }
        #expect(client.ask("SHARDS") == digests + ["OK"])
        #expect(digests.count { $0.contains("entities=2 ") } == 1)
    }

    @Test func `owners stand in their order on every node`() {
        let world = World(replicas: .all)
        let joined = world.join("n3")
        let mine = world.n1.connect().ask("SHARDS")
        let members = ["n1", "n3"].map(NodeName.init(checked:))
        let owners = (0..<4).map { number in
            Placement.owners(of: ShardID(number), among: members, replicas: .all)
                .map(\.text).joined(separator: ",")
        }
        #expect(Set(owners) == ["n1,n3", "n3,n1"])
        #expect(
            mine == zip(0..., owners).map { "SHARD id=\($0) owners=\($1) here=true \(empty)" }
                + ["OK"])
        #expect(joined.connect().ask("SHARDS") == mine)
    }

    @Test func `a conversation's shard is told of, whether it exists or not`() {
        let client = World().n1.connect()
        _ = client.ask("CREATE c alice,bob", "SEND c alice id=m hello")
        let shards = client.ask("SHARDS")
        for name in ["c", "nowhere", "d", "e"] {
            let number = Int(ShardID(of: name, count: 4).number)
            #expect(client.ask("OWNERS \(name)") == [shards[number], "OK"])
        }
        #expect(client.ask("OWNERS c").first?.contains(" entities=2 ") == true)
    }

    @Test func `shards are told of once the writes before are on disk`() {
        let node = World().n1
        let client = node.connect()
        node.store.assumeIsolated { $0.hold(true) }
        client.say("CREATE c alice,bob", "OWNERS c", "SHARDS")
        node.turn()
        #expect(client.heard().isEmpty)
        node.complete()
        node.turn()
        let lines = client.heard()
        #expect(lines.count == 8)
        #expect(lines.filter { $0.contains(" entities=1 ") }.count == 2)
    }

    @Test func `a node that is in no cluster knows no shards`() {
        let client = World().start("n2").connect()
        #expect(client.ask("SHARDS") == ["OK"])
        #expect(
            client.ask("OWNERS c") == [
                "ERR 503 This node is catching up with the others; ask again shortly"
            ])
    }

    @Test func `a shard that others hold has neither state, digest nor vector here`() {
        let world = World(replicas: .count(1))
        let joined = world.join("n3")
        world.live(milliseconds: 10_000, world.n1, joined)
        for node in [world.n1, joined] {
            let client = node.connect()
            let notOwner = client.ask("SHARDS").filter { !$0.contains("here=true") }.dropLast()
            #expect(!notOwner.isEmpty)
            #expect(client.ask("DIGEST").count + notOwner.count == 5)
            for line in notOwner {
                let words = line.split(separator: " ")
                let number = words[1].dropFirst("id=".count)
                #expect(words.count == 3 && words[2] != "owners=\(node.address.prefix(2))")
                #expect(
                    client.ask("DIGEST \(number)", "VECTOR \(number)").allSatisfy {
                        $0 == "ERR 404 Shard not held here"
                    })
            }
        }
    }
}
