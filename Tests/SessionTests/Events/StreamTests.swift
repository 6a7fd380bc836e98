import Node
import NodeKit
import Placement
import Testing

@testable import Session

/// What a stream of events tells beside changes: its description, its end of the replay, and that
/// it is alive.
@Suite struct StreamTests {
    private let world = World(replicas: .count(1))
    private let nodes: [TestNode]

    init() {
        nodes = world.joinTwo()
        _ = say(nodes[0].connect(), "CREATE c alice,bob")
    }

    private func say(_ client: TestClient, _ line: String) -> [String] {
        client.say(line)
        settle()
        return client.heard()
    }

    private func settle() { world.settle(nodes[0], nodes[1], nodes[2]) }

    /// Returns the value of a key in a line.
    private func value(_ key: String, in line: String?) -> String? {
        line?.split(separator: " ").first { $0.hasPrefix(key + "=") }
            .map { String($0.dropFirst(key.count + 1)) }
    }

    /// Returns the kinds of the events in some lines.
    private func kinds(_ lines: [String]) -> [String?] {
        lines.filter { $0.hasPrefix("EVENT ") }.map { value("kind", in: $0) }
    }

    @Test func `a stream is described where its client asks, and as before where it does not`() {
        let plain = say(nodes[0].connect(), "WATCH bob")
        #expect(plain.count == 1 && plain[0].wholeMatch(of: /OK token=\S+/) != nil)
        let heard = say(nodes[0].connect(), "WATCH bob level=true")
        #expect(value("stream", in: heard.first)?.isEmpty == false)
        #expect(value("editWindow", in: heard.first) == "900000")
        #expect(value("now", in: heard.first)?.hasSuffix("Z") == true)
        #expect(kinds(heard) == ["level"])
        #expect(kinds(say(nodes[0].connect(), "WATCH bob heartbeat=60")) == ["level"])
    }

    @Test func `the event level follows everything that was missed, once`() {
        let first = say(nodes[0].connect(), "WATCH bob")
        let token = value("token", in: first.first) ?? ""
        let writer = nodes[1].connect()
        for number in 1...20 { _ = say(writer, "SEND c alice id=m\(number) hello") }
        _ = say(writer, "PROFILE alice name=Alice")
        for (round, node) in nodes.enumerated() {
            let client = node.connect()
            var heard = say(client, "WATCH bob since=\(token) level=true")
            world.live(milliseconds: 500, nodes[0], nodes[1], nodes[2])
            heard += client.heard()
            let told = kinds(heard)
            #expect(told.count { $0 == "message" } == 20 + round)
            #expect(told.contains("profile") && told.last == "level")
            #expect(told.count { $0 == "level" } == 1)
            let behind = value("token", in: heard.last) ?? ""
            #expect(kinds(say(node.connect(), "WATCH bob since=\(behind) level=true")) == ["level"])
            _ = say(writer, "SEND c alice again")
            #expect(kinds(client.heard()) == ["message"])
        }
    }

    @Test
    func `a stream that lacks the events of an unreachable owner is not level until it has them`() {
        let token = value("token", in: say(nodes[0].connect(), "WATCH bob").first) ?? ""
        _ = say(nodes[0].connect(), "SEND c alice id=m hello")
        let line = say(nodes[0].connect(), "OWNERS c").first ?? ""
        let owner = ["n1", "n2", "n3"].firstIndex { line.contains(" owners=\($0)") }
            .map { nodes[$0] }
        let others = nodes.filter { $0 !== owner }
        guard let owner, let other = others.first else { return #expect(Bool(false)) }
        world.cut(owner)
        world.live(milliseconds: 5_000, nodes[0], nodes[1], nodes[2])
        let client = other.connect()
        client.say("WATCH bob since=\(token) level=true")
        world.live(milliseconds: 5_000, nodes[0], nodes[1], nodes[2])
        #expect(kinds(client.heard()) == [])
        world.mend(owner)
        world.live(milliseconds: 20_000, nodes[0], nodes[1], nodes[2])
        #expect(kinds(client.heard()).suffix(2) == ["message", "level"])
    }

    @Test func `heartbeats come at their interval, and not where nobody asked`() {
        let (quiet, client) = (nodes[0].connect(), nodes[0].connect())
        _ = say(quiet, "WATCH bob")
        #expect(kinds(say(client, "WATCH bob heartbeat=5 level=false")) == [])
        world.live(milliseconds: 21_000, nodes[0], nodes[1], nodes[2])
        let heard = client.heard()
        #expect((3...4).contains(kinds(heard).count { $0 == "heartbeat" }))
        #expect(heard.allSatisfy { !$0.contains("token=") })
        #expect(quiet.heard() == [])
        _ = say(client, "UNWATCH")
        world.live(milliseconds: 11_000, nodes[0], nodes[1], nodes[2])
        #expect(client.heard() == [])
        for seconds in ["4", "61", "x", ""] {
            let refused = say(client, "WATCH bob heartbeat=\(seconds)")
            #expect(refused.first?.hasPrefix("ERR 400 ") == true)
        }
    }

    @Test func `a user types on a stream from another connection, until the stream ends`() {
        let watcher = nodes[2].connect()
        _ = say(watcher, "WATCH bob")
        let (stream, client) = (nodes[0].connect(), nodes[0].connect())
        let id = value("stream", in: say(stream, "WATCH alice level=true").first) ?? ""
        #expect(say(client, "TYPING c alice on stream=\(id)") == ["OK"])
        #expect(kinds(watcher.heard()) == ["typing"])
        client.session.assumeIsolated { $0.onClosed() }
        settle()
        #expect(kinds(watcher.heard()) == [])
        let second = nodes[0].connect()
        #expect(say(second, "TYPING c alice off stream=\(id)") == ["OK"])
        #expect(watcher.heard().first?.contains(" on=false ") == true)
        _ = say(second, "TYPING c alice on stream=\(id)")
        #expect(watcher.heard().first?.contains(" on=true ") == true)
        stream.session.assumeIsolated { $0.onClosed() }
        settle()
        #expect(watcher.heard().first?.contains(" on=false ") == true)
        #expect(
            say(second, "TYPING c alice on stream=\(id)") == ["ERR 404 Stream not found"])
    }

    @Test func `only the user of a stream types on it, and only at its node`() {
        let stream = nodes[0].connect()
        let id = value("stream", in: say(stream, "WATCH alice level=true").first) ?? ""
        let missing = ["ERR 404 Stream not found"]
        #expect(say(nodes[0].connect(), "TYPING c bob on stream=\(id)") == missing)
        #expect(say(nodes[1].connect(), "TYPING c alice on stream=\(id)") == missing)
        #expect(say(nodes[0].connect(), "TYPING c alice on stream=1") == missing)
        _ = say(stream, "UNWATCH")
        #expect(say(nodes[0].connect(), "TYPING c alice on stream=\(id)") == missing)
    }
}
