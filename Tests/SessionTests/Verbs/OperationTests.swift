import CRDT
import LineProtocol
import Node
import NodeKit
import Placement
import Testing

@testable import Session

/// Writes to which the client has given identity and time: however often and however late they are
/// executed, the client's last wish holds.
@Suite struct OperationTests {
    private let world = World()
    private let nodes: [TestNode]

    init() {
        nodes = world.joinTwo()
        for line in [
            "CREATE c alice,bob", "SEND c alice id=m1 hello", "SEND c bob id=m2 hello",
            "ACTION ADD alice id=i1 buy milk", "PROFILE alice name=Al",
            "DEVICE ADD alice phone token=t1",
        ] {
            #expect(ask(0, line).last?.hasPrefix("OK") == true)
        }
        world.clock.advance(milliseconds: 10)
    }

    private func ask(_ node: Int, _ line: String) -> [String] {
        let client = nodes[node].connect()
        client.say(line)
        world.settle(nodes[0], nodes[1], nodes[2])
        let heard = client.heard()
        guard heard.isEmpty else { return heard }
        // A node answers what another one has stored once it knows where it is stored.
        world.live(milliseconds: 1_000, nodes[0], nodes[1], nodes[2])
        return client.heard()
    }

    /// Returns the operation of a device with a number, which far exceeds those of other tests.
    private func operation(
        _ number: Int, after milliseconds: Int = 0, of device: String = "phone.1"
    ) -> String {
        let wall = Int64(world.clock.wallMilliseconds) + Int64(milliseconds)
        let time = HybridTimestamp(milliseconds: UInt64(wall))
        return "\(device).\(number).\(LineTime.text(time))"
    }

    /// Adds the operation and exact times, before the text if there is one.
    private func line(_ write: String, as operation: String) -> String {
        let options = " op=\(operation) times=exact"
        guard write.hasPrefix("EDIT ") || write.hasPrefix("ACTION ADD ") else {
            return write + options
        }
        let words = write.split(separator: " ")
        return words.prefix(4).joined(separator: " ") + options + " "
            + words.dropFirst(4).joined(separator: " ")
    }

    private func at(_ operation: String) -> String { "at=" + operation.suffix(30) }

    /// Two wishes of one device that are contrary to each other, and a read of what holds.
    private static let wishes: [(first: String, then: String, read: String)] = [
        ("PIN c m1 alice", "UNPIN c m1 alice", "MESSAGE c m1 bob"),
        ("UNPIN c m1 alice", "PIN c m1 alice", "MESSAGE c m1 bob"),
        ("EDIT c m1 alice one", "EDIT c m1 alice two", "MESSAGE c m1 bob"),
        ("EDIT c m1 alice one", "EDIT c m1 alice hello", "MESSAGE c m1 bob"),
        ("DELETE c m2 alice", "RESTORE c m2 alice", "HISTORY c alice hidden=true"),
        ("RESTORE c m2 alice", "DELETE c m2 alice", "HISTORY c alice hidden=true"),
        ("ARCHIVE c alice", "UNARCHIVE c alice", "CHAT c alice"),
        ("UNARCHIVE c alice", "ARCHIVE c alice", "CHAT c alice"),
        ("BLOCKUSER alice bob", "UNBLOCKUSER alice bob", "BLOCKED alice"),
        ("UNBLOCKUSER alice bob", "BLOCKUSER alice bob", "BLOCKED alice"),
        ("PROFILE alice name=One", "PROFILE alice name=Two", "PROFILE alice"),
        ("PROFILE alice name=One", "PROFILE alice name=Al", "PROFILE alice"),
        (
            "ACTION EDIT alice i1 title=\"one\"", "ACTION EDIT alice i1 title=\"two\"",
            "ACTION SHOW alice i1"
        ),
        (
            "ACTION EDIT alice i1 due=2026-12-01T00:00:00Z", "ACTION EDIT alice i1 due=",
            "ACTION SHOW alice i1"
        ),
        ("ACTION DONE alice i1", "ACTION UNDONE alice i1", "ACTION SHOW alice i1"),
        ("ACTION UNDONE alice i1", "ACTION DONE alice i1", "ACTION SHOW alice i1"),
        ("ACTION DONE alice i1", "ACTION DELETE alice i1", "ACTIONS alice"),
        ("READ c alice m1", "READ c alice m2", "MARKS c alice"),
        ("DELIVERED c alice m1", "DELIVERED c alice m2", "MARKS c alice"),
        ("DEVICE ADD alice phone token=t2", "DEVICE REMOVE alice phone", "DEVICES alice"),
        ("DEVICE REMOVE alice phone", "DEVICE ADD alice phone token=t3", "DEVICES alice"),
        ("EDIT c m1 alice one", "DELETE c m1 alice for=everyone", "MESSAGE c m1 bob"),
    ]

