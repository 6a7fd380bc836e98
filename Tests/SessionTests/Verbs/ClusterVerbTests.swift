import LineProtocol
import Node
import NodeKit
import Testing

@testable import Session

/// Every verb of the cluster, with the replies that the line protocol prescribes.
@Suite struct ClusterVerbTests {
    private let world = World()
    private var node: TestNode { world.n1 }

    @Test func `a node tells of itself and of its verbs`() {
        let client = node.connect()
        #expect(client.ask("PING", "ping") == ["OK pong", "OK pong"])
        let verbs = client.ask("HELP")
        #expect(verbs.last == "OK")
        let names = verbs.compactMap { line -> String? in
            guard case .data(noun: "VERB", let fields)? = ReplyLine(line) else { return nil }
            return fields["name"]
        }
        #expect(names == Verb.all.map(\.name))
        #expect(Set(["CHAT", "MARKS", "DEVICES", "ACTION ADD", "SHUTDOWN"]).isSubset(of: names))
        #expect(client.ask("HELP send").count == 2)
        #expect(client.ask("HELP nothing") == ["ERR 404 No such verb"])
        world.clock.advance(milliseconds: 3_999)
        _ = client.ask("CREATE c alice,bob", "SEND c alice id=m hello")
        let digest = client.ask("DIGEST").last?.split(separator: "=").last ?? ""
        #expect(
            client.ask("STATUS") == [
                "NODE name=n1 version=\(Node.version) protocol=1 cluster=grapevine uptime=3 "
                    + "members=1/1 shards=4 conversations=1 messages=1 rss=1234567 "
                    + "converged=true safe=true digest=\(digest)", "OK",
            ])
        #expect(
            client.ask("MEMBERS").first?.hasPrefix(
                "MEMBER name=n1 state=alive self=true gossip=n1:7101 admin=n1:7201 incarnation=")
                == true)
    }

    @Test func `digests and vectors tell what is on disk`() {
        let client = node.connect()
        let zeros = "hash=" + String(repeating: "0", count: 32)
        #expect(
            client.ask("DIGEST").dropLast()
                == (0..<4).map { "DIGEST shard=\($0) entities=0 \(zeros)" }[...])
        _ = client.ask("CREATE c alice,bob", "SEND c alice id=m hello")
        let lines = client.ask("DIGEST").filter { $0.contains("entities=2") }
        let shard = lines.first?.split(separator: " ")[1].dropFirst("shard=".count) ?? ""
        #expect(client.ask("DIGEST \(shard)").first == lines.first)
        let vector = client.ask("VECTOR \(shard)")
        #expect(vector.count == 2)
        #expect(vector.first?.hasSuffix(" seq=2") == true)
        #expect(
            client.ask("DIGEST 4", "VECTOR 4", "VECTOR 99999", "DIGEST 99999").allSatisfy {
                $0 == "ERR 404 Shard not held here"
            })
        node.store.assumeIsolated { $0.hold(true) }
        client.say("SEND c alice id=m2 hello")
        node.turn()
        let reader = node.connect()
        #expect(reader.ask("VECTOR \(shard)") == vector)
    }

    @Test func `a wait is over at once where nothing is asked or there is enough`() {
        let client = node.connect()
        #expect(client.ask("WAIT 0 0", "WAIT 1 0") == ["OK replicas=1", "OK replicas=1"])
        #expect(client.ask("CREATE c alice,bob", "WAIT 1 1000") == ["OK", "OK replicas=1"])
        #expect(
            client.ask("WAIT 1", "WAIT x 1", "WAIT 1 60001", "WAIT 99999999999999999999 1")
                .allSatisfy { $0.hasPrefix("ERR 400 ") })
    }

    @Test func `a wait without writes counts the owners of a shard, not the members that left`() {
        let joined = world.join("n2")
        world.settle(node, joined)
        let client = node.connect()
        #expect(client.ask("WAIT 2 0") == ["OK replicas=2"])
        #expect(joined.connect().ask("LEAVE") == ["OK"])
        world.live(milliseconds: 10_000, node, joined)
        #expect(client.ask("WAIT 1 0") == ["OK replicas=1"])
        #expect(client.ask("WAIT 2 0").first?.hasPrefix("ERR 504 ") == true)
    }

    @Test func `a wait in vain ends in time, and those behind it have their own`() {
        let client = node.connect()
        _ = client.ask("CREATE c alice,bob")
        #expect(client.ask("WAIT 2 500", "WAIT 2 300", "WAIT 1 0", "PING").isEmpty)
        world.pass(milliseconds: 400, node)
        #expect(client.heard().isEmpty)
        world.pass(milliseconds: 100, node)
        #expect(
            client.heard() == [
                "ERR 504 Stored on 1 owners, not on as many as asked",
                "ERR 504 Stored on 1 owners, not on as many as asked", "OK replicas=1", "OK pong",
            ])
    }

    @Test func `a wait covers the writes before it that are not on disk yet`() {
        let client = node.connect()
        node.store.assumeIsolated { $0.hold(true) }
        client.say("CREATE c alice,bob", "WAIT 1 1000")
        node.turn()
        #expect(client.heard().isEmpty)
        node.complete()
        node.turn()
        #expect(client.heard() == ["OK", "OK replicas=1"])
    }

    @Test func `levels say how many owners an OK waits for`() {
        let joined = world.join("n2")
        let client = node.connect()
        #expect(
            client.ask("SET ack=local", "SET ack=none", "SET").map { $0.prefix(12) } == [
                "OK ack=local", "ERR 400 ack=", "ERR 400 Miss",
            ])
        #expect(client.ask("CREATE c alice,bob") == ["OK"])
        #expect(client.ask("SET ack=majority", "SEND c alice id=m hello") == ["OK ack=majority"])
        #expect(client.heard().isEmpty)
        world.settle(node, joined)
        #expect(client.heard().first?.hasSuffix(" replicas=2/2") == true)
        #expect(client.ask("WAIT 2 0") == ["OK replicas=2"])
        #expect(client.ask("SET ack=all", "SEND c alice id=m2 hello") == ["OK ack=all"])
        world.pass(milliseconds: 1_000, node)
        #expect(client.heard().first?.hasSuffix(" replicas=1/2") == true)
        #expect(client.ask("WAIT 2 0").first?.hasPrefix("ERR 504 ") == true)
        world.settle(node, joined)
        let other = joined.connect()
        #expect(other.ask("HISTORY c bob").compactMap(id) == ["m", "m2"])
        #expect(other.ask("DIGEST") == client.ask("DIGEST"))
        #expect(other.ask("MEMBERS").count == 3)
    }

    @Test func `a wait ends when the node does`() {
        let client = node.connect()
        #expect(client.ask("WAIT 2 60000").isEmpty)
        node.node.assumeIsolated { $0.stopWaiting() }
        node.turn()
        #expect(client.heard() == ["ERR 504 Stored on 1 owners, not on as many as asked"])
    }

    @Test func `a shutdown is answered, and ends the node`() {
        let client = node.connect()
        #expect(client.ask("SHUTDOWN") == ["OK"])
        #expect(node.host.assumeIsolated { $0.ending } == .shutdown)
    }
}
