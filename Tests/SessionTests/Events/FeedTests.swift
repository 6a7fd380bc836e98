import Node
import NodeKit
import Placement
import Testing
import Wire

@testable import Session

/// The events for watchers on nodes that hold nothing of the conversation.
@Suite struct FeedTests {
    private let world = World(replicas: .count(2))
    private let nodes: [TestNode]

    init() {
        nodes = world.joinTwo()
        for name in Self.chats { _ = ask(0, "CREATE \(name) alice,bob") }
    }

    private static let chats = (0..<8).map { "c\($0)" }

    private func settle() { world.settle(nodes[0], nodes[1], nodes[2]) }

    private func ask(_ node: Int, _ line: String) -> [String] {
        let client = nodes[node].connect()
        client.say(line)
        settle()
        return client.heard()
    }

    private func watch(_ node: Int, _ line: String = "WATCH bob") -> TestClient {
        let client = nodes[node].connect()
        client.say(line)
        settle()
        return client
    }

    private func token(_ line: String?) -> String {
        let word = line?.split(separator: " ").last { $0.hasPrefix("token=") }
        return String(word?.dropFirst("token=".count) ?? "")
    }

    @Test func `whatever node takes a message, watchers on all nodes are told of it once`() {
        let watchers = nodes.indices.map { watch($0) }
        for watcher in watchers { #expect(watcher.heard().count == 1) }
        for (number, chat) in Self.chats.enumerated() {
            let sent = ask(number % 3, "SEND \(chat) alice id=m hello")
            #expect(sent.first?.hasPrefix("OK id=m ") == true)
            for watcher in watchers {
                #expect(
                    watcher.heard().map { $0.contains("conversation=\(chat) by=alice ") } == [true])
            }
        }
    }

    @Test func `a profile is told on all nodes, and after a token once`() {
        let watchers = nodes.indices.map { watch($0) }
        for watcher in watchers { _ = watcher.heard() }
        _ = ask(1, "PROFILE alice name=Al")
        var tokens: [String] = []
        for watcher in watchers {
            let heard = watcher.heard()
            #expect(heard.map { $0.contains(" user=alice name=Al ") } == [true])
            tokens.append(token(heard.last))
        }
        _ = ask(2, "PROFILE alice name=Alice")
        for (node, token) in tokens.enumerated() {
            let heard = watch((node + 1) % 3, "WATCH bob since=\(token)").heard()
            #expect(heard.first?.hasPrefix("OK token=") == true)
            let told = heard.filter { $0.contains("kind=profile") }
            #expect(told.map { $0.contains(" user=alice name=Alice ") } == [true])
        }
    }

    @Test func `a token of one node resumes on another, deletions included`() {
        let first = watch(0)
        _ = first.heard()
        _ = ask(1, "SEND c1 alice id=early hello")
        let token = token(first.heard().last)
        for chat in Self.chats { _ = ask(0, "SEND \(chat) alice id=m hello") }
        _ = ask(2, "DELETE c1 early alice for=everyone")
        for node in [1, 2] {
            let heard = watch(node, "WATCH bob since=\(token)").heard()
            #expect(heard.first?.hasPrefix("OK token=") == true)
            for chat in Self.chats {
                #expect(heard.count { $0.contains("=\(chat) ") && $0.contains("id=m ") } == 1)
            }
            #expect(heard.contains { $0.contains("kind=delete") && $0.contains("id=early ") })
            #expect(!heard.contains { $0.contains("kind=message") && $0.contains("id=early ") })
        }
    }

    @Test func `who is answered before a silent holder speaks is told what happened until then`() {
        let first = watch(2)
        let token = token(first.heard().first)
        first.session.assumeIsolated { $0.onClosed() }
        settle()
        // From here on nothing is delivered: the third node's requests to the others are on their
        // way.
        let late = nodes[2].connect()
        late.say("WATCH bob since=\(token)")
        world.pass(milliseconds: 1_200, nodes[2])
        #expect(late.heard().map { $0.hasPrefix("OK token=") } == [true])
        let client = nodes[0].connect()
        client.say("SET ack=local")
        for chat in Self.chats { client.say("SEND \(chat) alice id=m hello") }
        nodes[0].settle()
        world.live(milliseconds: 1_000, nodes[0], nodes[1], nodes[2])
        let heard = late.heard()
        for chat in Self.chats {
            #expect(
                heard.contains { $0.contains("=\(chat) ") && $0.contains("id=m ") }, "\(chat)")
        }
    }

    @Test func `when who told falls silent another goes on where it stopped`() {
        let watcher = watch(2)
        _ = watcher.heard()
        world.cut(nodes[0])
        let client = nodes[1].connect()
        client.say("SET ack=local")
        for (number, chat) in Self.chats.enumerated() {
            client.say("SEND \(chat) alice id=m\(number) hello")
        }
        // Long before the connection is given up.
        world.live(milliseconds: 3_000, nodes[1], nodes[2])
        let heard = watcher.heard()
        let held = Self.chats.enumerated().filter { number, _ in
            heard.contains { $0.contains("kind=message") && $0.contains("id=m\(number) ") }
        }
        #expect(held.count == Self.chats.count, "\(heard)")
    }
}
