import Node
import NodeKit
import Placement
import Testing

@testable import Session

/// Exact times: what a write answers is what every node then shows of the value.
@Suite struct ExactTimesTests {
    private let world = World(replicas: .count(1))
    private let nodes: [TestNode]

    init() {
        nodes = world.joinTwo()
        for line in [
            "CREATE c alice,bob", "SEND c alice id=m1 hello", "SEND c bob id=m2 hello",
            "ACTION ADD alice id=i1 buy milk", "PROFILE alice name=Al",
        ] {
            #expect(ask(0, line).last?.hasPrefix("OK") == true)
        }
    }

    private func ask(_ node: Int, _ line: String) -> [String] {
        let client = nodes[node].connect()
        client.say(line)
        world.settle(nodes[0], nodes[1], nodes[2])
        return client.heard()
    }

    /// Returns the value of a key in the first line that has it.
    private func value(_ key: String, in lines: [String]) -> String? {
        lines.flatMap { $0.split(separator: " ") }.first { $0.hasPrefix(key + "=") }
            .map { String($0.dropFirst(key.count + 1)) }
    }

    private func isExact(_ time: String?) -> Bool {
        time?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z/) != nil
    }

    /// A write, and the key of the line in which a read shows when its value last changed.
    private static let writes: [(write: String, key: String, read: String)] = [
        ("PIN c m1 alice", "pinnedAt", "MESSAGE c m1 bob"),
        ("UNPIN c m1 bob", "unpinnedAt", "MESSAGE c m1 alice"),
        ("EDIT c m1 alice bye", "edited", "MESSAGE c m1 bob"),
        ("DELETE c m2 alice", "hiddenAt", "HISTORY c alice hidden=true after=m1"),
        ("RESTORE c m2 alice", "restoredAt", "MESSAGE c m2 alice"),
        ("DELETE c m2 bob for=everyone", "deletedAt", "MESSAGE c m2 alice"),
        ("ARCHIVE c alice", "archivedAt", "CHATS alice show=all"),
        ("UNARCHIVE c alice", "unarchivedAt", "CHAT c alice"),
        ("READ c bob m1", "readAt", "MARKS c alice"),
        ("DELIVERED c alice m2", "deliveredAt", "MARKS c alice"),
        ("PROFILE alice name=Alice", "nameChanged", "PROFILE alice"),
        ("PROFILE alice photo=p", "photoChanged", "PROFILES bob alice"),
        ("ACTION EDIT alice i1 title=\"buy tea\"", "titleChanged", "ACTIONS alice"),
        ("ACTION EDIT alice i1 due=2026-12-01T00:00:00Z", "dueChanged", "ACTION SHOW alice i1"),
        ("ACTION EDIT alice i1 priority=high", "priorityChanged", "ACTION SHOW alice i1"),
        ("ACTION DONE alice i1", "doneChanged", "ACTIONS alice"),
        ("BLOCKUSER alice mallory", "at", "BLOCKED alice"),
        ("HIDECHAT c alice", "hiddenAt", "CHAT c alice"),
        ("LEAVECHAT c bob", "at", "CHANGES c alice limit=1"),
        ("INVITE c alice bob", "at", "CHANGES c alice limit=1"),
    ]

    @Test func `the time of a write is the time that every node shows of its value`() {
        for (number, (write, key, read)) in Self.writes.enumerated() {
            let answer = ask(number % 3, Self.exact(write))
            let at = value("at", in: answer)
            #expect(isExact(at), "\(write) → \(answer)")
            for node in 0..<3 {
                let shown = ask(node, Self.exact(read))
                #expect(value(key, in: shown) == at, "\(write), \(read) → \(shown)")
            }
        }
    }

    @Test func `a repeated write is answered with the time of the first`() {
        for (number, (write, _, _)) in Self.writes.enumerated() where !write.hasPrefix("LEAVE") {
            let first = value("at", in: ask(number % 3, Self.exact(write)))
            world.live(milliseconds: 20, nodes[0], nodes[1], nodes[2])
            let again = ask((number + 1) % 3, Self.exact(write))
            // Hiding, restoring and leaving again are changes of their own.
            let isNew = ["HIDECHAT", "RESTORE", "UNARCHIVE"].contains { write.hasPrefix($0) }
            #expect(value("at", in: again) == first || isNew, "\(write) → \(again)")
        }
    }

    /// Adds the option, before the text if there is one.
    private static func exact(_ line: String) -> String {
        line.hasPrefix("EDIT ")
            ? line.replacing(" bye", with: " times=exact bye") : line + " times=exact"
    }

    @Test func `without the option nothing is shown that was not shown before`() {
        #expect(ask(0, "PIN c m1 alice") == ["OK"])
        #expect(ask(0, "UNPIN c m1 alice") == ["OK"])
        let lines = ask(1, "MESSAGE c m1 bob")
        #expect(lines.first?.contains("unpinnedAt") == false)
        #expect(value("at", in: lines)?.count == 24)
        for line in ["MESSAGE c m1 bob times=", "MESSAGE c m1 bob times=ms", "STATUS times=exact"] {
            #expect(ask(0, line).first?.hasPrefix("ERR 400 ") == true)
        }
    }

    @Test func `a history shows what its user deleted only where it is asked for`() {
        _ = ask(0, "DELETE c m1 alice")
        for node in 0..<3 {
            #expect(ask(node, "HISTORY c alice").count == 2)
            let all = ask(node, "HISTORY c alice hidden=true")
            #expect(all.count == 3)
            #expect(all[0].hasSuffix(" hidden=true") && !all[1].contains("hidden="))
            #expect(ask(node, "HISTORY c bob hidden=true")[0].contains("hidden=") == false)
        }
        for number in 0..<300 { _ = ask(0, "SEND c bob id=n\(number) x") }
        for number in 0..<300 { _ = ask(0, "DELETE c n\(number) alice") }
        #expect(ask(1, "HISTORY c alice limit=1000").count == 2)
        #expect(ask(1, "HISTORY c alice limit=1000 hidden=true").count == 303)
    }

    @Test func `events tell exact times, and when their message was sent`() {
        let (plain, exact) = (nodes[1].connect(), nodes[1].connect())
        plain.say("WATCH bob")
        exact.say("WATCH bob times=exact level=true")
        world.settle(nodes[0], nodes[1], nodes[2])
        #expect(isExact(value("now", in: exact.heard())))
        _ = plain.heard()
        let sent = value("at", in: ask(0, "SEND c alice id=m3 times=exact hello"))
        let pinned = value("at", in: ask(0, "PIN c m3 alice times=exact"))
        let (told, toldPlain) = (exact.heard(), plain.heard())
        #expect(told.map { value("at", in: [$0]) } == [sent, pinned])
        #expect(told.map { value("sent", in: [$0]) } == [sent, sent])
        #expect(toldPlain.allSatisfy { value("at", in: [$0])?.count == 24 })
        #expect(toldPlain.allSatisfy { value("sent", in: [$0]) == nil })
    }

    @Test func `messages of one millisecond have different exact times, in their order`() {
        let client = nodes[0].connect()
        client.say(
            (0..<20).map { "SEND c alice id=x\($0) times=exact hello" }.joined(separator: "\n"))
        world.settle(nodes[0], nodes[1], nodes[2])
        let times = client.heard().compactMap { value("at", in: [$0]) }
        #expect(times.count == 20 && Set(times).count == 20)
        #expect(times == times.sorted())
        let shown = ask(2, "HISTORY c bob limit=20 times=exact").compactMap {
            value("at", in: [$0])
        }
        #expect(shown == times)
    }
}
