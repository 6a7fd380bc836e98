import Node
import NodeKit
import Testing

@testable import Session

/// Profiles and action items, as the line protocol prescribes them.
@Suite struct OwnVerbTests {
    private let world = World()
    private let client: TestClient

    init() { client = world.n1.connect() }

    @Test func `a profile is set field by field, and an empty value clears one`() {
        #expect(client.ask("PROFILE alice") == ["ERR 404 Profile not found"])
        #expect(client.ask("PROFILE alice name=\"Alice B\" email=a@example.org") == ["OK"])
        world.clock.advance(milliseconds: 1_500)
        #expect(client.ask("PROFILE alice photo=p.png email=") == ["OK"])
        #expect(
            client.ask("PROFILE alice") == [
                "PROFILE user=alice name=\"Alice B\" photo=p.png "
                    + "createdAt=2026-11-21T06:00:00.000Z", "OK",
            ])
    }

    @Test func `an action item is added, changed, done and deleted`() {
        #expect(
            client.ask(
                "ACTION ADD alice id=i1 chat=c message=m due=2026-12-01T10:00:00+01:00 "
                    + "priority=high Buy  milk") == ["OK id=i1"])
        let line =
            "ACTION id=i1 due=2026-12-01T09:00:00.000Z priority=high chat=c message=m "
            + "title=\"Buy  milk\""
        #expect(client.ask("ACTIONS alice") == [line, "OK"])
        #expect(client.ask("action done alice i1") == ["OK id=i1"])
        #expect(
            client.ask("ACTIONS alice").first
                == line.replacing("id=i1", with: "id=i1 done=true"))
        #expect(
            client.ask("ACTION SHOW alice i1") == client.ask("ACTIONS alice"),
            "the same line, done")
        #expect(client.ask("ACTION SHOW bob i1") == ["ERR 404 Action item not found"])
        #expect(client.ask("ACTION UNDONE alice i1") == ["OK id=i1"])
        #expect(client.ask("ACTION EDIT alice i1 due= priority= title=Tea") == ["OK id=i1"])
        #expect(
            client.ask("ACTIONS alice") == ["ACTION id=i1 chat=c message=m title=Tea", "OK"])
        #expect(client.ask("ACTION DELETE alice i1", "ACTION DELETE alice i1").count == 2)
        #expect(client.ask("ACTIONS alice") == ["OK"])
        #expect(client.ask("ACTION SHOW alice i1") == ["ERR 404 Action item not found"])
        #expect(
            client.ask("ACTION DONE alice i1", "ACTION EDIT alice i1 title=x")
                == Array(repeating: "ERR 404 Action item not found", count: 2))
    }

    @Test func `the same item again is the same, a different one is refused`() {
        let add = "ACTION ADD alice id=i1 due=2026-12-01T10:00:00Z Buy"
        #expect(client.ask(add, "ACTION DONE alice i1", add).last == "OK id=i1")
        #expect(client.ask("ACTION EDIT alice i1 title=Sell", add).last == "OK id=i1")
        for other in [
            "ACTION ADD alice id=i1 Buy",
            "ACTION ADD alice id=i1 due=2026-12-01T10:00:00Z priority=low Buy",
        ] {
            #expect(client.ask(other).first?.hasPrefix("ERR 409 Action item exists") == true)
        }
        #expect(
            client.ask("ACTION DONE bob i1", "ACTION DELETE bob i1")
                == Array(repeating: "ERR 403 Only the owner can do this", count: 2))
        #expect(client.ask("ACTION DONE bob i2") == ["ERR 404 Action item not found"])
        let minted = client.ask("ACTION ADD bob Something")
        #expect(minted.first?.hasPrefix("OK id=") == true)
        #expect(client.ask("ACTIONS bob").count == 2)
    }

    @Test func `an id is the user's own`() {
        #expect(client.ask("ACTION ADD alice id=i1 Buy", "ACTION ADD bob id=i1 Sell").count == 2)
        #expect(client.ask("ACTION DONE bob i1", "ACTION DELETE alice i1").count == 2)
        #expect(client.ask("ACTIONS bob") == ["ACTION id=i1 done=true title=Sell", "OK"])
        #expect(client.ask("ACTIONS alice") == ["OK"])
        #expect(client.ask("ACTION SHOW bob i1").count == 2)
        #expect(client.ask("ACTION ADD alice id=i1 Rent", "ACTIONS alice").last == "OK")
    }

    @Test func `items of every shard stand by due time, those without one last`() {
        for (id, due) in [("a", ""), ("z", "due=2026-12-01T00:00:00Z"), ("b", "")] {
            _ = client.ask("ACTION ADD alice id=\(id) \(due) x")
        }
        _ = client.ask("ACTION ADD alice id=y due=2026-12-02T00:00:00Z x", "ACTION ADD bob x")
        let ids = client.ask("ACTIONS alice").dropLast().map {
            $0.split(separator: " ")[1].dropFirst("id=".count)
        }
        #expect(ids == ["z", "y", "a", "b"])
    }
}

