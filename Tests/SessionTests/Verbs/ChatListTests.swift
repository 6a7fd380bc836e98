import Node
import NodeKit
import StorePort
import Testing

@testable import Session

/// A user's list of conversations, as the line protocol prescribes it.
@Suite struct ChatListTests {
    private let world = World()
    private let client: TestClient

    init() { client = world.n1.connect() }

    private func ids(_ line: String) -> [String] {
        client.ask(line).compactMap { line in
            line.split(separator: " ").first { $0.hasPrefix("id=") }.map { String($0.dropFirst(3)) }
        }
    }

    @Test func `a line carries what a list shows`() {
        _ = client.ask("CREATE c bob,alice title=\"The room\"")
        world.clock.advance(milliseconds: 1_500)
        _ = client.ask("SEND c bob id=m see you")
        let head = "CHAT id=c title=\"The room\" unread=1 participants=alice,bob createdBy=bob "
        let line =
            head + "createdAt=2026-11-21T06:00:00.000Z "
            + "last=m lastFrom=bob lastAt=2026-11-21T06:00:01.500Z lastText=\"see you\""
        #expect(client.ask("CHATS alice") == [line, "OK"])
        #expect(client.ask("CHATS bob") == [line.replacing("unread=1", with: "unread=0"), "OK"])
        #expect(client.ask("CHATS carol", "CHATS alice show=all").count == 3)
        #expect(
            client.ask("CHATS", "CHATS alice show=some").map { $0.prefix(15) }
                == ["ERR 400 Missing", "ERR 400 show= i"])
    }

    @Test func `words find what title, participants and last text together contain`() {
        _ = client.ask("CREATE c1 alice,bob title=\"Große Straße\"", "CREATE c2 alice,carol")
        _ = client.ask("SEND c1 bob id=m1 Σίσυφος comes", "SEND c2 carol id=m2 Bob is late")
        #expect(ids("CHATS alice find=bob") == ["c1", "c2"])
        #expect(ids("CHATS alice find=\"COMES  STRASSE\"") == ["c1"])
        #expect(ids("CHATS alice find=σίσυφοσ") == ["c1"])
        #expect(ids("CHATS alice find=\"bob carol\"") == ["c2"])
        #expect(ids("CHATS alice find=\"bob strasse carol\"") == [])
        // Only the last text counts, and only what the list would show.
        _ = client.ask("SEND c1 bob id=m3 Photo type", "ARCHIVE c1 alice")
        #expect(ids("CHATS alice find=comes show=all") == [])
        #expect(ids("CHATS alice find=strasse") == [])
        #expect(ids("CHATS alice show=archived find=strasse") == ["c1"])
        #expect(
            client.ask("CHATS alice find=", "CHATS alice find=\" \"").map { $0.prefix(20) }
                == ["ERR 400 Empty find=;", "ERR 400 Empty find=;"])
    }

    @Test func `an empty conversation stands by its creation, without a title where it has none`() {
        _ = client.ask("CREATE c alice")
        #expect(
            client.ask("CHATS alice") == [
                "CHAT id=c unread=0 participants=alice createdBy=alice "
                    + "createdAt=2026-11-21T06:00:00.000Z lastText=\"No messages yet\"", "OK",
            ])
    }

    @Test func `the latest comes first, ties by id, over all shards`() {
        for name in ["e", "b", "d", "a", "c", "f"] { _ = client.ask("CREATE \(name) alice,bob") }
        #expect(ids("CHATS alice") == ["a", "b", "c", "d", "e", "f"])
        world.clock.advance(milliseconds: 10)
        _ = client.ask("SEND d bob id=m1 x")
        world.clock.advance(milliseconds: 10)
        _ = client.ask("SEND f bob id=m2 y", "CREATE g alice,bob")
        #expect(ids("CHATS alice") == ["f", "g", "d", "a", "b", "c", "e"])
        #expect(
            client.ask("UNREAD alice") == [
                "UNREAD conversation=d count=1", "UNREAD conversation=f count=1", "OK total=2",
            ])
        // A deletion for everyone removes the preview, and with it the place in the list.
        _ = client.ask("DELETE f m2 bob for=everyone")
        #expect(ids("CHATS alice") == ["g", "d", "a", "b", "c", "e", "f"])
    }

    @Test func `the preview is the newest message that this user sees`() {
        func text(_ user: String) -> String? {
            client.ask("CHATS \(user)").first.flatMap { line in
                line.firstRange(of: "lastText=").map { String(line[$0.upperBound...]) }
            }
        }
        _ = client.ask("CREATE c alice,bob")
        for (number, type) in ["text", "image", "voice", "system"].enumerated() {
            world.clock.advance(milliseconds: 1)
            _ = client.ask("SEND c alice id=m\(number) type=\(type) look")
        }
        #expect(text("bob") == "look")
        #expect(client.ask("DELETE c m3 bob") == ["OK"])
        #expect(text("bob") == "\"Voice message\"")
        #expect(text("alice") == "look")
        #expect(client.ask("DELETE c m2 alice for=everyone") == ["OK"])
        #expect(text("bob") == "Photo")
        #expect(client.ask("DELETE c m1 bob", "DELETE c m0 bob") == ["OK", "OK"])
        #expect(text("bob") == "\"No messages yet\"")
        #expect(client.ask("EDIT c m0 alice changed", "RESTORE c m0 bob").last == "OK")
        #expect(text("bob") == "changed")
    }

    @Test func `archived is for who archived alone, and still counts as unread`() {
        _ = client.ask("CREATE c alice,bob", "CREATE d alice,bob", "SEND c alice id=m x")
        #expect(client.ask("ARCHIVE c bob", "ARCHIVE c bob") == ["OK", "OK"])
        #expect(ids("CHATS bob") == ["d"])
        #expect(ids("CHATS bob show=archived") == ["c"])
        #expect(
            client.ask("CHATS bob show=archived").first?.contains("unread=1 archived=true") == true)
        #expect(ids("CHATS bob show=all") == ["c", "d"])
        #expect(ids("CHATS alice") == ["c", "d"])
        #expect(client.ask("UNREAD bob").last == "OK total=1")
        #expect(
            client.ask("UNARCHIVE c bob", "UNARCHIVE c bob", "UNARCHIVE d bob") == [
                "OK", "OK", "OK",
            ])
        #expect(ids("CHATS bob") == ["c", "d"])
        #expect(
            client.ask("ARCHIVE x bob", "ARCHIVE c dan", "UNARCHIVE x bob", "UNARCHIVE c dan") == [
                "ERR 404 Conversation not found", "ERR 403 Only participants can do this",
                "ERR 404 Conversation not found", "ERR 403 Only participants can do this",
            ])
    }

    @Test func `a list waits until all that it shows is on disk, in every shard`() {
        world.n1.store.assumeIsolated { $0.hold(true) }
        let reader = world.n1.connect()
        // Some of the four shards wait for one commit, others for the next.
        client.say("CREATE a alice", "CREATE b alice", "CREATE c alice", "CREATE d alice")
        world.n1.turn()
        client.say("CREATE e alice")
        reader.say("CHATS alice", "UNREAD alice")
        world.n1.turn()
        world.n1.complete()
        #expect(client.heard() == ["OK", "OK", "OK", "OK"])
        #expect(reader.heard().isEmpty)
        world.n1.complete()
        #expect(client.heard() == ["OK"])
        #expect(
            reader.heard().map { $0.prefix(9) } == [
                "CHAT id=a", "CHAT id=b", "CHAT id=c", "CHAT id=d", "CHAT id=e", "OK",
                "OK total=",
            ])
    }

    @Test func `what waits for the disk shows in place of what is there`() {
        _ = client.ask("CREATE c alice,bob", "CREATE d alice,bob")
        for number in 1...3 {
            world.clock.advance(milliseconds: 1)
            _ = client.ask("SEND c bob id=m\(number) text")
        }
        _ = client.ask("PIN c m1 bob", "PIN c m2 bob", "READ c alice m1")
        world.n1.store.assumeIsolated { $0.hold(true) }
        world.clock.advance(milliseconds: 1)
        client.say(
            "UNPIN c m1 bob", "PIN c m3 bob", "LEAVECHAT d alice", "READ c alice m2",
            "ARCHIVE c alice", "DELETE c m3 alice", "PINNED c bob", "CHATS alice show=archived",
            "CHATS alice", "UNREAD alice", "HISTORY c bob after=m1 limit=1")
        world.n1.turn()
        #expect(client.heard().isEmpty)
        world.n1.complete()
        let lines = client.heard()
        #expect(
            lines.prefix(6).map { $0.prefix(11) } == ["OK", "OK", "OK", "OK unread=1", "OK", "OK"])
        #expect(
            lines.dropFirst(6).map { line in
                line.split(separator: " ").filter { !$0.hasPrefix("seq=") }.prefix(3)
                    .joined(separator: " ")
            } == [
                "MESSAGE id=m3 from=bob", "MESSAGE id=m2 from=bob", "OK", "CHAT id=c unread=0",
                "OK", "OK", "OK total=0", "MESSAGE id=m2 from=bob", "OK",
            ])
        #expect(lines.first { $0.hasPrefix("CHAT") }?.contains("last=m2") == true)
        #expect(lines.last { $0.hasPrefix("MESSAGE") }?.contains("readBy=alice") == true)
    }

    @Test func `a list whose commit fails is refused once`() {
        _ = client.ask("CREATE c alice,bob")
        world.n1.store.assumeIsolated { $0.hold(true) }
        client.say("CREATE d alice", "CREATE e alice", "CHATS alice")
        world.n1.turn()
        world.n1.complete(failing: .full)
        #expect(client.heard().map { $0.prefix(7) } == ["ERR 503", "ERR 503", "ERR 503"])
        world.n1.store.assumeIsolated { $0.hold(false) }
        #expect(ids("CHATS alice") == ["c"])
    }
}
