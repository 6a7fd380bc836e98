import Node
import NodeKit
import Placement
import Testing

@testable import Session

/// The events for a watcher that resumes, of what its token does not name.
@Suite struct ResumeTests {
    private func token(_ line: String?) -> String {
        let word = line?.split(separator: " ").last { $0.hasPrefix("token=") }
        return String(word?.dropFirst("token=".count) ?? "")
    }

    /// Returns the lines that have all these words.
    private func lines(_ lines: [String], with words: String...) -> [String] {
        lines.filter { line in
            let those = line.split(separator: " ").map(String.init)
            return words.allSatisfy(those.contains)
        }
    }

    @Test func `who came into a conversation and left it while away is told so`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        let start = token(watcher.ask("WATCH bob").last)
        watcher.end()
        for number in 0..<8 {
            _ = writer.ask("CREATE c\(number) alice,bob", "LEAVECHAT c\(number) bob")
        }
        let heard = world.n1.connect().ask("WATCH bob since=\(start)")
        for number in 0..<8 {
            let left = lines(
                heard, with: "kind=member", "conversation=c\(number)", "user=bob", "change=left")
            #expect(left.count == 1, "c\(number)")
        }
    }

    /// Returns the ids of the messages that are told to a watcher who is cut off after so many
    /// events each time and resumes with the last token, and how often it had to.
    private func replayed(
        _ start: String, atMost count: Int, on node: TestNode, isOver: ([String]) -> Bool
    ) -> (ids: [String], resumptions: Int) {
        var (ids, last, resumptions): ([String], String, Int) = ([], start, 0)
        while !isOver(ids), resumptions < 1_000 {
            resumptions += 1
            let watcher = node.connect()
            let heard = watcher.ask("WATCH bob since=\(last)").filter { $0.hasPrefix("EVENT") }
            watcher.end()
            for line in heard.prefix(count) where token(line) != "" {
                last = token(line)
                ids += line.split(separator: " ").filter { $0.hasPrefix("id=") }.map(String.init)
            }
        }
        return (ids, resumptions)
    }

    @Test(arguments: [4, 7, 200])
    func `a watcher that is cut off again and again gets on`(count: Int) {
        let world = World()
        let writer = world.n1.connect()
        for number in 0..<5 { _ = writer.ask("CREATE c\(number) alice,bob") }
        let watcher = world.n1.connect()
        let start = token(watcher.ask("WATCH bob").last)
        watcher.end()
        let missed = 60 * 5
        for number in 0..<missed {
            _ = writer.ask("SEND c\(number % 5) alice id=m\(number) hello")
            // Changes of documents that later ones replace leave gaps in what was told.
            _ = writer.ask("READ c\(number % 5) alice", "DELIVERED c\(number % 5) alice")
        }
        let (ids, resumptions) = replayed(start, atMost: count, on: world.n1) {
            Set($0.filter { $0.hasPrefix("id=m") }).count == missed
        }
        let messages = Set(ids.filter { $0.hasPrefix("id=m") })
        #expect(messages.count == missed)
        // Each resumption gets on by about half of what was told at least.
        #expect(resumptions <= 2 * (missed + 20) / count + 40, "\(resumptions) resumptions")
    }

    @Test func `the last token of a replay stands for all of it`() {
        let world = World()
        let writer = world.n1.connect()
        for number in 0..<40 { _ = writer.ask("CREATE c\(number) alice,bob") }
        let watcher = world.n1.connect()
        let start = token(watcher.ask("WATCH bob").last)
        watcher.end()
        for number in 0..<40 { _ = writer.ask("SEND c\(number) alice id=m\(number) hello") }
        let heard = world.n1.connect().ask("WATCH bob since=\(start)")
        #expect(lines(heard, with: "kind=message").count == 40)
        let last = token(heard.last { $0.hasPrefix("EVENT") })
        let again = world.n1.connect().ask("WATCH bob since=\(last)")
        #expect(again.filter { $0.hasPrefix("EVENT") } == [])
    }

    @Test func `what was sent after a hiding is told again where the hiding is`() {
        let world = World()
        let writer = world.n1.connect()
        _ = writer.ask("CREATE c alice,bob", "SEND c alice id=m0 hello")
        let watcher = world.n1.connect()
        let start = token(watcher.ask("WATCH bob").last)
        watcher.end()
        _ = writer.ask("HIDECHAT c bob")
        for number in 1...20 { _ = writer.ask("SEND c alice id=m\(number) hello") }
        let first = world.n1.connect()
        let heard = first.ask("WATCH bob since=\(start)").filter { $0.hasPrefix("EVENT") }
        first.end()
        for cut in 1...heard.count {
            _ = writer.ask("READ c bob m\(cut)")
            let resumed = world.n1.connect()
            let rest = resumed.ask("WATCH bob since=\(token(heard[cut - 1]))")
            resumed.end()
            var shown: Set<String> = []
            for line in heard.prefix(cut) + rest {
                if line.contains(" kind=hide ") { shown = [] }
                guard line.contains(" kind=message ") else { continue }
                shown.formUnion(
                    line.split(separator: " ").filter { $0.hasPrefix("id=") }.map(String.init))
            }
            #expect(shown == Set((1...20).map { "id=m\($0)" }), "cut after \(cut)")
        }
    }

    @Test func `who left the only conversation of a shard while away is told so elsewhere`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        let second = world.join("n2")
        let start = token(watcher.ask("WATCH bob").last)
        for number in 0..<8 { _ = writer.ask("CREATE c\(number) alice,bob") }
        watcher.end()
        for number in 0..<8 { writer.say("LEAVECHAT c\(number) bob") }
        world.settle(world.n1, second)
        let again = second.connect()
        again.say("WATCH bob since=\(start)")
        world.settle(world.n1, second)
        let left = lines(again.heard(), with: "kind=member", "user=bob", "change=left")
        #expect(left.count == 8)
    }

    @Test func `an item that was added and deleted while away is told as deleted`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        let start = token(watcher.ask("WATCH bob").last)
        watcher.end()
        for number in 0..<8 {
            _ = writer.ask("ACTION ADD bob id=i\(number) buy milk", "ACTION DELETE bob i\(number)")
        }
        let heard = world.n1.connect().ask("WATCH bob since=\(start)")
        for number in 0..<8 {
            let told = lines(heard, with: "kind=action", "id=i\(number)")
            #expect(told.map { $0.contains(" deleted=true") } == [true], "i\(number)")
        }
    }

    @Test func `profiles that were set while away are told, whatever else is in their shards`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        let start = token(watcher.ask("WATCH bob").last)
        watcher.end()
        for number in 0..<600 { _ = writer.ask("PROFILE u\(number) name=N\(number)") }
        let friends = (0..<40).map { "u\($0)" }.joined(separator: ",")
        _ = writer.ask("CREATE c alice,bob,\(friends)", "PROFILE u0 name=Zero")
        let heard = world.n1.connect().ask("WATCH bob since=\(start)")
        #expect(lines(heard, with: "kind=profile").count == 40, "those of bob's chats alone")
        #expect(lines(heard, with: "kind=profile", "user=u0", "name=Zero").count == 1)
        let last = token(heard.last)
        #expect(world.n1.connect().ask("WATCH bob since=\(last)").count == 1, "each once")
        _ = writer.ask("PROFILE u1 photo=p", "PROFILE u500 photo=p")
        let changed = world.n1.connect().ask("WATCH bob since=\(last)")
        #expect(lines(changed, with: "kind=profile", "user=u1", "photo=p").count == 1)
        #expect(lines(changed, with: "kind=profile").count < 30, "those of a few groups")
        #expect(lines(changed, with: "user=u500").isEmpty)
    }

    @Test func `the first token stands for the profiles that there are`() {
        let world = World()
        let writer = world.n1.connect()
        _ = writer.ask("CREATE c alice,bob", "PROFILE alice name=A", "PROFILE bob name=B")
        let first = token(world.n1.connect().ask("WATCH bob").first)
        #expect(world.n1.connect().ask("WATCH bob since=\(first)").count == 1)
        _ = writer.ask("PROFILE alice name=Alice")
        let heard = world.n1.connect().ask("WATCH bob since=\(first)")
        #expect(lines(heard, with: "kind=profile", "user=alice", "name=Alice").count == 1)
    }

    @Test func `a profile that was told is not told again`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        let start = token(watcher.ask("WATCH bob").first)
        _ = writer.ask("CREATE c alice,bob", "PROFILE alice name=A", "PROFILE bob name=B")
        _ = watcher.ask("WATCH bob since=\(start)")
        for name in ["Al", "Ali", "Alice"] { _ = writer.ask("PROFILE alice name=\(name)") }
        let heard = watcher.heard()
        #expect(lines(heard, with: "kind=profile", "user=alice").count == 3)
        let last = token(heard.last)
        #expect(world.n1.connect().ask("WATCH bob since=\(last)").count == 1)
        let middle = token(heard.first)
        let again = world.n1.connect().ask("WATCH bob since=\(middle)")
        #expect(lines(again, with: "kind=profile", "user=alice", "name=Alice").count == 1)
    }

    @Test func `what a token says of conversations is not crowded out by profiles`() {
        let world = World()
        let (writer, watcher) = (world.n1.connect(), world.n1.connect())
        _ = writer.ask("CREATE c alice,bob", "SEND c alice id=early hello")
        _ = watcher.ask("WATCH bob")
        for number in 0..<8 { _ = writer.ask("PROFILE u\(number) name=N\(number)") }
        _ = writer.ask("SEND c alice id=m hello")
        let last = token(watcher.heard().last)
        // It names the shards of what concerns bob, and no others.
        #expect(last == token(world.n1.connect().ask("WATCH bob").last))
        _ = writer.ask("SEND c alice id=late hello")
        let heard = world.n1.connect().ask("WATCH bob since=\(last)")
        #expect(lines(heard, with: "kind=message").map { $0.contains(" id=late ") } == [true])
    }

    @Test func `who was answered before a shard's holder was heard is told all of it`() {
        let world = World(replicas: .count(1))
        let second = world.join("n2")
        world.live(milliseconds: 2_000, world.n1, second)
        func ask(_ node: TestNode, _ line: String) -> [String] {
            let client = node.connect()
            client.say(line)
            world.settle(world.n1, second)
            return client.heard()
        }
        let chats = (0..<8).map { "c\($0)" }
        let start = token(ask(world.n1, "WATCH bob").last)
        for chat in chats {
            _ = ask(world.n1, "CREATE \(chat) alice,bob")
            _ = ask(second, "SEND \(chat) alice id=m hello")
        }
        let watcher = second.connect()
        watcher.say("WATCH bob since=\(start)")
        // Nothing is delivered meanwhile.
        world.pass(milliseconds: 1_200, second)
        var heard = watcher.heard()
        #expect(heard.first?.hasPrefix("OK token=") == true)
        world.settle(world.n1, second)
        heard += watcher.heard()
        for chat in chats {
            let told = lines(heard, with: "kind=message", "conversation=\(chat)", "id=m")
            #expect(!told.isEmpty, "\(chat)")
        }
    }

    @Test func `who was answered before a holder knew of them is told what came meanwhile`() {
        let world = World(replicas: .count(1))
        let second = world.join("n2")
        world.live(milliseconds: 2_000, world.n1, second)
        let (other, writer) = (second.connect(), world.n1.connect())
        let chats = (0..<8).map { "c\($0)" }
        for chat in chats { writer.say("CREATE \(chat) alice,bob") }
        other.say("WATCH alice")
        world.settle(world.n1, second)
        let watcher = second.connect()
        watcher.say("WATCH bob")
        // Nothing is delivered meanwhile.
        world.pass(milliseconds: 1_200, second)
        var heard = watcher.heard()
        #expect(heard.first?.hasPrefix("OK token=") == true)
        for chat in chats { writer.say("SEND \(chat) alice id=m hello") }
        world.n1.settle()
        world.settle(world.n1, second)
        heard += watcher.heard()
        for chat in chats {
            let told = lines(heard, with: "kind=message", "conversation=\(chat)", "id=m")
            #expect(!told.isEmpty, "\(chat)")
        }
    }
}
