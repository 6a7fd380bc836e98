import LineProtocol
import Node
import NodeKit
import Placement
import Testing

@testable import Session

/// The events that watchers receive, as the line protocol prescribes them.
@Suite struct WatchTests {
    /// Returns the lines of events without their times and tokens.
    private func plain(_ lines: [String]) -> [String] {
        lines.map { line in
            line.split(separator: " ").filter { word in
                !["at=", "seq=", "token=", "edited=", "createdAt=", "pinnedAt="]
                    .contains(where: word.hasPrefix)
            }.joined(separator: " ")
        }
    }

    private func token(_ line: String?) -> String {
        let word = line?.split(separator: " ").last { $0.hasPrefix("token=") }
        return String(word?.dropFirst("token=".count) ?? "")
    }

    @Test func `what one commit does to a document is told change by change`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        #expect(plain(watcher.ask("WATCH bob")) == ["OK"])
        _ = writer.ask(
            "CREATE c alice,bob", "SEND c alice id=m hello", "EDIT c m alice hi", "PIN c m bob",
            "UNPIN c m alice", "READ c bob m", "DELETE c m bob", "RESTORE c m bob",
            "DELETE c m alice for=everyone", "ARCHIVE c bob", "UNARCHIVE c bob",
            "INVITE c bob carol", "LEAVECHAT c bob", "SEND c alice unheard")
        let heard = plain(watcher.heard())
        #expect(
            heard.map { $0.dropFirst("EVENT kind=".count) } == [
                "member conversation=c by=alice user=alice change=added",
                "member conversation=c by=alice user=bob change=added",
                "member conversation=c by=bob user=carol change=added",
                "member conversation=c by=bob user=bob change=left",
            ])
        #expect(heard.count == 4)
    }

    @Test func `each kind of event has its keys`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        #expect(plain(watcher.ask("WATCH bob")) == ["OK"])
        for line in [
            "CREATE c alice,bob", "SEND c alice id=m hello", "EDIT c m alice hi", "PIN c m bob",
            "UNPIN c m alice", "DELIVERED c bob m", "READ c bob m", "DELETE c m bob",
            "RESTORE c m bob", "DELETE c m alice for=everyone", "ARCHIVE c bob", "UNARCHIVE c bob",
            "INVITE c bob carol", "LEAVECHAT c bob", "SEND c alice unheard",
        ] { _ = writer.ask(line) }
        let (head, view) = ("conversation=c by=alice", "id=m from=alice type=text text=")
        let seen = " deliveredTo=bob readBy=bob"
        #expect(
            plain(watcher.heard()).map { $0.dropFirst("EVENT kind=".count) } == [
                "member \(head) user=alice change=added", "member \(head) user=bob change=added",
                "message \(head) \(view)hello", "edit \(head) \(view)hi",
                "pin conversation=c by=bob id=m", "unpin conversation=c by=alice id=m",
                "delivered conversation=c by=bob id=m", "read conversation=c by=bob id=m",
                "delete conversation=c by=bob id=m for=me",
                "restore conversation=c by=bob \(view)hi\(seen)",
                "delete \(head) id=m for=everyone", "archive conversation=c by=bob",
                "unarchive conversation=c by=bob",
                "member conversation=c by=bob user=carol change=added",
                "member conversation=c by=bob user=bob change=left",
            ])
    }

    @Test func `items are told to their users alone, profiles to those who share a chat, too`() {
        let world = World()
        let (writer, bob) = (world.n1.connect(), world.n1.connect())
        let (alice, mallory) = (world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob", "CREATE d bob,mallory", "LEAVECHAT d mallory")
        _ = bob.ask("WATCH bob")
        _ = alice.ask("WATCH alice")
        _ = mallory.ask("WATCH mallory")
        for line in [
            "ACTION ADD bob id=i priority=high buy milk", "ACTION DONE bob i",
            "ACTION DELETE bob i",
            "PROFILE bob name=Bob",
        ] { _ = writer.ask(line) }
        let profile = "EVENT kind=profile user=bob name=Bob"
        #expect(
            plain(bob.heard()) == [
                "EVENT kind=action by=bob id=i priority=high title=\"buy milk\"",
                "EVENT kind=action by=bob id=i done=true priority=high title=\"buy milk\"",
                "EVENT kind=action by=bob id=i deleted=true", profile,
            ])
        #expect(plain(alice.heard()) == [profile])
        #expect(mallory.heard() == [], "who shares no chat any more is told nothing")
        _ = writer.ask("INVITE d bob mallory", "PROFILE bob email=bob@example.org")
        let heard = plain(mallory.heard())
        #expect(heard.last == "EVENT kind=profile user=bob name=Bob email=bob@example.org")
    }

    @Test func `an event bears the time of its change, at once and after a token alike`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        for line in [
            "CREATE c alice,bob", "SEND c alice id=m1 hello", "SEND c alice id=m2 hello",
            "SEND c alice id=m3 hello", "ACTION ADD bob id=i1 x", "ACTION ADD bob id=i2 x",
        ] { _ = writer.ask(line) }
        let start = token(watcher.ask("WATCH bob").first)
        let lines = [
            "EDIT c m1 alice hi", "PIN c m1 bob", "PIN c m3 bob", "UNPIN c m3 alice",
            "DELIVERED c bob m2", "READ c bob m1", "DELETE c m2 bob", "DELETE c m3 bob",
            "RESTORE c m3 bob", "ARCHIVE c bob", "INVITE c bob carol", "LEAVECHAT c alice",
            "ACTION DONE bob i1", "ACTION DELETE bob i2", "PROFILE bob name=Bob",
        ]
        for line in lines {
            world.clock.advance(milliseconds: 1_000)
            #expect(writer.ask(line).last?.hasPrefix("OK") == true)
        }
        func timed(_ lines: [String]) -> [String] {
            lines.map { line in
                line.split(separator: " ").filter { !$0.hasPrefix("token=") }
                    .joined(separator: " ")
            }
        }
        let live = timed(watcher.heard())
        #expect(live.count == lines.count)
        for (number, line) in live.enumerated() {
            let second = number + 1 < 10 ? "0\(number + 1)" : "\(number + 1)"
            #expect(line.contains(" at=2026-11-21T06:00:\(second).000Z"), "\(line)")
            #expect(line.contains("kind=profile") != line.contains(" by="))
        }
        world.clock.advance(milliseconds: 60_000)
        let resumed = world.n1.connect().ask("WATCH bob since=\(start)")
        let since = timed(Array(resumed.dropFirst()))
        // The deletion and the pin of m3 are undone; everything else is reported as it was.
        let expected = live.filter {
            !$0.contains("kind=pin conversation=c by=bob at=2026-11-21T06:00:03.000Z")
                && !($0.contains("kind=delete ") && $0.contains(" id=m3 "))
        }
        for line in expected where !line.contains("kind=edit ") && !line.contains("restore") {
            #expect(since.contains(line), "\(line)")
        }
        for head in [
            "edit conversation=c by=alice at=2026-11-21T06:00:01.000Z",
            "restore conversation=c by=bob at=2026-11-21T06:00:09.000Z",
        ] { #expect(since.contains { $0.hasPrefix("EVENT kind=" + head) }) }
    }

    @Test func `a user's other devices are told of HIDECHAT, and nobody else is`() {
        let world = World()
        let (writer, bob, alice) = (world.n1.connect(), world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob", "SEND c alice id=m1 hello")
        let start = token(bob.ask("WATCH bob").first)
        _ = alice.ask("WATCH alice")
        world.clock.advance(milliseconds: 5_000)
        _ = writer.ask("HIDECHAT c bob")
        let hide = "EVENT kind=hide conversation=c by=bob at=2026-11-21T06:00:05.000Z token="
        let heard = bob.heard()
        #expect(heard.count == 1 && heard[0].hasPrefix(hide))
        #expect(alice.heard().isEmpty)
        world.clock.advance(milliseconds: 5_000)
        _ = writer.ask("SEND c alice id=m2 again")
        _ = writer.ask("READ c bob")
        let since = world.n1.connect().ask("WATCH bob since=\(start)").dropFirst()
        #expect(since.first?.hasPrefix(hide) == true)
        #expect(since.contains { $0.contains("kind=message ") && $0.contains(" id=m2 ") })
        let later = world.n1.connect().ask("WATCH bob since=\(token(heard[0]))")
        #expect(!later.contains { $0.contains("kind=hide") })
        #expect(later.contains { $0.contains("kind=message ") })
    }

    @Test func `events come without tokens where these are not wanted`() {
        let world = World()
        let (writer, off, on) = (world.n1.connect(), world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob")
        let start = token(off.ask("WATCH bob tokens=off").first)
        #expect(!start.isEmpty)
        _ = on.ask("WATCH bob tokens=on")
        _ = writer.ask("SEND c alice id=m1 hello", "SEND c alice id=m2 hello", "TYPING c alice on")
        let (without, with) = (off.heard(), on.heard())
        #expect(without.count == 3 && !without.contains { $0.contains("token=") })
        #expect(with.count == 3 && with.allSatisfy { $0.contains(" token=") })
        let again = off.ask("WATCH bob tokens=off since=\(start)")
        #expect(again.count == 4 && again.dropFirst().allSatisfy { !$0.contains("token=") })
        #expect(off.ask("WATCH bob tokens=maybe").first?.hasPrefix("ERR 400 ") == true)
    }

    @Test func `nothing is told after the answer to UNWATCH, nor to others`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob", "CREATE d alice,carol")
        #expect(plain(watcher.ask("WATCH bob")) == ["OK"])
        _ = writer.ask("SEND d alice not for bob", "SEND c alice id=m1 hello")
        #expect(plain(watcher.heard()).map { $0.prefix(19) } == ["EVENT kind=message "])
        #expect(plain(watcher.ask("WATCH carol")) == ["OK"])
        _ = writer.ask("SEND c alice id=m2 hello", "SEND d alice id=m3 hello")
        #expect(watcher.heard().map { $0.contains("id=m3 ") } == [true])
        #expect(watcher.ask("UNWATCH", "UNWATCH") == ["OK", "OK"])
        _ = writer.ask("SEND d alice id=m4 hello")
        #expect(watcher.heard().isEmpty)
    }

    @Test func `what is not on disk is told to nobody`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob")
        _ = watcher.ask("WATCH bob")
        world.n1.store.assumeIsolated { $0.hold(true) }
        writer.say("SEND c alice id=m hello")
        world.n1.turn()
        #expect(watcher.heard().isEmpty)
        world.n1.complete()
        world.n1.turn()
        #expect(watcher.heard().count == 1)
    }

    @Test func `an event never stands inside a reply`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob")
        let text = String(repeating: "x", count: 16_000)
        for number in 0..<50 { _ = writer.ask("SEND c alice id=m\(number) \(text)") }
        _ = watcher.ask("WATCH bob")
        watcher.clog(true)
        watcher.say("HISTORY c bob")
        world.n1.settle()
        _ = writer.ask("SEND c alice id=late hello")
        var heard: [String] = []
        for _ in 0..<10 {
            heard += watcher.heard()
            watcher.clog(false)
            watcher.clog(true)
        }
        let places = heard.indices.filter { heard[$0].hasPrefix("EVENT ") }
        #expect(places == [heard.count - 1])
        #expect(heard.dropLast().last == "OK")
    }

    @Test func `who comes back with a token is told what it lacks, and no more`() {
        let world = World()
        let (writer, first) = (world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob", "SEND c alice id=m1 one", "SEND c alice id=m2 two")
        let start = token(first.ask("WATCH bob").last)
        _ = writer.ask("SEND c alice id=m3 three")
        let after = token(first.heard().last)
        #expect(!start.isEmpty && !after.isEmpty && start != after)
        first.end()
        _ = writer.ask("SEND c alice id=m4 four", "DELETE c m1 alice for=everyone")
        let second = world.n1.connect()
        let heard = plain(second.ask("WATCH bob since=\(after)"))
        #expect(heard.first == "OK")
        #expect(heard.contains { $0.contains("kind=message") && $0.contains("id=m4 ") })
        #expect(heard.contains { $0.contains("kind=delete") && $0.contains("id=m1 for=everyone") })
        #expect(!heard.contains { $0.contains("id=m3") || $0.contains("id=m2") })
        let third = world.n1.connect()
        let all = plain(third.ask("WATCH bob since=\(start)"))
        #expect(all.contains { $0.contains("kind=message") && $0.contains("id=m3 ") })
        #expect(!all.contains { $0.contains("id=m2") })
        _ = writer.ask("SEND c alice id=m5 five")
        for watcher in [second, third] {
            #expect(watcher.heard().map { $0.contains("id=m5 ") } == [true])
        }
    }

    @Test func `who comes back is told of an older message what became of it, not all of it`() {
        let world = World()
        let (writer, first) = (world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob", "SEND c alice id=m1 one", "SEND c alice id=m2 two")
        let start = token(first.ask("WATCH bob").last)
        for line in ["EDIT c m1 alice uno", "PIN c m2 alice", "SEND c alice id=m3 three"] {
            _ = writer.ask(line)
        }
        let kinds = world.n1.connect().ask("WATCH bob since=\(start)").dropFirst().map {
            $0.split(separator: " ")[1]
        }
        #expect(kinds.sorted() == ["kind=edit", "kind=message", "kind=pin"])
    }

    @Test func `of what a user has hidden nothing is told again`() {
        let world = World()
        let (writer, first) = (world.n1.connect(), world.n1.connect())
        let start = token(first.ask("WATCH bob").last)
        for line in [
            "CREATE c alice,bob", "SEND c alice id=m1 one", "HIDECHAT c bob",
            "SEND c alice id=m2 two", "EDIT c m1 alice uno",
        ] { _ = writer.ask(line) }
        #expect(!first.heard().contains { $0.contains("kind=edit") })
        let again = world.n1.connect().ask("WATCH bob since=\(start)")
        #expect(!again.contains { $0.contains("id=m1 ") })
        #expect(again.contains { $0.contains("id=m2 ") })
    }

    @Test func `of several events of one commit the last alone raises the token`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob")
        _ = watcher.ask("WATCH bob")
        writer.say("SEND c alice id=m1 one", "SEND c alice id=m2 two", "SEND c alice id=m3 three")
        world.n1.settle()
        let heard = watcher.heard()
        #expect(heard.count == 3)
        let again = world.n1.connect().ask("WATCH bob since=\(token(heard[1]))")
        #expect(again.count { $0.hasPrefix("EVENT kind=message") } >= 1)
        #expect(again.contains { $0.contains("id=m3 ") })
        #expect(world.n1.connect().ask("WATCH bob since=\(token(heard[2]))").count == 1)
    }

    @Test func `a word that is no token is refused`() {
        let client = World().n1.connect()
        #expect(client.ask("WATCH bob since=nonsense").first?.hasPrefix("ERR 400 ") == true)
        #expect(client.ask("WATCH bob since=").first?.hasPrefix("ERR 400 ") == true)
        #expect(client.ask("WATCH").first?.hasPrefix("ERR 400 ") == true)
    }

    @Test func `a client that takes nothing is cut off after a while, and not before`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob")
        _ = watcher.ask("WATCH bob")
        watcher.clog(true)
        let text = String(repeating: "x", count: 16_000)
        for number in 0..<20 { _ = writer.ask("SEND c alice id=m\(number) \(text)") }
        world.pass(milliseconds: 4_900, world.n1)
        #expect(!watcher.output.assumeIsolated { $0.isAborted })
        world.pass(milliseconds: 200, world.n1)
        #expect(watcher.output.assumeIsolated { $0.isAborted })
    }

    @Test func `a client that was full and reads again stays`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob")
        _ = watcher.ask("WATCH bob")
        watcher.clog(true)
        let text = String(repeating: "x", count: 16_000)
        for number in 0..<20 { _ = writer.ask("SEND c alice id=m\(number) \(text)") }
        world.pass(milliseconds: 3_000, world.n1)
        #expect((0..<20).reduce(0) { count, _ in count + watcher.drain().count } == 20)
        world.pass(milliseconds: 3_000, world.n1)
        watcher.clog(false)
        #expect(!watcher.output.assumeIsolated { $0.isAborted })
    }
}
