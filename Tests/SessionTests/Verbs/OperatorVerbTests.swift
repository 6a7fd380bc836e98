import Node
import NodeKit
import Testing

/// An operator's requests that concern a node's part in the cluster.
@Suite struct OperatorVerbTests {
    private let forbidden = "ERR 403 This node was started without --faults: it cannot be cut off"
    private let unknown = "ERR 404 No such node; MEMBERS lists them all"
    private let oneself = "ERR 400 That is this node itself; name another"

    @Test func `a node is cut off only if it was started for it`() {
        let world = World()
        _ = world.join("n2")
        #expect(
            world.n1.connect().ask("BLOCK n2", "BLOCK n2 in", "UNBLOCK n2", "UNBLOCK *")
                == Array(repeating: forbidden, count: 4))
    }

    @Test func `only another member is cut off`() {
        let world = World(mayBlock: true)
        _ = world.join("n2")
        let client = world.n1.connect()
        #expect(client.ask("BLOCK n9", "UNBLOCK n9") == [unknown, unknown])
        #expect(client.ask("BLOCK n1", "BLOCK n1 out") == [oneself, oneself])
        #expect(client.ask("UNBLOCK n1") == [oneself])
        #expect(client.ask("BLOCK n2 out", "BLOCK n2", "UNBLOCK n2") == ["OK", "OK", "OK"])
        #expect(client.ask("UNBLOCK n2", "UNBLOCK *") == ["OK", "OK"])
    }

    @Test(arguments: [("both", true, true), ("in", true, false), ("out", false, true)])
    func `a cut drops what comes, what goes, or both, until it is ended`(
        _ direction: String, _ dropsComing: Bool, _ dropsGoing: Bool
    ) {
        let world = World(mayBlock: true)
        let joined = world.join("n2")
        let mine = world.n1.connect()
        let theirs = joined.connect()
        #expect(mine.ask("BLOCK n2 \(direction)") == ["OK"])
        _ = mine.ask("SET ack=local", "CREATE here alice,bob")
        _ = theirs.ask("SET ack=local", "CREATE there alice,bob")
        world.settle(world.n1, joined)
        let lost = ["ERR 404 Conversation not found"]
        #expect((mine.ask("HISTORY there bob") == lost) == dropsComing)
        #expect((theirs.ask("HISTORY here bob") == lost) == dropsGoing)
        #expect(mine.ask("UNBLOCK *") == ["OK"])
        world.live(milliseconds: 10_000, world.n1, joined)
        #expect(mine.ask("HISTORY there bob") == ["OK"])
        #expect(theirs.ask("HISTORY here bob") == ["OK"])
        #expect(mine.ask("DIGEST") == theirs.ask("DIGEST"))
    }

    @Test func `only a dead member is forgotten`() {
        let world = World()
        _ = world.join("n2")
        let client = world.n1.connect()
        #expect(client.ask("FORGET n9") == [unknown])
        #expect(
            client.ask("FORGET n1") == [
                "ERR 400 A node cannot forget itself; LEAVE takes it out of the cluster"
            ])
        #expect(
            client.ask("FORGET n2") == [
                "ERR 409 That node is not dead: ask it to LEAVE, or stop it and wait until it is"
            ])
    }

    @Test func `a node leaves only where another takes over`() {
        let world = World()
        let client = world.n1.connect()
        #expect(
            client.ask("LEAVE") == [
                "ERR 503 No other node can take over what this one holds; "
                    + "SHUTDOWN stops it as it is"
            ])
        #expect(world.n1.host.assumeIsolated { $0.ending } == nil)
        let joined = world.join("n2")
        #expect(client.ask("LEAVE") == ["OK"])
        world.live(milliseconds: 10_000, world.n1, joined)
        #expect(world.n1.host.assumeIsolated { $0.ending } != nil)
        #expect(joined.host.assumeIsolated { $0.ending } == nil)
    }

    @Test func `where all nodes leave at once, the first stays and the others end`() {
        let world = World()
        let joined = world.join("n2")
        let (client, other) = (world.n1.connect(), joined.connect())
        _ = client.ask("SET ack=local", "CREATE c alice,bob")
        world.settle(world.n1, joined)
        #expect(client.ask("LEAVE") == ["OK"])
        #expect(other.ask("LEAVE") == ["OK"])
        world.live(milliseconds: 10_000, world.n1, joined)
        #expect(world.n1.host.assumeIsolated { $0.ending } == nil)
        #expect(joined.host.assumeIsolated { $0.ending } == .shutdown)
        #expect(client.ask("READY", "HISTORY c bob") == ["OK", "OK"])
    }

    @Test func `a node that leaves stays where the only other one is forgotten meanwhile`() {
        let world = World(mayBlock: true)
        let joined = world.join("n2")
        let client = world.n1.connect()
        _ = client.ask("SET ack=local", "CREATE c alice,bob")
        world.settle(world.n1, joined)
        world.cut(joined)
        #expect(client.ask("LEAVE") == ["OK"])
        world.live(milliseconds: 60_000, world.n1)
        #expect(client.ask("FORGET n2") == ["OK"])
        world.live(milliseconds: 10_000, world.n1)
        #expect(world.n1.host.assumeIsolated { $0.ending } == nil)
        #expect(client.ask("READY", "HISTORY c bob") == ["OK", "OK"])
    }

    @Test func `who is told to join dials the address that it was told`() {
        let world = World()
        _ = world.n1.host.assumeIsolated { $0.takeDialed() }
        #expect(world.n1.connect().ask("JOIN n7:7101") == ["OK"])
        world.pass(milliseconds: 1_000, world.n1)
        #expect(world.n1.host.assumeIsolated { $0.takeDialed() }.contains("n7:7101"))
    }

    @Test func `only so many addresses are asked at once`() {
        let client = World().n1.connect()
        let asked = (1...100).map { "JOIN n2:\($0)" }
        let full = "ERR 429 100 addresses have not answered yet; a restart gives them up"
        #expect(client.ask("JOIN n2:1") == ["OK"])
        for line in asked { #expect(client.ask(line) == ["OK"]) }
        #expect(client.ask("JOIN n2:101", "JOIN n2:100") == [full, "OK"])
    }
}