    @Test(arguments: OperationTests.wishes.indices)
    func `the last wish holds when the first is executed late`(_ number: Int) {
        let wish = Self.wishes[number]
        let (first, then) = (operation(1), operation(2, after: 1))
        // The removal of a device wins over an addition that has not seen it.
        for isAnswered in wish.first.hasPrefix("DEVICE REMOVE") ? [true] : [true, false] {
            OperationTests().holds(wish, first, then, isAnswered: isAnswered)
        }
    }

    /// - Parameter isAnswered: whether the first wish is repeated until it is answered, before the
    ///   second is asked for.
    private func holds(
        _ wish: (first: String, then: String, read: String), _ first: String, _ then: String,
        isAnswered: Bool
    ) {
        world.cut(nodes[2])
        if isAnswered {
            #expect(ask(0, line(wish.first, as: first)).first?.hasPrefix("OK") == true)
        }
        #expect(ask(1, line(wish.then, as: then)).first?.hasPrefix("OK") == true)
        let wished = ask(0, wish.read)
        // The third node stood still, and knows of neither.
        let client = nodes[2].connect()
        client.say(line(wish.first, as: first))
        nodes[2].settle()
        world.rejoin(nodes[2], to: nodes)
        world.live(milliseconds: 4_000, nodes[0], nodes[1], nodes[2])
        let late = client.heard()
        #expect(late.first?.hasPrefix("OK") == true, "\(wish) → \(late)")
        // A node that knows of both changes nothing.
        _ = ask(1, line(wish.first, as: first))
        for node in 0..<3 { #expect(ask(node, wish.read) == wished, "\(wish) at \(node)") }
    }

    @Test func `a repetition is answered as the first time, before any rule`() {
        let writes = [
            "PIN c m1 bob", "DELETE c m1 bob", "RESTORE c m1 bob", "ARCHIVE c bob",
            "UNARCHIVE c bob", "INVITE c bob carol", "EDIT c m2 bob bye", "HIDECHAT c bob",
            "DELETE c m2 bob for=everyone", "LEAVECHAT c bob",
        ]
        var operations: [String] = []
        for (number, write) in writes.enumerated() {
            let operation = operation(number + 1)
            operations.append(operation)
            let first = ask(0, line(write, as: operation))
            #expect(first.count == 1 && first[0].contains(at(operation)), "\(write) → \(first)")
            for node in 1..<3 {
                #expect(ask(node, line(write, as: operation)) == first, "\(write) again")
            }
        }
        // Now that bob is no participant, a new operation is refused, and the last one is not.
        #expect(ask(1, line("ARCHIVE c bob", as: operation(90)))[0].hasPrefix("ERR 403 "))
        for number in [1, 2, 3, 4, 5, 7, 8, 9] {
            let operation = operations[number]
            let again = ask(2, line(writes[number], as: operation))
            #expect(again[0].contains(at(operation)), "\(writes[number]) → \(again)")
        }
    }

    @Test func `a recorded invitation is answered as the first time, whoever has blocked`() {
        let first = operation(1)
        let answer = ask(0, line("INVITE c alice carol", as: first))
        #expect(answer == ["OK " + at(first)])
        #expect(ask(1, "BLOCKUSER carol alice") == ["OK"])
        for node in 0..<3 {
            #expect(ask(node, line("INVITE c alice carol", as: first)) == answer)
            let other = ask(node, line("INVITE c alice carol", as: operation(2)))
            #expect(other == ["ERR 403 You cannot add this user"])
        }
    }

    @Test func `an operation changes nothing that is later, and is answered with its own time`() {
        #expect(ask(0, "PIN c m1 bob") == ["OK"])
        #expect(ask(0, "PROFILE alice name=Later photo=p") == ["OK"])
        let early = operation(7, after: -50)
        #expect(ask(1, line("UNPIN c m1 alice", as: early)) == ["OK " + at(early)])
        #expect(ask(2, "MESSAGE c m1 bob")[0].contains("pinnedBy=bob"))
        // Of several fields, each is judged alone: the e-mail address has never been set.
        #expect(
            ask(1, line("PROFILE alice name=Early email=a@b", as: early)) == ["OK " + at(early)])
        let profile = ask(2, "PROFILE alice")[0]
        #expect(profile.contains("name=Later") && profile.contains("email=a@b"), "\(profile)")
    }

