import NodeKit
import Placement
import Testing

@testable import Session

/// One participant's view of one conversation, as the line protocol prescribes it.
@Suite struct ConversationVerbTests {
    private let world = World()
    private let client: TestClient
    private static let notThere = "ERR 404 Conversation not found"
    private static let notIn = "ERR 403 Only participants can do this"

    init() {
        client = world.n1.connect()
        _ = client.ask("CREATE c alice,bob,carol title=\"The room\"")
    }

    private func ask(_ line: String, after milliseconds: UInt64 = 1) -> [String] {
        world.clock.advance(milliseconds: milliseconds)
        return client.ask(line)
    }

    @Test func `CHAT shows the line of CHATS, and who has archived it`() {
        _ = ask("SEND c alice id=m hello")
        let line = client.ask("CHATS bob").first ?? ""
        #expect(client.ask("CHAT c bob") == [line, "OK"])
        #expect(line.contains(" participants=alice,bob,carol createdBy=alice createdAt=2026-"))
        _ = client.ask("ARCHIVE c carol", "ARCHIVE c bob", "ARCHIVE c alice", "LEAVECHAT c alice")
        let archived = client.ask("CHATS bob show=archived").first ?? ""
        #expect(archived.contains(" archived=true participants=bob,carol "))
        #expect(client.ask("CHAT c bob") == [archived + " archivedBy=bob,carol", "OK"])
        _ = client.ask("UNARCHIVE c bob", "UNARCHIVE c carol")
        #expect(client.ask("CHAT c bob").first?.contains("archived") == false)
        #expect(client.ask("CHAT c alice", "CHAT x alice") == [Self.notIn, Self.notThere])
    }

    @Test func `MESSAGE shows the line of HISTORY, to whom HISTORY shows it`() {
        let here = world.n1.connect()
        let missing = ["ERR 404 Message not found"]
        _ = here.ask(
            "CREATE m alice,bob", "SEND m alice id=m1 one", "SEND m bob id=m2 two",
            "EDIT m m1 alice uno", "PIN m m1 bob", "READ m bob m1")
        #expect(here.ask("MESSAGE m m1 bob") == [here.ask("HISTORY m bob")[0], "OK"])
        #expect(here.ask("MESSAGE m m3 bob") == missing)
        #expect(here.ask("MESSAGE m m1 carol") == ["ERR 403 Only participants can do this"])
        #expect(here.ask("MESSAGE x m1 bob") == ["ERR 404 Conversation not found"])
        #expect(here.ask("DELETE m m1 bob", "MESSAGE m m1 bob") == ["OK"] + missing)
        #expect(here.ask("MESSAGE m m1 alice")[0].contains("text=uno"))
        #expect(here.ask("BLOCKUSER bob alice", "RESTORE m m1 bob") == ["OK", "OK"])
        #expect(here.ask("SEND m alice id=m4 four", "MESSAGE m m4 bob").last == missing[0])
        #expect(here.ask("HIDECHAT m alice", "MESSAGE m m2 alice") == ["OK"] + missing)
    }

    @Test func `CHAT shows what is hidden, without what is hidden of it`() {
        _ = client.ask("SEND c alice id=m hello", "HIDECHAT c bob")
        #expect(client.ask("CHATS bob") == ["OK"])
        let line = client.ask("CHAT c bob").first ?? ""
        #expect(line.contains(" unread=0 "))
        #expect(line.hasSuffix(" lastText=\"No messages yet\" hidden=true"))
    }

    @Test func `MARKS tells up to where each has read, and since when`() {
        for number in 1...3 { _ = ask("SEND c alice id=m\(number) text") }
        #expect(client.ask("MARKS c alice") == ["OK"])
        _ = ask("DELIVERED c carol m3", after: 10)
        _ = ask("READ c carol m1", after: 10)
        _ = ask("READ c bob m2", after: 10)
        let carol =
            "MARK user=carol read=m1 readAt=2026-11-21T06:00:00.023Z delivered=m3 "
            + "deliveredAt=2026-11-21T06:00:00.013Z"
        let bob = "MARK user=bob read=m2 readAt=2026-11-21T06:00:00.033Z"
        #expect(client.ask("MARKS c alice") == [bob, carol, "OK"])
        // Neither a repetition nor an earlier message moves a mark, or its time.
        _ = ask("READ c bob m2", after: 10)
        _ = ask("READ c bob m1", after: 10)
        #expect(client.ask("MARKS c alice") == [bob, carol, "OK"])
        _ = ask("READ c bob", after: 10)
        #expect(
            client.ask("MARKS c bob")
                == ["MARK user=bob read=m3 readAt=2026-11-21T06:00:00.063Z", carol, "OK"])
        _ = client.ask("LEAVECHAT c bob")
        #expect(client.ask("MARKS c carol") == [carol, "OK"])
        #expect(client.ask("MARKS c bob", "MARKS x bob") == [Self.notIn, Self.notThere])
    }

    @Test func `CHANGES tells who joined and left, the latest first`() {
        // Those who were in from the beginning have not joined.
        #expect(client.ask("CHANGES c alice") == ["OK"])
        _ = ask("INVITE c alice dave")
        _ = ask("INVITE c bob dave", after: 10)
        _ = ask("LEAVECHAT c dave", after: 10)
        _ = ask("INVITE c bob dave", after: 10)
        func joined(_ by: String, _ time: String) -> String {
            "CHANGE kind=joined user=dave by=\(by) at=2026-11-21T06:00:00.\(time)Z"
        }
        let left = "CHANGE kind=left user=dave by=dave at=2026-11-21T06:00:00.021Z"
        let all = [joined("bob", "031"), left, joined("alice", "001")]
        #expect(client.ask("CHANGES c alice") == all + ["OK"])
        #expect(client.ask("CHANGES c dave limit=1") == [all[0], "OK"])
        #expect(
            client.ask("CHANGES c alice limit=101")
                == [
                    "ERR 400 limit= is a number from 1 to 100; usage: CHANGES <conversation> "
                        + "<user> [limit=50]"
                ])
        #expect(client.ask("CHANGES c eve", "CHANGES x alice") == [Self.notIn, Self.notThere])
        // What a user has hidden stays hidden; what comes later is shown.
        _ = ask("HIDECHAT c alice", after: 10)
        #expect(client.ask("CHANGES c alice") == ["OK"])
        #expect(client.ask("CHANGES c bob") == all + ["OK"])
        _ = ask("LEAVECHAT c dave", after: 10)
        #expect(client.ask("CHANGES c alice").count == 2)
    }

    @Test func `a node that holds nothing shows the same`() {
        let world = World(replicas: .count(1))
        let other = world.join("n2")
        let clients = [world.n1.connect(), other.connect()]
        func all(_ client: TestClient) -> [String] {
            client.feed(
                "CHAT c bob\nMARKS c bob\nDEVICES bob\nMESSAGE c m bob\nACTION SHOW bob i\n")
            world.settle(world.n1, other)
            return client.heard()
        }
        clients[0].feed(
            "CREATE c alice,bob\nSEND c alice id=m hi\nREAD c bob\nARCHIVE c bob\n"
                + "DEVICE ADD bob phone token=t\nACTION ADD bob id=i t\n")
        world.settle(world.n1, other)
        _ = clients[0].heard()
        let replies = clients.map(all)
        #expect(replies[0].count == 10 && replies[0] == replies[1])
    }
}
