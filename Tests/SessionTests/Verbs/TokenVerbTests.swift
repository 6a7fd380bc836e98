import CRDT
import Node
import NodeKit
import Replication
import Testing
import Wire

@testable import Admin
@testable import Session

/// The tokens that a client carries from node to node.
@Suite struct TokenVerbTests {
    private let world = World(mayBlock: true)
    private var n1: TestNode { world.n1 }
    private let behind =
        "ERR 503 No replica that can be reached is known to hold all that this connection has "
        + "seen; try again, or ask another node"

    private func token(of client: TestClient) -> String {
        let reply = client.ask("TOKEN").last ?? ""
        #expect(reply.hasPrefix("OK token="))
        return String(reply.dropFirst("OK token=".count))
    }

    /// Returns a token of what no other node has got, after it has waited for them in vain.
    private func lateToken(of client: TestClient, hiddenFrom other: TestNode) -> String {
        world.hold(true, between: n1, and: other)
        #expect(client.ask("TOKEN").isEmpty)
        world.pass(milliseconds: 1_000, n1)
        let reply = client.heard().last ?? ""
        world.hold(false, between: n1, and: other)
        #expect(reply.hasPrefix("OK token="))
        return String(reply.dropFirst("OK token=".count))
    }

    @Test func `a token is one word of at most 2,048 bytes, and is taken where it was made`() {
        let client = n1.connect()
        _ = client.ask("CREATE c alice,bob", "SEND c alice id=m hello", "CHATS alice")
        let token = token(of: client)
        #expect(token.utf8.count <= Token.textBytesMax && !token.contains(" "))
        #expect(n1.connect().ask("SINCE \(token)") == ["OK"])
        let empty = self.token(of: n1.connect())
        #expect(n1.connect().ask("SINCE \(empty)") == ["OK"])
    }

