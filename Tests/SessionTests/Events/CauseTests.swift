import Node
import NodeKit
import Session
import Testing
import Wire

/// The order in which watchers receive events of different nodes.
@Suite struct CauseTests {
    private let world = World()
    private let nodes: [TestNode]

    init() {
        let second = world.join("n2")
        nodes = [world.n1, second, world.join("n3", dialing: second)]
        say(0, "CREATE c alice,bob")
        world.live(milliseconds: 1_000, nodes[0], nodes[1], nodes[2])
    }

    private func settle() { world.settle(nodes[0], nodes[1], nodes[2]) }

    private func say(_ node: Int, _ line: String) {
        nodes[node].connect().say("SET ack=local\n" + line)
        settle()
    }

    /// Returns the token at the end of the last line; an empty one where there is none.
    private func lastToken(in heard: [String]) -> String {
        heard.last?.split(separator: "token=").last.map(String.init) ?? ""
    }

    /// Returns a watcher on the third node, which has an answer but not the message that it
    /// answers.
    private func answered() -> TestClient {
        let watcher = nodes[2].connect()
        watcher.say("WATCH bob")
        settle()
        _ = watcher.heard()
        world.hold(true, between: nodes[0], and: nodes[2])
        say(0, "SEND c alice question")
        say(1, "SEND c bob answer")
        return watcher
    }

    @Test func `an answer is told behind what it answers, whichever came first`() {
        let watcher = answered()
        #expect(watcher.heard().isEmpty)
        world.hold(false, between: nodes[0], and: nodes[2])
        settle()
        let heard = watcher.heard()
        #expect(heard.map { $0.contains("question") } == [true, false])
        #expect(heard.map { $0.contains("answer") } == [false, true])
    }

    @Test func `who begins to watch is told behind what was named before`() {
        world.hold(true, between: nodes[0], and: nodes[2])
        say(0, "SEND c alice question")
        say(1, "SEND c bob answer")
        let watcher = nodes[2].connect()
        watcher.say("WATCH bob")
        settle()
        _ = watcher.heard()
        say(1, "SEND c bob again")
        #expect(watcher.heard().isEmpty)
        world.hold(false, between: nodes[0], and: nodes[2])
        settle()
        #expect(watcher.heard().map { $0.contains("question") } == [true, false])
    }

    @Test func `what the answered node does not say is asked of who has it`() {
        let watcher = answered()
        world.live(milliseconds: 500, nodes[0], nodes[1], nodes[2])
        #expect(watcher.heard().map { $0.contains("question") } == [true, false])
    }

    @Test func `a cause that nobody has is not waited for without end`() {
        let watcher = answered()
        world.cut(nodes[0])
        world.cut(nodes[1])
        world.pass(milliseconds: 1_500, nodes[2])
        #expect(watcher.heard().isEmpty)
        world.pass(milliseconds: 1_000, nodes[2])
        #expect(watcher.heard().map { $0.contains("answer") } == [true])
    }

    @Test func `who is told of a message as it was before an edit is told of the edit again`() {
        func token(of watcher: TestClient, hearing text: String) -> String {
            let heard = watcher.heard()
            #expect(heard.contains { $0.contains("text=\(text)") })
            return lastToken(in: heard)
        }
        for node in [nodes[1], nodes[2]] { world.hold(true, between: nodes[0], and: node) }
        let first = nodes[0].connect()
        first.say("WATCH bob")
        settle()
        say(0, "SEND c alice id=m one")
        say(0, "EDIT c m alice two")
        let edited = token(of: first, hearing: "two")
        say(1, "SEND c alice id=m one")
        let second = nodes[1].connect()
        second.say("WATCH bob since=\(edited)")
        world.pass(milliseconds: 2_500, nodes[1])
        let sent = token(of: second, hearing: "one")
        for node in [nodes[1], nodes[2]] { world.hold(false, between: nodes[0], and: node) }
        let third = nodes[0].connect()
        third.say("WATCH bob since=\(sent)")
        settle()
        _ = token(of: third, hearing: "two")
    }

    @Test func `who comes back is told what was told while a later cause is awaited`() {
        let first = nodes[2].connect()
        first.say("WATCH bob")
        settle()
        let token = lastToken(in: first.heard())
        world.hold(true, between: nodes[0], and: nodes[2])
        say(0, "SEND c alice question")
        say(1, "SEND c bob answer")
        // The second node is never silent for long enough to be asked.
        world.clock.advance(milliseconds: 700)
        say(1, "SEND c bob again")
        world.clock.advance(milliseconds: 700)
        say(0, "SEND c alice late")
        say(1, "SEND c bob reply")
        world.clock.advance(milliseconds: 700)
        world.pass(milliseconds: Node.tickMilliseconds, nodes[2])
        #expect(first.heard().map { $0.contains("text=answer") } == [true])
        let watcher = nodes[2].connect()
        watcher.say("WATCH bob since=\(token)")
        nodes[2].settle()
        world.pass(milliseconds: 2_000, nodes[2])
        let told = watcher.heard().filter { $0.hasPrefix("EVENT ") }
        for text in ["answer", "again", "reply"] {
            #expect(told.contains { $0.contains("text=\(text)") })
        }
    }

