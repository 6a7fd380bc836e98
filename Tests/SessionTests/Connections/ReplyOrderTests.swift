import Node
import NodeKit
import Placement
import StorePort
import Testing

@testable import Session

@Suite struct ReplyOrderTests {
    private let world = World()
    private var node: TestNode { world.n1 }

    @Test func `a write is answered once its commit is done, and not before`() {
        let client = node.connect()
        node.store.assumeIsolated { $0.hold(true) }
        client.say("CREATE c alice,bob", "SEND c alice id=m hello", "PING")
        node.turn()
        #expect(client.heard().isEmpty)
        node.complete()
        #expect(
            client.heard() == [
                "OK", "OK id=m at=2026-11-21T06:00:00.000Z replicas=1/1", "OK pong",
            ])
    }

    @Test func `what is not on disk is shown to nobody`() {
        let writer = node.connect()
        let reader = node.connect()
        #expect(writer.ask("CREATE c alice,bob") == ["OK"])
        node.store.assumeIsolated { $0.hold(true) }
        writer.say("SEND c alice id=m hello")
        node.turn()
        reader.say("HISTORY c bob", "EDITS c m bob", "SEND c bob id=m hello")
        node.turn()
        #expect(reader.heard().isEmpty)
        node.complete()
        node.turn()
        #expect(
            reader.heard().map { $0.prefix(20) } == [
                "MESSAGE id=m seq=01a", "OK", "EDIT at=2026-11-21T0", "OK", "ERR 409 Message exis",
            ])
    }

    @Test func `a report behind writes counts them, once they are on disk`() throws {
        let client = node.connect()
        node.store.assumeIsolated { $0.hold(true) }
        client.say("CREATE c alice,bob", "SEND c alice hello", "STATUS", "DIGEST")
        node.turn()
        #expect(client.heard().isEmpty)
        node.complete()
        let heard = client.heard()
        let status = try #require(heard.first { $0.hasPrefix("NODE ") })
        #expect(status.contains(" conversations=1 messages=1 "))
        #expect(heard.contains { $0.hasPrefix("DIGEST ") && $0.contains(" entities=2 ") })
    }

    @Test func `a list between writes shows what is before it and nothing behind it`() {
        let world = World(replicas: .count(1))
        let other = world.join("n2")
        let client = world.n1.connect()
        func ask(_ lines: [String]) -> [String] {
            client.feed(lines.map { $0 + "\n" }.joined())
            // A list needs a way to the other node and back.
            for _ in 0..<8 { world.settle(world.n1, other) }
            return client.heard()
        }
        // Of the four shards some are on the other node.
        let chats = (0..<8).map { "c\($0)" }
        _ = ask(chats.map { "CREATE \($0) alice,bob" })
        let heard = ask(
            chats.flatMap { chat in
                [
                    "SEND \(chat) alice hello", "UNREAD bob", "CHATS bob",
                    "ACTION ADD bob buy milk", "ACTIONS bob",
                ]
            })
        #expect(heard.filter { $0.hasPrefix("OK total=") } == (1...8).map { "OK total=\($0)" })
        var replies: [[String]] = [[]]
        for line in heard {
            if line.hasPrefix("OK") {
                replies.append([])
            } else {
                replies[replies.count - 1].append(line)
            }
        }
        let lists = replies.filter { !$0.isEmpty }
        let unread = lists.map { list in list.count { $0.contains(" unread=1 ") } }
        #expect(unread.filter { $0 > 0 } == Array(1...8))
        let actions = lists.filter { $0[0].hasPrefix("ACTION ") }
        #expect(actions.map(\.count) == Array(1...8))
    }

    @Test func `a report between writes tells of what is before it and nothing behind it`() {
        let client = node.connect()
        _ = client.ask("CREATE c alice,bob")
        let lines = (1...4).map { "SEND c alice id=m\($0) hello\nSTATUS\n" }.joined()
        client.feed(lines)
        node.settle()
        node.settle()
        node.settle()
        let counts = client.heard().filter { $0.hasPrefix("NODE ") }.map { line in
            line.split(separator: " ").first { $0.hasPrefix("messages=") }
        }
        #expect(counts == ["messages=1", "messages=2", "messages=3", "messages=4"])
    }

    @Test func `an event of what follows WATCH on a connection comes behind its answer`() {
        let client = node.connect()
        _ = client.ask("CREATE c alice,bob")
        client.say("SEND c alice id=m1 hello", "WATCH bob", "SEND c alice id=m2 hello")
        for _ in 0..<3 { node.settle() }
        let heard = client.heard()
        #expect(
            heard.map { $0.prefix(8) }.sorted()
                == ["EVENT ki", "OK id=m1", "OK id=m2", "OK token"])
        #expect(heard.contains { $0.hasPrefix("EVENT kind=message ") && $0.contains(" id=m2 ") })
    }

    @Test func `a refusal that would show what is not on disk waits for it`() {
        let writer = node.connect()
        let other = node.connect()
        node.store.assumeIsolated { $0.hold(true) }
        writer.say("CREATE c alice,bob")
        node.turn()
        other.say("CREATE c carl", "HISTORY c carl", "SEND c carl hello")
        node.turn()
        #expect(other.heard().isEmpty)
        node.complete(failing: .full)
        #expect(writer.heard() == ["ERR 503 The disk is full: free some space; DELETE works"])
        #expect(
            other.heard()
                == Array(
                    repeating: "ERR 503 The disk is full: free some space; DELETE works", count: 3))
    }

    @Test func `a failed commit changes nothing, and the next write is by another replica`() {
        let client = node.connect()
        #expect(client.ask("CREATE c alice,bob", "SEND c alice id=m1 one").count == 2)
        let before = client.ask("DIGEST")
        let replicas = vectors(client)
        node.store.assumeIsolated { $0.hold(true) }
        client.say("SEND c alice id=m2 two", "EDIT c m1 alice changed")
        node.turn()
        client.say("SEND c alice id=m3 three", "HISTORY c bob")
        node.turn()
        node.complete(failing: .full)
        node.complete()
        let refusal = "ERR 503 The disk is full: free some space; DELETE works"
        #expect(client.heard() == Array(repeating: refusal, count: 4))
        node.store.assumeIsolated { $0.hold(false) }
        #expect(client.ask("DIGEST") == before)
        #expect(client.ask("HISTORY c bob").map(id) == ["m1", nil])
        #expect(client.ask("SEND c alice id=m2 two").first?.hasPrefix("OK id=m2") == true)
        #expect(vectors(client).count == replicas.count + 1)
    }

    @Test func `what failed with an earlier commit does not fail a later one`() {
        let client = node.connect()
        #expect(client.ask("CREATE c alice,bob") == ["OK"])
        node.store.assumeIsolated { $0.hold(true) }
        client.say("SEND c alice id=m1 one")
        node.turn()
        client.say("SEND c alice id=m2 two")
        node.turn()
        node.complete(failing: .full)
        client.say("SEND c alice id=m3 three")
        node.turn()
        // The second commit fails now, since it was built on the first.
        node.complete()
        #expect(client.heard().count == 2)
        node.complete()
        #expect(client.heard().first?.hasPrefix("OK id=m3") == true)
        node.store.assumeIsolated { $0.hold(false) }
        #expect(client.ask("HISTORY c bob").map(id) == ["m3", nil])
        #expect(client.ask("STATUS").first?.contains("messages=1") == true)
    }

    @Test func `a disk that stays full is logged once`() {
        let client = node.connect()
        #expect(client.ask("CREATE c alice,bob") == ["OK"])
        node.store.assumeIsolated { $0.hold(true) }
        for number in 1...5 {
            client.say("SEND c alice id=m\(number) text")
            node.turn()
            node.complete(failing: .full)
        }
        #expect(client.heard().count == 5)
        let lines = node.host.assumeIsolated { $0.lines }.filter { $0.hasPrefix("error") }
        #expect(lines.count == 1)
    }

    @Test func `a table of members that could not be stored is stored with the next tick`() {
        node.store.assumeIsolated { $0.hold(true) }
        let joined = world.join("n2")
        node.complete(failing: .full)
        node.store.assumeIsolated { $0.hold(false) }
        world.pass(milliseconds: 100, node, joined)
        let table = node.store.assumeIsolated { $0.settings["members"] } ?? []
        #expect(String(decoding: table, as: UTF8.self).contains("n2:7101"))
    }

    /// Returns the lines of every shard's vector.
    private func vectors(_ client: TestClient) -> [String] {
        (0..<4).flatMap { client.ask("VECTOR \($0)") }.filter { $0.hasPrefix("VECTOR") }
    }
}

/// Returns the id in a data line.
func id(_ line: String) -> String? {
    guard let start = line.firstRange(of: " id=") else { return nil }
    return String(line[start.upperBound...].prefix { $0 != " " })
}
