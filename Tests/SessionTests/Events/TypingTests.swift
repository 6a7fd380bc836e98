import Node
import NodeKit
import Placement
import Testing

@testable import Session

/// Users who type are shown while they do, and never longer.
@Suite struct TypingTests {
    private let world = World(replicas: .count(1))
    private let nodes: [TestNode]
    private let watchers: [TestClient]

    init() {
        nodes = world.joinTwo()
        let client = nodes[0].connect()
        client.say("CREATE c alice,bob")
        world.settle(nodes[0], nodes[1], nodes[2])
        watchers = nodes.map { $0.connect() }
        for watcher in watchers { watcher.say("WATCH bob") }
        world.settle(nodes[0], nodes[1], nodes[2])
        for watcher in watchers { _ = watcher.heard() }
    }

    private func say(_ client: TestClient, _ line: String) -> [String] {
        client.say(line)
        world.settle(nodes[0], nodes[1], nodes[2])
        return client.heard()
    }

    /// Returns what each watcher received, `on` and `off` in short.
    private func told() -> [[String]] {
        watchers.map { watcher in
            watcher.heard().map {
                $0.hasPrefix("EVENT kind=typing conversation=c by=alice at=")
                    ? ($0.contains(" on=true token=") ? "on" : "off") : $0
            }
        }
    }

    @Test func `it is shown on every node once, until it is said to be over`() {
        let client = nodes[1].connect()
        #expect(say(client, "TYPING c alice on") == ["OK"])
        #expect(told() == [["on"], ["on"], ["on"]])
        #expect(say(client, "TYPING c alice on") == ["OK"])
        #expect(told() == [[], [], []])
        #expect(say(client, "TYPING c alice off") == ["OK"])
        #expect(told() == [["off"], ["off"], ["off"]])
        #expect(say(client, "TYPING c alice off") == ["OK"])
        #expect(told() == [[], [], []])
    }

    @Test func `only a participant may, and only in what is there`() {
        let client = nodes[2].connect()
        #expect(say(client, "TYPING c carol on") == ["ERR 403 Only participants can do this"])
        #expect(say(client, "TYPING x alice on") == ["ERR 404 Conversation not found"])
        #expect(say(client, "TYPING c alice").first?.hasPrefix("ERR 400 ") == true)
        #expect(say(client, "TYPING c alice maybe").first?.hasPrefix("ERR 400 ") == true)
        #expect(told() == [[], [], []])
    }

    @Test func `it ends after six seconds, and at once with its connection`() {
        let client = nodes[0].connect()
        _ = say(client, "TYPING c alice on")
        _ = told()
        world.live(milliseconds: 5_500, nodes[0], nodes[1], nodes[2])
        #expect(told() == [[], [], []])
        world.live(milliseconds: 500, nodes[0], nodes[1], nodes[2])
        #expect(told() == [["off"], ["off"], ["off"]])
        _ = say(client, "TYPING c alice on")
        _ = told()
        client.session.assumeIsolated { $0.onClosed() }
        world.settle(nodes[0], nodes[1], nodes[2])
        #expect(told() == [["off"], ["off"], ["off"]])
    }

    @Test func `who watches and types on one connection is told behind the answer`() {
        let client = nodes[0].connect()
        _ = say(client, "WATCH alice")
        let heard = say(client, "TYPING c alice on")
        #expect(heard.first == "OK" && heard.count == 2)
        #expect(heard.last?.hasPrefix("EVENT kind=typing ") == true)
    }

    @Test func `it ends everywhere with what its user sends, on whatever connection, or leaves`() {
        let (one, other, far) = (nodes[0].connect(), nodes[0].connect(), nodes[2].connect())
        for client in [one, other, far] {
            _ = say(one, "TYPING c alice on")
            _ = say(other, "TYPING c alice on")
            _ = told()
            _ = say(client, "SEND c bob hello")
            #expect(told().joined().count { $0 == "off" } == 0)
            #expect(say(client, "SEND c alice hello").first?.hasPrefix("OK id=") == true)
            #expect(told().map { $0.count { $0 == "off" } } == [1, 1, 1])
            #expect(say(one, "TYPING c alice off") == ["OK"])
            #expect(told() == [[], [], []])
        }
        _ = say(one, "TYPING c alice on")
        _ = told()
        #expect(say(far, "LEAVECHAT c alice") == ["OK"])
        #expect(told().map { $0.count { $0 == "off" } } == [1, 1, 1])
    }