    @Test func `a late addition adds nothing that was removed later, whoever removed it`() {
        let early = operation(1, of: "tablet")
        world.clock.advance(milliseconds: 20)
        for line in ["INVITE c alice carol", "LEAVECHAT c carol", "UNARCHIVE c alice"] {
            #expect(ask(0, line) == ["OK"])
        }
        #expect(ask(0, "RESTORE c m2 alice") == ["OK"])
        #expect(ask(0, "UNBLOCKUSER alice bob") == ["OK"])
        let additions = [
            "INVITE c alice carol", "ARCHIVE c alice", "DELETE c m2 alice", "BLOCKUSER alice bob",
        ]
        for (node, addition) in additions.enumerated() {
            #expect(ask(node % 3, line(addition, as: early)) == ["OK " + at(early)], "\(addition)")
        }
        for node in 0..<3 {
            let chat = ask(node, "CHAT c alice")[0]
            #expect(!chat.contains("carol") && !chat.contains("archived"), "\(chat)")
            #expect(ask(node, "HISTORY c alice").count == 3)
            #expect(ask(node, "BLOCKED alice") == ["OK"])
        }
    }

    @Test func `a removal with a condition removes nothing that does not meet it`() {
        let removal = line("DEVICE REMOVE alice phone token=t0", as: operation(1))
        #expect(ask(1, removal)[0].hasPrefix("OK"))
        #expect(ask(0, "DEVICES alice")[0].hasPrefix("DEVICE id=phone token=t1"))
    }

    @Test func `only its sender is told that a message is deleted for everyone already`() {
        let hiding = operation(1, of: "d")
        #expect(ask(0, line("DELETE c m1 bob", as: hiding))[0].hasPrefix("OK"))
        #expect(ask(0, "DELETE c m1 alice for=everyone") == ["OK"])
        let retraction = ask(1, line("DELETE c m1 bob for=everyone", as: hiding))
        #expect(retraction == ["ERR 403 Only the sender can delete for everyone"])
    }

    @Test func `what was sent after an operation is neither hidden nor read by it`() {
        let early = operation(3, after: 5)
        world.clock.advance(milliseconds: 20)
        #expect(ask(0, "SEND c bob id=m3 later")[0].hasPrefix("OK"))
        #expect(ask(1, line("READ c alice", as: early))[0].contains("unread=1"))
        #expect(ask(2, line("HIDECHAT c alice", as: operation(4, after: -10)))[0].hasPrefix("OK"))
        let left = ask(0, "HISTORY c alice")
        #expect(left.count == 2 && left[0].contains("id=m3"), "\(left)")
    }

    @Test func `reading and hiding before an invitation changes nothing after it`() {
        let (read, hide) = (operation(1), operation(2, after: 1))
        world.clock.advance(milliseconds: 20)
        #expect(ask(0, "LEAVECHAT c bob") == ["OK"])
        #expect(ask(0, "INVITE c alice bob") == ["OK"])
        #expect(ask(1, line("READ c bob m1", as: read)) == ["OK unread=1"])
        #expect(ask(2, line("HIDECHAT c bob", as: hide)) == ["OK"])
        #expect(ask(0, "HISTORY c bob").count == 3)
        #expect(ask(0, "UNREAD bob")[0].hasSuffix("count=1"))
    }

