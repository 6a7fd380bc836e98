import NodeKit
import Testing

@testable import Session

/// Every verb of chat, with the replies that the line protocol prescribes.
@Suite struct ChatVerbTests {
    private let world = World(editWindowMilliseconds: 60_000)
    private let client: TestClient
    private let time = "2026-11-21T06:00:00.000Z"
    /// The second timestamp of that millisecond.
    private let place = "01a1fcb0af000001"

    init() {
        client = world.n1.connect()
        _ = client.ask("CREATE c alice,bob title=\"The room\"")
    }

    @Test func `a conversation is created once, and the same again is the same`() {
        let same = client.ask(
            "CREATE c alice,bob title=\"The room\"", "create c alice,bob,bob title=\"The room\"")
        #expect(same == ["OK", "OK"])
        let others = client.ask(
            "CREATE c bob,alice title=\"The room\"", "CREATE c alice title=\"The room\"",
            "CREATE c alice,bob")
        let sentence = "ERR 409 Conversation exists with another creator, users or title"
        #expect(others == Array(repeating: sentence, count: 3))
        let bad = client.ask("CREATE c alice,,bob", "CREATE c alice,b!b", "CREATE c")
        #expect(
            bad.map { $0.prefix(32) } == [
                "ERR 400 each of <user>[,<user>…]", "ERR 400 each of <user>[,<user>…]",
                "ERR 400 Missing <user>[,<user>…]",
            ])
    }

    @Test func `a message is sent once, and the same again has the first time`() {
        #expect(
            client.ask("SEND c alice id=m hello") == ["OK id=m at=\(time) replicas=1/1"])
        world.clock.advance(milliseconds: 5_000)
        #expect(
            client.ask(
                "SEND c alice id=m hello", "SEND c bob id=m hello", "SEND c alice id=m other",
                "SEND c alice id=m type=image hello", "SEND x alice hello", "SEND c carl hello",
                "SEND c alice  ", "SEND c alice", "SEND c alice \u{2003}") == [
                    "OK id=m at=\(time) replicas=1/1",
                    "ERR 409 Message exists with another sender or text",
                    "ERR 409 Message exists with another sender or text",
                    "OK id=m at=\(time) replicas=1/1",
                    "ERR 404 Conversation not found", "ERR 403 Only participants can do this",
                    "ERR 400 Message cannot be empty", "ERR 400 Message cannot be empty",
                    "ERR 400 Message cannot be empty",
                ])
        #expect(client.ask("HISTORY c alice").count == 2)
    }

    @Test func `a message without an id is given one`() {
        let first = client.ask("SEND c alice hello").compactMap(id)
        let second = client.ask("SEND c alice hello").compactMap(id)
        #expect(first.count == 1 && second.count == 1 && first != second)
        #expect(client.ask("HISTORY c bob").compactMap(id) == first + second)
    }

    @Test func `a repeated sending of a deleted message is compared by its sender alone`() {
        _ = client.ask("SEND c alice id=m hello", "DELETE c m alice for=everyone")
        #expect(
            client.ask("SEND c alice id=m other", "SEND c bob id=m hello").map { $0.prefix(7) }
                == ["OK id=m", "ERR 409"])
        #expect(client.ask("HISTORY c bob").first?.contains("[Message deleted]") == true)
    }

    @Test func `history is a page of the newest, or just before or after a message`() {
        for number in 1...9 {
            world.clock.advance(milliseconds: 1)
            _ = client.ask("SEND c alice id=m\(number) text")
        }
        func ids(_ line: String) -> [String] { client.ask(line).compactMap(id) }
        #expect(ids("HISTORY c bob limit=2") == ["m8", "m9"])
        #expect(ids("HISTORY c bob limit=2 before=m8") == ["m6", "m7"])
        #expect(ids("HISTORY c bob limit=2 after=m2") == ["m3", "m4"])
        #expect(ids("HISTORY c bob before=m1") == [])
        #expect(ids("HISTORY c bob after=m9") == [])
        _ = client.ask("DELETE c m7 bob")
        #expect(ids("HISTORY c bob limit=3") == ["m6", "m8", "m9"])
        #expect(ids("HISTORY c alice limit=3") == ["m7", "m8", "m9"])
        #expect(ids("HISTORY c bob limit=2 before=m8") == ["m5", "m6"])
        #expect(ids("HISTORY c bob limit=1 before=m7") == ["m6"])
        #expect(
            client.ask(
                "HISTORY c bob before=m1 after=m2", "HISTORY c bob limit=0",
                "HISTORY c bob limit=1001", "HISTORY c bob before=none", "HISTORY c carl",
                "HISTORY x bob", "HISTORY c carl before=none"
            ).map { $0.prefix(31) } == [
                "ERR 400 before= and after= excl", "ERR 400 limit= is a number from",
                "ERR 400 limit= is a number from", "ERR 404 Message not found",
                "ERR 403 Only participants can d", "ERR 404 Conversation not found",
                "ERR 403 Only participants can d",
            ])
    }

    @Test func `history holds what is on its way to the disk among what is there`() {
        for number in 1...4 {
            world.clock.advance(milliseconds: 1)
            _ = client.ask("SEND c alice id=m\(number) text")
        }
        world.n1.store.assumeIsolated { $0.hold(true) }
        world.clock.advance(milliseconds: 1)
        client.say(
            "SEND c alice id=m5 text", "EDIT c m2 alice changed", "DELETE c m3 bob",
            "HISTORY c bob limit=3", "HISTORY c bob limit=2 before=m5",
            "HISTORY c bob limit=2 after=m1", "HISTORY c bob after=m4")
        world.n1.turn()
        client.say("SEND c alice id=m6 text", "HISTORY c bob limit=2")
        world.n1.turn()
        #expect(client.heard().isEmpty)
        world.n1.complete()
        #expect(
            client.heard().filter { !$0.hasPrefix("OK id") }.map { id($0) ?? String($0.prefix(2)) }
                == [
                    "OK", "OK", "m2", "m4", "m5", "OK", "m2", "m4", "OK", "m2", "m4", "OK", "m5",
                    "OK",
                ])
        world.n1.complete()
        #expect(client.heard().compactMap(id) == ["m6", "m5", "m6"])
    }

    @Test func `a message line carries what applies`() {
        _ = client.ask("SEND c alice id=m type=action item=i1 -- e=mc2 \\\"so\\n")
        world.clock.advance(milliseconds: 1_500)
        _ = client.ask("EDIT c m alice see you")
        #expect(
            client.ask("HISTORY c bob") == [
                "MESSAGE id=m seq=\(place) from=alice at=\(time) type=action "
                    + "text=\"see you\" item=i1 edited=2026-11-21T06:00:01.500Z", "OK",
            ])
    }

    @Test func `an edit is checked in the contract's order`() {
        _ = client.ask("SEND c alice id=m hello")
        let refused = "ERR 403 You can only edit your own messages within 15 minutes"
        #expect(
            client.ask(
                "EDIT c m alice  ", "EDIT x m alice text", "EDIT c none carl text",
                "EDIT c none alice text", "EDIT c m bob text", "EDIT c m alice hello",
                "EDIT c m alice text") == [
                    "ERR 400 Message cannot be empty", "ERR 404 Message not found",
                    "ERR 403 Only participants can do this", "ERR 404 Message not found", refused,
                    "OK at=\(time)", "OK at=\(time)",
                ])
        world.clock.advance(milliseconds: 59_999)
        #expect(client.ask("EDIT c m alice last").first?.hasPrefix("OK at=") == true)
        world.clock.advance(milliseconds: 1)
        #expect(client.ask("EDIT c m alice late", "EDIT c m alice last") == [refused, refused])
    }

    @Test func `every text that a message has had is told, and none of a deleted one`() {
        _ = client.ask(
            "SEND c alice id=m A", "EDIT c m alice B", "EDIT c m alice B", "EDIT c m alice A",
            "EDIT c m alice \"q\" w")
        let lines = client.ask("EDITS c m bob")
        #expect(
            lines.map { $0.split(separator: " ", maxSplits: 2).last ?? "" } == [
                "text=A", "text=B", "text=A", #"text="\"q\" w""#, "OK",
            ])
        #expect(
            client.ask("EDITS c none bob", "EDITS x m bob", "EDITS c m carl") == [
                "ERR 404 Message not found", "ERR 404 Message not found",
                "ERR 403 Only participants can do this",
            ])
        #expect(client.ask("DELETE c m alice for=everyone", "EDITS c m bob") == ["OK", "OK"])
    }

    @Test func `what is deleted for me is mine to restore`() {
        _ = client.ask("SEND c alice id=m hello", "DELETE c m alice", "DELETE c m alice for=me")
        #expect(client.ask("HISTORY c alice") == ["OK"])
        #expect(client.ask("HISTORY c bob").first?.hasSuffix("deletedBy=alice") == true)
        #expect(
            client.ask("EDIT c m alice text").first
                == "ERR 403 You can only edit your own messages within 15 minutes")
        #expect(client.ask("EDITS c m alice").count == 2)
        #expect(client.ask("RESTORE c m alice", "RESTORE c m alice") == ["OK", "OK"])
        #expect(client.ask("HISTORY c alice").first?.contains("text=hello") == true)
        #expect(client.ask("EDIT c m alice text").first?.hasPrefix("OK at=") == true)
    }

    @Test func `what is deleted for everyone shows its place to all but who deleted it`() {
        _ = client.ask("SEND c alice id=m hello")
        #expect(
            client.ask(
                "DELETE c m bob for=everyone", "DELETE c none bob for=everyone",
                "DELETE c m carl for=everyone", "DELETE c m alice for=all") == [
                    "ERR 403 Only the sender can delete for everyone", "ERR 404 Message not found",
                    "ERR 403 Only participants can do this",
                    "ERR 400 for= is one of me|everyone; usage: DELETE <conversation> <message> "
                        + "<user> [for=me|everyone]",
                ])
        #expect(
            client.ask("DELETE c m alice for=everyone", "DELETE c m alice for=everyone")
                == ["OK", "OK"])
        let placeholder =
            "MESSAGE id=m seq=\(place) from=alice at=\(time) type=text text=\"[Message deleted]\" "
            + "deletedForEveryone=true"
        #expect(client.ask("HISTORY c bob") == [placeholder + " deletedBy=alice", "OK"])
        #expect(client.ask("HISTORY c alice") == ["OK"])
        #expect(client.ask("RESTORE c m alice") == ["OK"])
        #expect(client.ask("HISTORY c alice") == [placeholder, "OK"])
        #expect(client.ask("EDIT c m alice text").first?.hasPrefix("ERR 403 You can") == true)
    }

    @Test func `what everybody deleted for themselves is as deleted, while that holds`() {
        _ = client.ask("SEND c alice id=m hello", "DELETE c m alice", "DELETE c m bob")
        #expect(client.ask("EDITS c m bob", "RESTORE c m bob") == ["OK", "OK"])
        #expect(client.ask("HISTORY c bob").first?.contains("text=hello") == true)
    }
}