    @Test func `a sending that is refused ends nothing, and one on the same read ends it`() {
        let client = nodes[1].connect()
        _ = say(client, "SEND c bob id=m hello")
        client.say("TYPING c alice on", "SEND c alice id=m hello")
        world.settle(nodes[0], nodes[1], nodes[2])
        #expect(client.heard().map { $0.prefix(7) } == ["OK", "ERR 409"])
        #expect(told().map { $0.filter { $0.count < 4 } } == [["on"], ["on"], ["on"]])
        client.say("TYPING c alice on", "SEND c alice id=m2 hello")
        world.settle(nodes[0], nodes[1], nodes[2])
        #expect(client.heard().map { $0.prefix(5) } == ["OK", "OK id"])
        #expect(told().map { $0.filter { $0.count < 4 } } == [["off"], ["off"], ["off"]])
    }

    @Test func `a sending that was stored before ends it, in whatever order both are answered`() {
        for node in nodes {
            let client = node.connect()
            _ = say(client, "SEND c alice id=m hello")
            _ = told()
            client.say("TYPING c alice on", "SEND c alice id=m hello")
            world.settle(nodes[0], nodes[1], nodes[2])
            #expect(client.heard().map { $0.prefix(5) } == ["OK", "OK id"])
            for watcher in told() { #expect(watcher.last { $0.count < 4 } != "on") }
        }
    }

    @Test func `two connections that say the same are one, until both have ended`() {
        let (one, other) = (nodes[0].connect(), nodes[1].connect())
        _ = say(one, "TYPING c alice on")
        _ = say(other, "TYPING c alice on")
        #expect(told() == [["on"], ["on"], ["on"]])
        _ = say(one, "TYPING c alice off")
        #expect(told() == [[], [], []])
        _ = say(other, "TYPING c alice off")
        #expect(told() == [["off"], ["off"], ["off"]])
    }

    @Test func `when its node falls silent it ends within six seconds`() {
        _ = say(nodes[2].connect(), "TYPING c alice on")
        _ = told()
        world.cut(nodes[2])
        world.live(milliseconds: 6_000, nodes[0], nodes[1])
        #expect(told().prefix(2) == [["off"], ["off"]])
    }

    @Test func `what was held up on its way does not count for longer`() {
        let client = nodes[0].connect()
        client.say("TYPING c alice on")
        nodes[0].settle()
        world.pass(milliseconds: 3_000, nodes[1], nodes[2])
        world.settle(nodes[0], nodes[1], nodes[2])
        #expect(told()[1] == ["on"])
        world.cut(nodes[0])
        world.live(milliseconds: 3_000, nodes[1], nodes[2])
        #expect(told()[1] == ["off"])
    }

    @Test func `what was said before a suspension, and came behind it, counts for nothing`() {
        let client = nodes[0].connect()
        world.hold(true, between: nodes[0], and: nodes[1])
        _ = say(client, "TYPING c alice on")
        #expect(told() == [["on"], [], ["on"]])
        // Six seconds less a tick, and the half second by which wall clocks may differ.
        world.clock.suspend(milliseconds: 6_400)
        world.hold(false, between: nodes[0], and: nodes[1])
        world.settle(nodes[0], nodes[1], nodes[2])
        #expect(told() == [[], [], []])
    }

    @Test func `what is shown ends though the machine was suspended meanwhile`() {
        _ = say(nodes[0].connect(), "TYPING c alice on")
        _ = told()
        world.cut(nodes[0])
        world.clock.suspend(milliseconds: 5_700)
        world.pass(milliseconds: 100, nodes[0], nodes[1], nodes[2])
        #expect(told() == [[], [], []])
        world.pass(milliseconds: 100, nodes[0], nodes[1], nodes[2])
        #expect(told() == [["off"], ["off"], ["off"]])
    }

    @Test func `who begins to watch is told who types`() {
        let client = nodes[1].connect()
        _ = say(client, "TYPING c alice on")
        let late = nodes[2].connect()
        let heard = say(late, "WATCH bob")
        #expect(heard.count == 2 && heard.last?.contains(" on=true ") == true)
        let other = nodes[2].connect()
        #expect(say(other, "WATCH carol").count == 1)
    }

    @Test func `one connection types in so many conversations, and no more`() {
        let client = nodes[0].connect()
        for number in 0...Typing.ofConnectionMax { _ = say(client, "CREATE c\(number) alice,bob") }
        for number in 0..<Typing.ofConnectionMax {
            #expect(say(client, "TYPING c\(number) alice on") == ["OK"])
        }
        #expect(
            say(client, "TYPING c\(Typing.ofConnectionMax) alice on").first?.hasPrefix("ERR 429 ")
                == true)
        #expect(say(client, "TYPING c0 alice off") == ["OK"])
        #expect(say(client, "TYPING c\(Typing.ofConnectionMax) alice on") == ["OK"])
    }
}