    @Test func `what is no token, or another cluster's, is refused and changes nothing`() {
        let client = n1.connect()
        _ = client.ask("CREATE c alice,bob")
        let cluster = RandomID(high: 9, low: 9)
        let unauthenticated = Token(of: [], cluster: cluster).text
        let bad = "ERR 400 Not a token: give one as TOKEN printed it, whole and unchanged"
        let replies = client.ask("SINCE x", "SINCE \(token(of: client))A", "SINCE", "PING")
        #expect(replies.prefix(2) == [bad, bad] && replies[2].hasPrefix("ERR 400 "))
        #expect(replies.last == "OK pong")
        #expect(
            client.ask("SINCE \(unauthenticated)") == [
                "ERR 400 Token is of another cluster; ask this one for its own with TOKEN"
            ])
    }

    @Test func `TOKEN stands for the events that a watcher was told`() {
        let joined = world.join("n2")
        let (writer, watcher) = (n1.connect(), n1.connect())
        _ = writer.ask("SET ack=local", "CREATE c alice,bob")
        world.settle(n1, joined)
        #expect(watcher.ask("WATCH bob").count == 1)
        _ = writer.ask("SEND c alice id=m hello")
        #expect(watcher.heard().contains { $0.contains("kind=message") })
        let token = lateToken(of: watcher, hiddenFrom: joined)
        let other = joined.connect()
        #expect(other.ask("SINCE \(token)").isEmpty)
        world.settle(n1, joined)
        #expect(other.heard() == ["OK"])
        #expect(other.ask("HISTORY c bob").count == 2)
    }

    @Test func `TOKEN and WAIT stand for the writes of SEED, and of NOTIFICATIONS`() {
        let joined = world.join("n2")
        let client = n1.connect()
        _ = client.ask("SET ack=local")
        for lines in [["SEED"], ["DEVICE ADD bob phone token=t", "CREATE c alice,bob"]] {
            for line in lines { #expect(client.ask(line) == ["OK"]) }
            #expect(client.ask("WAIT 2 0").first?.hasPrefix("ERR 504 ") == true)
            let token = lateToken(of: client, hiddenFrom: joined)
            #expect(joined.connect().ask("SINCE \(token)").isEmpty)
            world.settle(n1, joined)
            #expect(client.ask("WAIT 2 0") == ["OK replicas=2"])
        }
        _ = client.ask("SEND c alice id=m hello")
        world.settle(n1, joined)
        let lister = n1.connect()
        #expect(lister.ask("SET ack=local", "NOTIFICATIONS bob phone").count == 3)
        #expect(lister.ask("WAIT 2 0").first?.hasPrefix("ERR 504 ") == true)
        world.settle(n1, joined)
        #expect(lister.ask("WAIT 2 0") == ["OK replicas=2"])
    }

    @Test func `TOKEN stands for every request before it`() {
        let client = n1.connect()
        let joined = world.join("n2")
        _ = client.ask("SET ack=local", "CREATE c alice,bob")
        world.settle(n1, joined)
        world.hold(true, between: n1, and: joined)
        #expect(client.ask("SEND c alice id=m hello", "TOKEN").count == 1)
        world.pass(milliseconds: 1_000, n1)
        let token = client.heard().last?.dropFirst("OK token=".count) ?? ""
        world.hold(false, between: n1, and: joined)
        let other = joined.connect()
        #expect(other.ask("SINCE \(token)").isEmpty)
        world.settle(n1, joined)
        #expect(other.heard() == ["OK"])
        #expect(other.ask("HISTORY c bob").count == 2)
    }

    @Test func `what follows SINCE waits for it, and shows what the token has seen`() {
        let client = n1.connect()
        let joined = world.join("n2")
        _ = client.ask("SET ack=local", "CREATE c alice,bob")
        world.settle(n1, joined)
        _ = client.ask("SEND c alice id=m hello", "DELETE c m alice for=everyone")
        let token = lateToken(of: client, hiddenFrom: joined)
        let other = joined.connect()
        #expect(other.ask("SINCE \(token)", "HISTORY c bob", "PING").isEmpty)
        world.settle(n1, joined)
        let replies = other.heard()
        #expect(replies.first == "OK" && replies.last == "OK pong")
        #expect(replies.contains { $0.contains("deletedForEveryone=true") })
    }

    @Test func `a node that is cut off says so after a second, and OK once it is not`() {
        let client = n1.connect()
        let joined = world.join("n2")
        _ = client.ask("SET ack=local", "CREATE c alice,bob")
        world.settle(n1, joined)
        let other = joined.connect()
        #expect(other.ask("BLOCK n1") == ["OK"])
        _ = client.ask("SEND c alice id=m hello")
        let token = lateToken(of: client, hiddenFrom: joined)
        world.settle(n1, joined)
        #expect(other.ask("SINCE \(token)", "PING").isEmpty)
        world.pass(milliseconds: 900, n1, joined)
        #expect(other.heard().isEmpty)
        world.pass(milliseconds: 200, n1, joined)
        #expect(other.heard() == [behind, "OK pong"])
        #expect(other.ask("HISTORY c bob") == ["OK"])
        #expect(other.ask("UNBLOCK *") == ["OK"])
        world.live(milliseconds: 3_000, n1, joined)
        #expect(other.ask("SINCE \(token)").isEmpty == false)
        #expect(other.ask("HISTORY c bob").count == 2)
    }

    @Test func `a token leaves once all that it stands for is on a majority`() {
        let (client, joined) = (n1.connect(), world.join("n2"))
        let third = world.join("n3", dialing: joined)
        _ = client.ask("SET ack=local", "CREATE c alice,bob")
        world.settle(n1, joined, third)
        world.hold(true, between: n1, and: third)
        _ = client.ask("SEND c alice id=m hello")
        let reader = n1.connect()
        #expect(reader.ask("HISTORY c bob", "TOKEN", "PING").count == 2)
        world.settle(n1, joined)
        let replies = reader.heard()
        #expect(replies.count == 2 && replies.last == "OK pong")
        world.cut(n1)
        let token = replies.first?.dropFirst("OK token=".count) ?? ""
        let other = third.connect()
        #expect(other.ask("SINCE \(token)", "HISTORY c bob").isEmpty)
        // A node that is silent is asked first, and for a fifth of a second.
        world.live(milliseconds: 500, joined, third)
        let shown = other.heard()
        #expect(shown.first == "OK" && shown.dropFirst().first?.contains("hello") == true)
    }

    @Test func `a token waits for nobody where no majority lives`() {
        let (client, joined) = (n1.connect(), world.join("n2"))
        _ = client.ask("SET ack=local", "CREATE c alice,bob")
        world.settle(n1, joined)
        world.cut(joined)
        world.live(milliseconds: 20_000, n1)
        _ = client.ask("SEND c alice id=m hello")
        _ = token(of: client)
    }

    private func vector(_ seqs: [UInt64: ClosedRange<UInt64>]) -> Vector {
        var vector = Vector()
        for (replica, seqs) in seqs {
            let id = RandomID(high: 0, low: replica)
            for seq in seqs { vector.insert(Dot(replica: id, seq: seq)) }
        }
        return vector
    }

    @Test func `a second token does not undo the first one`() {
        var connection = ConnectionState(ackLevel: .majority)
        let shard = ShardID(1)
        connection.level(Observation(shard, vector([1: 1...3]), by: .member(channel: 1)))
        connection.isStrict = true
        // Another replica has what the second token names, and lacks what the first one names.
        connection.level(Observation(shard, vector([2: 1...5]), by: .member(channel: 2)))
        let both = vector([1: 1...3, 2: 1...5])
        #expect(connection.sessionVectors[shard] == SessionVector(vector: both, replica: nil))
        // A replica with both is the one to read from.
        connection.level(Observation(shard, both, by: .here))
        #expect(connection.sessionVectors[shard] == SessionVector(vector: both, replica: .here))
    }

    @Test func `it stands for what was read, even where a later replica lacks it`() {
        var connection = ConnectionState(ackLevel: .majority)
        let shard = ShardID(1)
        connection.recordObservations([
            Observation(shard, vector([1: 1...9]), by: .member(channel: 1))
        ])
        // The second replica answers after it has waited in vain for the rest.
        connection.level(Observation(shard, vector([1: 1...4, 2: 1...1]), by: .member(channel: 2)))
        #expect(connection.seen.map(\.vector) == [vector([1: 1...9, 2: 1...1])])
        #expect(connection.sessionVectors[shard]?.vector == vector([1: 1...4, 2: 1...1]))
    }

    @Test func `a connection that came with a token carries all of it on`() {
        let client = n1.connect()
        _ = client.ask("CREATE c alice,bob", "SEND c alice id=m hello")
        let token = token(of: client)
        let second = n1.connect()
        #expect(second.ask("SINCE \(token)") == ["OK"])
        #expect(self.token(of: second) == token)
    }
}