    /// A message reaches the third node before its conversation, which is waited for in vain, and
    /// changes before the conversation comes.
    private func changeUnheardOf(_ whenAnnounced: () -> Void = {}) {
        world.hold(true, between: nodes[0], and: nodes[2])
        say(0, "CREATE k alice,bob")
        say(1, "SEND k alice id=m first")
        world.pass(milliseconds: 2_500, nodes[2])
        whenAnnounced()
        say(1, "EDIT k m alice second")
        world.hold(false, between: nodes[0], and: nodes[2])
        settle()
    }

    /// Returns the events of that message that a watcher received.
    private func told(to watcher: TestClient) -> [String] {
        watcher.heard().filter { $0.contains(" id=m ") }
            .map { $0.contains("text=second") ? String($0.prefix(18)) : $0 }
    }

    @Test func `what came before its conversation is told with that, though it changed since`() {
        let watcher = nodes[2].connect()
        watcher.say("WATCH bob")
        settle()
        _ = watcher.heard()
        changeUnheardOf()
        #expect(told(to: watcher) == ["EVENT kind=message"])
    }

    @Test func `who was away is told what came before its conversation, and changed since`() {
        let first = nodes[2].connect()
        first.say("WATCH bob")
        settle()
        var token = ""
        changeUnheardOf {
            say(2, "SEND c alice hello")
            token = lastToken(in: first.heard())
            first.session.assumeIsolated { $0.onClosed() }
        }
        #expect(!token.isEmpty)
        let watcher = nodes[2].connect()
        watcher.say("WATCH bob since=\(token)")
        settle()
        #expect(told(to: watcher) == ["EVENT kind=message"])
    }

    @Test func `who comes back while a feed is being read is told what was read before`() throws {
        let shard = ShardID(of: "c", count: 4)
        let k = try #require(
            (0..<100).map { "k\($0)" }.first { ShardID(of: $0, count: 4) == shard })
        let first = nodes[2].connect()
        first.say("WATCH bob")
        world.hold(true, between: nodes[0], and: nodes[2])
        say(0, "CREATE \(k) alice,bob")
        let names = (0..<100).map { "m\($0)" }
        say(1, names.map { "SEND \(k) alice id=\($0) text" }.joined(separator: "\n"))
        world.pass(milliseconds: 2_500, nodes[2])
        nodes[2].connect().say("SET ack=local", "SEND c alice hello")
        nodes[2].settle()
        let token = lastToken(in: first.heard())
        // The conversation comes after more messages than are read at once.
        let store = nodes[2].store
        store.assumeIsolated { $0.hold(true) }
        world.hold(false, between: nodes[0], and: nodes[2])
        settle()
        nodes[2].complete()
        for _ in 0..<2 { nodes[2].turn() }
        let count = first.heard().count { $0.hasPrefix("EVENT kind=message ") }
        #expect((1..<names.count).contains(count))
        let watcher = nodes[2].connect()
        watcher.say("WATCH bob since=\(token)")
        store.assumeIsolated { $0.hold(false) }
        settle()
        let told = watcher.heard().filter { $0.hasPrefix("EVENT kind=message ") }
        let lacked = names.filter { name in !told.contains { $0.contains(" id=\(name) ") } }
        #expect(lacked.isEmpty)
    }

    @Test func `who was told of one side of a cut is told what comes of both`() {
        for other in [nodes[1], nodes[2]] { world.hold(true, between: nodes[0], and: other) }
        let watcher = nodes[0].connect()
        watcher.say("WATCH alice")
        settle()
        say(0, "SEND c alice id=m one")
        say(0, "DELETE c m alice")
        world.clock.advance(milliseconds: 10)
        say(1, "SEND c alice id=m one")
        _ = watcher.heard()
        for other in [nodes[1], nodes[2]] { world.hold(false, between: nodes[0], and: other) }
        settle()
        // Nothing is new to this node, but to a watcher that saw on the other side that the message
        // shows.
        let told = watcher.heard().filter { $0.contains(" id=m ") }
        #expect(told.count == 1 && told[0].hasPrefix("EVENT kind=delete "))
    }

    @Test func `who was told elsewhere of what is undone since is told that it is`() throws {
        say(0, "SEND c alice id=m one")
        for other in [nodes[1], nodes[2]] { world.hold(true, between: nodes[0], and: other) }
        let first = nodes[0].connect()
        first.say("WATCH alice")
        settle()
        say(0, "DELETE c m alice\nPIN c m alice")
        let token = lastToken(in: first.heard())
        let watcher = nodes[1].connect()
        watcher.say("WATCH alice since=\(token)")
        // The node does not wait for ever for what it lacks of the token.
        world.pass(milliseconds: 2_000, nodes[1])
        #expect(watcher.heard().contains { $0.hasPrefix("OK ") })
        say(0, "RESTORE c m alice\nUNPIN c m alice")
        for other in [nodes[1], nodes[2]] { world.disconnect(nodes[0], from: other) }
        world.live(milliseconds: 3_000, nodes[0], nodes[1], nodes[2])
        let told = watcher.heard().filter { $0.contains(" id=m ") }
        for kind in ["restore", "unpin"] {
            #expect(told.contains { $0.hasPrefix("EVENT kind=\(kind) ") })
        }
    }
}
