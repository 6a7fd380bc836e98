import CRDT
import Node
import NodeKit
import Placement
import Testing
import Wire

@testable import Session

/// What users are not shown of others whom they have blocked, and who may not add them.
@Suite struct BlockVerbTests {
    private let world = World()
    private let client: TestClient

    init() {
        client = world.n1.connect()
        _ = client.ask(
            "CREATE c alice,bob,eve", "SEND c eve id=e1 before", "DEVICE ADD alice phone token=t",
            "SEND c bob id=b1 hello")
        world.clock.advance(milliseconds: 5)
    }

    private func ids(_ line: String, of client: TestClient? = nil) -> [String] {
        values("id", (client ?? self.client).ask(line).filter { !$0.hasPrefix("OK") })
    }

    /// Blocks eve, who then sends, edits and pins.
    private func block() {
        #expect(client.ask("BLOCKUSER alice eve") == ["OK"])
        world.clock.advance(milliseconds: 5)
        _ = client.ask(
            "SEND c eve id=e2 after", "EDIT c e2 eve afterwards", "PIN c e2 eve", "PIN c b1 eve")
    }

    @Test func `what a blocked user sends is not shown, counted or notified, but to others`() {
        block()
        #expect(ids("HISTORY c alice") == ["e1", "b1"])
        #expect(ids("HISTORY c bob") == ["e1", "b1", "e2"])
        #expect(ids("PINNED c alice") == ["b1"])
        #expect(client.ask("EDITS c e2 alice") == ["ERR 404 Message not found"])
        #expect(values("count", client.ask("UNREAD alice")) == ["2"])
        #expect(values("last", client.ask("CHAT c alice")) == ["b1"])
        #expect(values("last", client.ask("CHATS alice")) == ["b1"])
        #expect(values("unread", client.ask("CHATS alice")) == ["2"])
        #expect(client.ask("CHATS alice find=afterwards") == ["OK"])
        #expect(client.ask("READ c alice e1") == ["OK unread=1"])
        #expect(values("message", client.ask("NOTIFICATIONS alice phone")) == ["b1"])
        #expect(values("last", client.ask("CHATS bob")) == ["e2"])
    }

    @Test func `what a blocked user edits is shown as it was`() {
        let watcher = world.n1.connect()
        _ = watcher.ask("WATCH alice")
        _ = client.ask("EDIT c e1 eve early", "BLOCKUSER alice eve")
        world.clock.advance(milliseconds: 5)
        _ = watcher.heard()
        _ = client.ask("EDIT c e1 eve late", "DELETE c b1 bob for=everyone")
        #expect(values("kind", watcher.heard()) == ["delete"])
        let texts = { (line: String) in values("text", self.client.ask(line)) }
        #expect(texts("HISTORY c alice").first == "early")
        #expect(texts("HISTORY c bob").first == "late")
        #expect(texts("EDITS c e1 alice") == ["before", "early"])
        #expect(values("lastText", client.ask("CHATS alice")) == ["early"])
        #expect(client.ask("CHATS alice find=late") == ["OK"])
    }

    @Test func `typing that was shown before the block is shown to end`() {
        let watcher = world.n1.connect()
        _ = watcher.ask("WATCH alice")
        _ = client.ask("TYPING c eve on", "BLOCKUSER alice eve")
        world.clock.advance(milliseconds: 5)
        _ = client.ask("TYPING c eve off", "TYPING c eve on", "TYPING c eve off")
        #expect(values("on", watcher.heard()) == ["true", "false"])
    }

    @Test func `an unblocked user's messages are shown, also those that were not`() {
        block()
        let listed = client.ask("BLOCKED alice")
        #expect(values("other", listed) == ["eve"] && values("at", listed).count == 1)
        #expect(client.ask("UNBLOCKUSER alice eve", "BLOCKED alice") == ["OK", "OK"])
        #expect(ids("HISTORY c alice") == ["e1", "b1", "e2"])
        #expect(values("count", client.ask("UNREAD alice")) == ["3"])
        #expect(client.ask("UNBLOCKUSER alice eve", "UNBLOCKUSER alice dan") == ["OK", "OK"])
    }

    @Test func `a blocked user cannot add the one who blocked them`() {
        block()
        let refusal = "ERR 403 You cannot add this user"
        #expect(client.ask("CREATE d eve,alice") == [refusal])
        #expect(client.ask("CREATE d eve,bob") == ["OK"])
        #expect(client.ask("INVITE d eve alice") == [refusal])
        #expect(client.ask("INVITE d bob alice") == ["OK"])
        #expect(client.ask("CREATE f alice,eve") == ["OK"])
        #expect(client.ask("UNBLOCKUSER alice eve", "CREATE g eve,alice") == ["OK", "OK"])
    }

    @Test func `nobody blocks themselves, and lists of blocked users have pages`() {
        #expect(client.ask("BLOCKUSER alice alice") == ["ERR 400 You cannot block yourself"])
        for number in 0..<5 { _ = client.ask("BLOCKUSER alice u\(number)") }
        let first = client.ask("BLOCKED alice limit=3")
        #expect(values("other", first) == ["u0", "u1", "u2"])
        let cursor = values("next", first).first ?? ""
        #expect(values("other", client.ask("BLOCKED alice from=\(cursor)")) == ["u3", "u4"])
        #expect(client.ask("BLOCKED bob") == ["OK"])
    }