    @Test func `a time that is ahead or ten minutes old is refused, with the node's time`() {
        let now = LineTime.text(Int64(world.clock.wallMilliseconds))
        let early = ask(0, line("PIN c m1 alice", as: operation(1, after: 501)))
        #expect(
            early == [
                "ERR 408 The operation's time is ahead of this node's; this node's time is \(now)"
            ])
        #expect(ask(0, line("PIN c m1 alice", as: operation(1, after: 500)))[0].hasPrefix("OK"))
        let old = ask(0, line("PIN c m1 alice", as: operation(2, after: -600_000)))
        #expect(
            old[0].hasPrefix("ERR 408 The operation is older than 10 minutes")
                && old[0].hasSuffix(now))
        for age in [599_000, 599_999] {
            let closing = ask(0, line("PIN c m1 alice", as: operation(3, after: -age)))
            #expect(closing[0].hasPrefix("ERR 503 "), "\(closing)")
        }
        #expect(
            ask(0, line("UNPIN c m1 alice", as: operation(4, after: -598_999)))[0].hasPrefix("OK"))
    }

    @Test func `an operation that is none is refused`() {
        let time = operation(1).suffix(30)
        for text in [
            "phone", "phone.1", ".1.\(time)", "phone.0.\(time)", "phone.x.\(time)",
            "phone..\(time)",
            "phone.1.\(time.dropLast())", "phone.1.\(time)Z", "pho/ne.1.\(time)",
            "phone.4611686018427387905.\(time)", "phone.1.2026-11-21T06:00:00.000Z",
            "phone.1.2026-11-21T06:00:00.000065536Z",
            "\(String(repeating: "x", count: 65)).1.\(time)",
        ] {
            let reply = ask(0, "PIN c m1 alice op=\(text)")
            #expect(reply[0].hasPrefix("ERR 400 An operation is <device>"), "\(text) → \(reply)")
        }
        for text in ["phone.4611686018427387904.\(time)", "a.b.c.1.\(time)"] {
            #expect(ask(0, "PIN c m1 alice op=\(text)") == ["OK"], "\(text)")
        }
        let whole = operation(1)
        for line in [
            "SEND c alice op=\(whole) hello", "CREATE d alice op=\(whole)",
            "HISTORY c alice op=\(whole)",
            "PROFILE alice op=\(whole)", "ACTION ADD alice op=\(whole) tea", "PING op=\(whole)",
        ] {
            #expect(ask(0, line)[0].hasPrefix("ERR 400 "), "\(line)")
        }
        #expect(ask(0, line("ACTION ADD alice id=i2 tea", as: whole))[0].hasPrefix("OK id=i2"))
        #expect(ask(1, line("ACTION ADD alice id=i2 tea", as: whole))[0].hasPrefix("OK id=i2"))
    }

    @Test func `a user's devices leave a bounded number of records`() {
        for number in 0..<64 {
            let operation = operation(1, of: "d\(number)")
            #expect(ask(0, line("DELETE c m2 alice", as: operation))[0].hasPrefix("OK"))
        }
        let more = operation(1, of: "d64")
        #expect(ask(0, line("DELETE c m2 alice", as: more))[0].hasPrefix("ERR 429 "))
        #expect(ask(0, line("RESTORE c m2 alice", as: more))[0].hasPrefix("OK"))
        // Another user is not concerned, nor is a device that is recorded, nor one without numbers.
        #expect(ask(0, line("DELETE c m2 bob", as: more))[0].hasPrefix("OK"))
        #expect(ask(0, line("DELETE c m2 alice", as: operation(2, of: "d3")))[0].hasPrefix("OK"))
        #expect(ask(0, "DELETE c m2 alice") == ["OK"])
    }
}
