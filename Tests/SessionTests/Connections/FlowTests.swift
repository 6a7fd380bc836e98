import Node
import NodeKit
import StorePort
import Testing

@testable import Session

@Suite struct FlowTests {
    private let world = World()
    private var node: TestNode { world.n1 }

    @Test func `lines wait while too many replies do`() {
        let client = node.connect()
        #expect(client.ask("CREATE c alice,bob") == ["OK"])
        node.store.assumeIsolated { $0.hold(true) }
        let sends = (0..<1_500).map { "SEND c alice id=m\($0) text\n" }.joined()
        client.feed(sends)
        #expect(client.isPaused)
        node.turn()
        node.complete()
        #expect(client.heard().count == SessionLimits.slotsMax)
        node.turn()
        node.complete()
        let ids = client.heard().map(id)
        #expect(ids == (SessionLimits.slotsMax..<1_500).map { "m\($0)" })
        #expect(!client.isPaused)
    }

    @Test func `a client that does not read is not read`() {
        let client = node.connect()
        let text = String(repeating: "x", count: 16_000)
        #expect(client.ask("CREATE c alice,bob") == ["OK"])
        for number in 0..<50 {
            _ = client.ask("SEND c alice id=m\(number) \(text)")
        }
        client.clog(true)
        client.feed(String(repeating: "HISTORY c bob\n", count: 10))
        #expect(client.isPaused)
        #expect(client.output.assumeIsolated { $0.queuedBytes } < 3 << 20)
        client.say("PING")
        var heard = 0
        for _ in 0..<10 {
            heard += client.heardLineEnds()
            client.clog(false)
            client.clog(true)
        }
        #expect(heard + client.heardLineEnds() == 10 * 51 + 1)
        client.clog(false)
        #expect(!client.isPaused)
    }

    @Test func `replies that wait for the disk count as much as those that do not`() {
        let client = node.connect()
        let text = String(repeating: "x", count: 16_000)
        #expect(client.ask("CREATE c alice,bob") == ["OK"])
        for number in 0..<50 {
            _ = client.ask("SEND c alice id=m\(number) \(text)")
        }
        node.store.assumeIsolated { $0.hold(true) }
        client.say("SEND c alice id=last text")
        node.turn()
        client.feed(String(repeating: "HISTORY c bob\n", count: 100))
        #expect(client.isPaused)
        node.complete()
        var heard = client.heard().count
        #expect(heard < 300)
        for _ in 0..<100 where client.isPaused {
            client.clog(false)
            heard += client.heard().count
        }
        #expect(heard == 1 + 100 * 51)
        #expect(!client.isPaused)
    }

    @Test func `who stops sending hears all the answers`() {
        let client = node.connect()
        node.store.assumeIsolated { $0.hold(true) }
        client.feed("CREATE c alice,bob\nSEND c alice id=m1 hello\nPING\nSEND c al")
        client.end()
        node.turn()
        #expect(!client.isFinished)
        node.complete()
        #expect(
            client.heard().map { $0.prefix(8) } == ["OK", "OK id=m1", "OK pong", "ERR 400 "])
        #expect(client.isFinished)
    }

    @Test func `a last line without its end does nothing`() {
        let client = node.connect()
        client.feed("CREATE c alice,bob")
        client.end()
        #expect(client.heard() == ["ERR 400 line not ended"])
        #expect(client.isFinished)
        #expect(node.connect().ask("HISTORY c bob") == ["ERR 404 Conversation not found"])
    }

    @Test func `who sends nothing hears nothing`() {
        let client = node.connect()
        client.feed("\n  \n\r\n")
        client.end()
        #expect(client.heard().isEmpty)
        #expect(client.isFinished)
    }

    @Test func `bad lines cost one line each`() {
        let client = node.connect()
        let long = String(repeating: "x", count: 70_000)
        client.feed("NONSENSE\n" + long + "\nSEND\nSEND c alice a\0b\nPING\r\n")
        #expect(
            client.heard() == [
                "ERR 400 Unknown verb NONSENSE; HELP lists them all",
                "ERR 413 Line too long: at most 65536 bytes",
                "ERR 400 Missing <conversation>; usage: SEND <conversation> <user> [id=<id>] "
                    + "[type=text|image|voice|system|action] [item=<id>] [blob=<id>] "
                    + "[preview=<id>] <text>",
                "ERR 400 A NUL character is not allowed",
                "OK pong",
            ])
    }

    @Test func `a session that was held goes on`() {
        let client = node.connect()
        client.session.assumeIsolated { $0.setHeld(true) }
        #expect(client.isPaused)
        client.say("PING", "PING")
        #expect(client.heard().isEmpty)
        client.session.assumeIsolated { $0.setHeld(false) }
        #expect(client.heard() == ["OK pong", "OK pong"])
        #expect(!client.isPaused)
    }

    @Test func `what settles after a connection is gone goes nowhere`() {
        let client = node.connect()
        #expect(client.ask("CREATE c alice,bob") == ["OK"])
        node.store.assumeIsolated { $0.hold(true) }
        client.feed((0..<1_500).map { "SEND c alice id=m\($0) text\n" }.joined() + "WAIT 2 100\n")
        node.turn()
        client.session.assumeIsolated { $0.onClosed() }
        client.session.assumeIsolated { $0.onSettled(3, .failed(.full)) }
        client.session.assumeIsolated { $0.setHeld(true) }
        client.session.assumeIsolated { $0.setHeld(false) }
        node.complete()
        #expect(client.heard().isEmpty)
    }

    @Test func `a shutdown holds the session that asks for it, behind a WAIT too`() {
        let client = node.connect()
        let session = client.session
        node.host.assumeIsolated {
            $0.atEnd { session.assumeIsolated { $0.setHeld(true) } }
        }
        client.say("WAIT 0 0", "SHUTDOWN", "PING")
        node.settle()
        #expect(client.heard() == ["OK replicas=1", "OK"])
        #expect(node.host.assumeIsolated { $0.ending } == .shutdown)
        #expect(client.isPaused)
    }
}
