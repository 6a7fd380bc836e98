import Testing

/// In which order watchers are told of what came from different nodes.
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

    /// Who watches on the third node, which has an answer and not what it answers.
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
}
