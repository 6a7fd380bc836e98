import NodeKit
import Testing

@testable import Session

/// The participants of a conversation and their own states, as the line protocol prescribes them.
@Suite struct ParticipationTests {
    private let world = World()
    private let client: TestClient
    private static let notThere = "ERR 404 Conversation not found"
    private static let notIn = "ERR 403 Only participants can do this"
    private static let noMessage = "ERR 404 Message not found"

    init() {
        client = world.n1.connect()
        _ = client.ask("CREATE c alice,bob title=\"The room\"")
    }

    private func send(_ numbers: ClosedRange<Int>, from user: String = "alice") {
        for number in numbers {
            world.clock.advance(milliseconds: 1)
            _ = client.ask("SEND c \(user) id=m\(number) text \(number)")
        }
    }

    @Test func `who is invited takes part, also when already in`() {
        #expect(client.ask("SEND c carol hello") == [Self.notIn])
        #expect(client.ask("INVITE c alice carol", "INVITE c carol carol") == ["OK", "OK"])
        #expect(client.ask("SEND c carol hello").first?.hasPrefix("OK id=") == true)
        #expect(
            client.ask(
                "INVITE c dan erin", "INVITE x alice carol", "INVITE c alice", "INVITE c alice d/n"
            ).map { $0.prefix(31) } == [
                "ERR 403 Only participants can d", "ERR 404 Conversation not found",
                "ERR 400 Missing <user>; usage: ", "ERR 400 <user> is 1-64 of A-Z a",
            ])
        #expect(client.ask("CREATE c alice,bob title=\"The room\"") == ["OK"])
    }

    @Test func `who left is out, and after the last one everybody is`() {
        #expect(client.ask("LEAVECHAT c bob", "LEAVECHAT c bob") == ["OK", Self.notIn])
        #expect(client.ask("LEAVECHAT x bob", "HISTORY c bob") == [Self.notThere, Self.notIn])
        #expect(client.ask("LEAVECHAT c alice") == ["OK"])
        #expect(
            client.ask(
                "SEND c alice hello", "HISTORY c alice", "INVITE c alice alice", "READ c alice",
                "ARCHIVE c alice", "PINNED c alice")
                == Array(repeating: Self.notIn, count: 6))
        #expect(client.ask("CREATE c alice,bob title=\"The room\"") == ["OK"])
        #expect(client.ask("CHATS alice", "UNREAD alice") == ["OK", "OK total=0"])
    }

    @Test func `who asks again to leave has left, whoever comes and goes meanwhile`() {
        let again = "LEAVECHAT c bob again=true"
        #expect(client.ask(again, again) == ["OK", "OK"])
        #expect(client.ask("LEAVECHAT c bob", "HISTORY c bob") == [Self.notIn, Self.notIn])
        #expect(client.ask("LEAVECHAT c carol again=true") == [Self.notIn])
        #expect(client.ask("LEAVECHAT x bob again=true") == [Self.notThere])
        #expect(client.ask("INVITE c alice bob", again) == ["OK", "OK"])
        #expect(client.ask("HISTORY c bob") == [Self.notIn])
    }

    @Test func `who is invited again finds everything unread, whatever they had read`() {
        send(1...3)
        #expect(client.ask("READ c bob", "UNREAD bob") == ["OK unread=0", "OK total=0"])
        #expect(client.ask("LEAVECHAT c bob", "INVITE c alice bob") == ["OK", "OK"])
        #expect(client.ask("UNREAD bob") == ["UNREAD conversation=c count=3", "OK total=3"])
        #expect(client.ask("HISTORY c alice").first?.contains("readBy") == false)
        #expect(client.ask("READ c bob m1") == ["OK unread=2"])
        #expect(
            client.ask("HISTORY c alice").map { $0.contains("readBy=bob") }.prefix(2) == [
                true, false,
            ])
    }

    @Test func `pins show who pinned and when, and another may take over`() {
        send(1...2)
        let at = "2026-11-21T06:00:00.002Z"
        #expect(client.ask("PIN c m1 bob", "PIN c m1 bob") == ["OK", "OK"])
        #expect(
            client.ask("HISTORY c alice").first?.hasSuffix("pinnedBy=bob pinnedAt=\(at)") == true)
        world.clock.advance(milliseconds: 5)
        #expect(client.ask("PIN c m2 bob", "PIN c m1 bob").last == "OK")
        #expect(client.ask("PINNED c bob").map(id) == ["m2", "m1", nil])
        world.clock.advance(milliseconds: 5)
        #expect(client.ask("PIN c m1 alice") == ["OK"])
        #expect(client.ask("PINNED c bob").map(id) == ["m1", "m2", nil])
        #expect(client.ask("PINNED c bob").first?.contains("pinnedBy=alice") == true)
        #expect(
            client.ask("UNPIN c m1 bob", "UNPIN c m1 bob", "UNPIN c m2 bob") == ["OK", "OK", "OK"])
        #expect(client.ask("PINNED c bob") == ["OK"])
        #expect(client.ask("HISTORY c alice").first?.contains("pinned") == false)
    }

    @Test func `what is deleted is not among the pins, for everyone or for me`() {
        send(1...3)
        _ = client.ask("PIN c m1 alice", "PIN c m2 alice", "PIN c m3 alice")
        _ = client.ask("DELETE c m1 bob", "DELETE c m2 alice for=everyone")
        #expect(client.ask("PINNED c bob").compactMap(id) == ["m3"])
        #expect(client.ask("PINNED c alice").compactMap(id) == ["m3", "m1"])
        #expect(client.ask("DELETE c m1 alice", "PINNED c alice").compactMap(id) == ["m3"])
        #expect(client.ask("RESTORE c m1 bob", "PINNED c bob").compactMap(id) == ["m3", "m1"])
        #expect(
            client.ask(
                "PIN c m2 bob", "UNPIN c m2 bob", "PIN c none bob", "PIN x m1 bob", "PIN c m1 dan",
                "UNPIN c none bob", "PINNED x bob", "PINNED c dan") == [
                    "ERR 409 Message is deleted for everyone", "OK", Self.noMessage,
                    Self.noMessage, Self.notIn, Self.noMessage, Self.notThere, Self.notIn,
                ])
    }

    @Test func `reading goes forward, and shows to the others`() {
        send(1...4)
        #expect(
            client.ask("READ c bob m2", "READ c bob m1", "READ c bob m2")
                == Array(repeating: "OK unread=2", count: 3))
        #expect(client.ask("DELIVERED c bob m3") == ["OK unread=2"])
        let lines = client.ask("HISTORY c alice")
        #expect(lines.map { $0.contains("readBy=bob") } == [true, true, false, false, false])
        #expect(lines.map { $0.contains("deliveredTo=bob") } == [true, true, true, false, false])
        #expect(
            client.ask("READ c alice", "HISTORY c bob").filter {
                $0.contains("alice ") && $0.contains("readBy=alice")
            }.isEmpty)
        #expect(client.ask("read c bob", "DELIVERED c bob") == ["OK unread=0", "OK unread=0"])
        #expect(client.ask("HISTORY c alice").dropLast().allSatisfy { $0.contains("readBy=bob") })
        #expect(
            client.ask(
                "READ c bob none", "READ x bob m1", "READ x bob", "READ c dan m1",
                "READ c bob m1 m2", "DELIVERED c bob none"
            ).map { $0.prefix(24) }
                == [
                    "ERR 404 Message not foun", "ERR 404 Message not foun",
                    "ERR 404 Conversation not", "ERR 403 Only participant",
                    "ERR 400 Too many words, ", "ERR 404 Message not foun",
                ])
    }

    @Test func `nothing is read of an empty conversation`() {
        #expect(client.ask("READ c bob", "DELIVERED c bob") == ["OK unread=0", "OK unread=0"])
        send(1...1)
        #expect(client.ask("UNREAD bob") == ["UNREAD conversation=c count=1", "OK total=1"])
    }

    @Test func `unread leaves out one's own, what one does not see, and placeholders`() {
        send(1...3)
        send(4...5, from: "bob")
        #expect(client.ask("UNREAD bob") == ["UNREAD conversation=c count=3", "OK total=3"])
        #expect(client.ask("UNREAD alice") == ["UNREAD conversation=c count=2", "OK total=2"])
        #expect(client.ask("DELETE c m1 bob", "UNREAD bob").last == "OK total=2")
        #expect(client.ask("DELETE c m2 alice for=everyone", "UNREAD bob").last == "OK total=1")
        #expect(client.ask("RESTORE c m1 bob", "UNREAD bob").last == "OK total=2")
        #expect(client.ask("READ c bob m1", "UNREAD bob").last == "OK total=1")
        #expect(
            client.ask("UNREAD nobody", "UNREAD").map { $0.prefix(10) } == [
                "OK total=0", "ERR 400 Mi",
            ])
    }

    private func id(_ line: String) -> String? {
        line.split(separator: " ").first { $0.hasPrefix("id=") }.map { String($0.dropFirst(3)) }
    }
}