/// A conversation removed from one user's view, and the sample data.
@Suite struct HideChatTests {
    private let world = World()
    private let client: TestClient

    init() {
        client = world.n1.connect()
        _ = client.ask("CREATE c alice,bob", "SEND c bob id=m1 one", "PIN c m1 bob")
    }

    @Test func `it goes from its user's list and views alone`() {
        #expect(client.ask("HIDECHAT c alice") == ["OK"])
        for line in ["CHATS alice show=all", "HISTORY c alice", "PINNED c alice"] {
            #expect(client.ask(line) == ["OK"])
        }
        #expect(client.ask("UNREAD alice") == ["OK total=0"])
        #expect(client.ask("CHAT c alice").first?.hasSuffix(" hidden=true") == true)
        #expect(client.ask("CHAT c bob").first?.contains("hidden=") == false)
        #expect(client.ask("HISTORY c bob").count == 2)
        #expect(client.ask("CHATS bob").first?.contains("last=m1") == true)
        #expect(client.ask("PINNED c bob").count == 2)
    }

    @Test func `what comes after brings it back, with only that`() {
        _ = client.ask("EDIT c m1 bob edited", "HIDECHAT c alice", "EDIT c m1 bob again")
        #expect(client.ask("HISTORY c alice") == ["OK"])
        _ = client.ask("SEND c bob id=m2 two")
        #expect(client.ask("HISTORY c alice").count == 2)
        #expect(client.ask("CHATS alice").first?.contains("unread=1 ") == true)
        #expect(client.ask("CHAT c alice").first?.contains("hidden=") == false)
        #expect(client.ask("READ c alice") == ["OK unread=0"])
        // A conversation without visible messages is not listed; a placeholder would be visible.
        _ = client.ask("DELETE c m2 alice")
        #expect(client.ask("CHATS alice", "HISTORY c alice") == ["OK", "OK"])
    }

    @Test func `who is invited again sees everything, and an empty conversation is listed`() {
        _ = client.ask("HIDECHAT c alice", "LEAVECHAT c alice", "INVITE c bob alice")
        #expect(client.ask("HISTORY c alice").count == 2)
        _ = client.ask("CREATE d alice")
        #expect(client.ask("CHATS alice").count == 3)
        _ = client.ask("HIDECHAT d alice")
        #expect(client.ask("CHATS alice").count == 2)
        #expect(client.ask("HIDECHAT nosuch alice") == ["ERR 404 Conversation not found"])
        #expect(client.ask("HIDECHAT d bob") == ["ERR 403 Only participants can do this"])
    }

    @Test func `sample data is added once, and stays as it was changed`() {
        #expect(client.ask("SEED", "CHATS alice").count == 5)
        let before = client.ask("DIGEST")
        #expect(client.ask("SEED") == ["OK"])
        #expect(client.ask("DIGEST") == before)
        #expect(client.ask("ACTIONS alice").count + client.ask("ACTIONS bob").count == 5)
        #expect(client.ask("HISTORY seed-weekend bob").count > 3)
        #expect(client.ask("PROFILE bob").first?.contains("email=bob@example.org") == true)
        _ = client.ask("PROFILE alice name=Al", "ACTION EDIT alice seed-item-1 title=x")
        #expect(client.ask("SEED", "PROFILE alice").dropFirst().first?.contains("name=Al ") == true)
    }

    @Test func `what is taken otherwise is passed over`() {
        _ = client.ask("CREATE seed-project carol", "ACTION ADD carol id=seed-item-3 mine")
        #expect(client.ask("SEED") == ["OK"])
        #expect(client.ask("HISTORY seed-project alice").first?.hasPrefix("ERR 403") == true)
        #expect(client.ask("ACTIONS carol").count == 2)
        #expect(client.ask("HISTORY seed-weekend alice").count > 3)
    }
}