    @Test func `a watcher is not told of what a blocked user sends, until they are unblocked`() {
        let watcher = world.n1.connect()
        #expect(watcher.ask("WATCH alice").count == 1)
        block()
        _ = client.ask("SEND c bob id=b2 hi", "DELETE c e2 eve for=everyone")
        let heard = watcher.heard()
        #expect(values("kind", heard) == ["pin", "pin", "message"])
        #expect(values("from", heard) == ["bob"])
        _ = client.ask("UNBLOCKUSER alice eve", "SEND c eve id=e3 hi")
        #expect(values("id", watcher.heard()) == ["e3"])
        let late = world.n1.connect()
        _ = client.ask("BLOCKUSER alice eve")
        world.clock.advance(milliseconds: 5)
        #expect(late.ask("WATCH alice").count == 1)
        _ = client.ask("SEND c eve id=e4 hi", "SEND c bob id=b3 hi", "TYPING c eve on")
        #expect(values("id", late.heard()) == ["b3"])
    }

    @Test func `long histories of a blocked user are skipped, and counted as they are read`() {
        for number in 0..<150 {
            world.clock.advance(milliseconds: 1)
            let sender = number % 3 == 0 ? "bob" : "eve"
            _ = client.ask("SEND c \(sender) id=m\(number) text")
            if number == 60 { _ = client.ask("BLOCKUSER alice eve") }
        }
        let shown = ids("HISTORY c alice limit=1000")
        #expect(shown.count == 2 + 50 + 40)
        #expect(values("count", client.ask("UNREAD alice")) == ["\(shown.count)"])
        #expect(ids("HISTORY c alice limit=20") == shown.suffix(20))
        #expect(ids("HISTORY c alice before=\(shown[60]) limit=20") == shown[40..<60] + [])
    }
}

/// The same where the blocks are in shards of other nodes, and on two sides of a cut.
@Suite struct BlockClusterTests {
    private let world = World(replicas: .count(1), mayBlock: true)

    /// Returns a second node, which owns some of the shards by itself.
    private func joined() -> TestNode {
        let other = world.join("n3")
        world.live(milliseconds: 3_000, world.n1, other)
        let owners = world.n1.connect().ask("SHARDS")
        for name in ["n1", "n3"] { #expect(owners.contains { $0.contains("owners=\(name)") }) }
        return other
    }

    /// Returns the replies to a line, also those that come after other nodes were asked.
    private func ask(_ line: String, _ client: TestClient, _ other: TestNode) -> [String] {
        var replies = client.ask(line)
        for _ in 0..<4 {
            world.settle(world.n1, other)
            replies += client.heard()
        }
        return replies
    }

    @Test func `blocks hold for users of each shard, at each node`() {
        let other = joined()
        let clients = [world.n1.connect(), other.connect()]
        for number in 0..<8 {
            let (user, chat) = ("user\(number)", "chat\(number)")
            for line in [
                "CREATE \(chat) \(user),bob,eve", "SEND \(chat) eve id=e1 before",
                "BLOCKUSER \(user) eve",
            ] {
                let reply = ask(line, clients[number % 2], other).last
                #expect(reply?.hasPrefix("OK") == true)
            }
            world.clock.advance(milliseconds: 5)
            _ = ask("SEND \(chat) eve id=e2 after", clients[number % 2], other)
            for client in clients {
                let read = { (line: String) in self.ask(line, client, other) }
                #expect(values("id", read("HISTORY \(chat) \(user)")) == ["e1"])
                #expect(values("count", read("UNREAD \(user)")) == ["1"])
                #expect(values("unread", read("CHATS \(user)")) == ["1"])
                #expect(values("last", read("CHAT \(chat) \(user)")) == ["e1"])
                #expect(read("DELIVERED \(chat) \(user)") == ["OK unread=1"])
                let creation = read("CREATE other\(number) eve,\(user)")
                #expect(creation == ["ERR 403 You cannot add this user"])
            }
            for node in [world.n1, other] {
                let watcher = node.connect()
                #expect(ask("WATCH \(user)", watcher, other).count == 1)
                _ = ask("SEND \(chat) eve hi", clients[0], other)
                _ = ask("SEND \(chat) bob hi", clients[1], other)
                #expect(values("from", watcher.heard()) == ["bob"])
                watcher.session.assumeIsolated { $0.onClosed() }
            }
        }
    }

    @Test func `a token stands for a creation for which blocks were asked for`() throws {
        let other = joined()
        for number in 0..<12 {
            let client = world.n1.connect()
            #expect(ask("CREATE t\(number) alice,user\(number)", client, other) == ["OK"])
            let reply = ask("TOKEN", client, other).last ?? ""
            let text = String(reply.dropFirst("OK token=".count))
            let token = try Token(text: text)
            #expect(token.shards(of: 4).contains(ShardID(of: "t\(number)", count: 4)))
        }
    }

    @Test func `lines that follow a line whose blocks are asked for see its effects`() {
        let other = joined()
        for node in [world.n1, other] {
            let client = node.connect()
            for number in 0..<8 {
                let chat = "\(node.address.prefix(2))-\(number)"
                let replies = ask(
                    "CREATE \(chat) alice,user\(number)\nSEND \(chat) alice id=m hi\n"
                        + "UNREAD user\(number)\nREAD \(chat) user\(number)\n"
                        + "UNREAD user\(number)", client, other)
                #expect(replies.count == 6)
                #expect(values("total", replies).last == "0")
            }
        }
    }
}

/// Returns the values of a key in some lines, in order.
private func values(_ key: String, _ lines: [String]) -> [String] {
    lines.flatMap { line in
        line.split(separator: " ").filter { $0.hasPrefix("\(key)=") }
            .map { String($0.dropFirst(key.count + 1)) }
    }
}
