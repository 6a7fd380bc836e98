import Testing

@testable import GrapevineClient

/// What is kept on the device, and sent when there is a network again.
@Suite struct OfflineRows {
    private let chat = Stage.chat

    @Test func `a deletion holds after a restart, with and without a network`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1", "b2")
        try stage.alice.act(.delete(conversation: chat, message: "b1"))
        stage.alice.mute()
        try stage.restart(stage.alice)
        stage.alice.line.isUp = false
        #expect(try stage.ids(stage.alice) == ["b2"])
        try stage.restore(stage.alice)
        try stage.restart(stage.alice)
        try stage.settle()
        #expect(try stage.ids(stage.alice) == ["b2"])
        #expect(try stage.ids(stage.tablet) == ["b2"])
    }

    @Test func `deletions and edits wait without a network, and are executed with one`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1", "b2")
        try stage.cut(stage.alice)
        try stage.alice.act(.delete(conversation: chat, message: "b1"))
        try stage.alice.act(.edit(conversation: chat, message: "b2", text: "new"))
        try stage.run.pass(10_000)
        #expect(stage.waiting(stage.alice) == 2)
        #expect(try stage.texts(stage.alice) == ["new"])
        #expect(try stage.ids(stage.tablet) == ["b1", "b2"])
        try stage.restore(stage.alice)
        #expect(stage.waiting(stage.alice) == 0)
        #expect(try stage.texts(stage.tablet) == ["new"])
    }

    @Test func `a change and its operation are stored as one`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1")
        let store = try #require(stage.alice.core?.store)
        stage.alice.mute()
        try stage.alice.act(.delete(conversation: chat, message: "b1"))
        #expect(try store.operations().count == 1)
        try stage.restart(stage.alice)
        try stage.settle()
        // Of the answer too: the consequence is there, and the operation gone.
        #expect(try store.operations().isEmpty)
        #expect(try store.message("b1", in: chat)?.isHidden(for: "alice") == true)
    }

    @Test func `messages wait in order, keep their ids, and are there after the app was ended`()
        throws
    {
        let stage = try Stage()
        try stage.cut(stage.alice)
        let ids = (1...5).map { "b\($0)" }
        for id in ids { try stage.alice.act(Stage.send(id)) }
        #expect(try stage.messages(stage.alice).map(\.isSynced) == ids.map { _ in false })
        try stage.restart(stage.alice)
        #expect(try stage.ids(stage.alice) == ids)
        try stage.restore(stage.alice)
        #expect(try stage.messages(stage.alice).map(\.isSynced) == ids.map { _ in true })
        #expect(try stage.ids(stage.alice) == ids)
        #expect(try stage.ids(stage.bob) == ids)
        let sent = stage.alice.requests.filter { $0.hasPrefix("POST") }
        #expect(sent.count == ids.count && stage.alice.allViolations.isEmpty)
    }

    @Test func `what was deleted is gone after leaving the conversation and coming back`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1", "b2")
        try stage.alice.act(.delete(conversation: chat, message: "b1"))
        stage.alice.core?.close(chat)
        stage.alice.core?.open(chat)
        stage.alice.arm()
        #expect(try stage.ids(stage.alice) == ["b2"])
        try stage.settle()
        #expect(try stage.ids(stage.alice) == ["b2"])
    }

    @Test func `what waits is sent within a second of the network, without the user`() throws {
        let stage = try Stage()
        for round in 0..<100 {
            try stage.cut(stage.alice)
            try stage.alice.act(Stage.send("b\(round)"))
            stage.alice.line.isUp = true
            try stage.run.pass(1_000)
            #expect(stage.waiting(stage.alice) == 0, "round \(round)")
        }
        try stage.settle()
        #expect(try stage.ids(stage.bob).count == 100)
    }

    @Test func `what waits is sent within fifty milliseconds of the connection`() throws {
        let stage = try Stage()
        var entries: [LogEntry] = []
        stage.alice.core?.logger = { entries.append($0) }
        try stage.cut(stage.alice)
        try stage.alice.act(Stage.send("b1"))
        try stage.restore(stage.alice)
        let started = try #require(entries.first { $0.text.hasPrefix("sync started") })
        let seconds = started.text.split(separator: "=").last.flatMap { Double($0) }
        #expect(seconds.map { $0 <= 0.05 } == true, "\(started)")
        let synced = entries.map(\.text).filter { $0.hasPrefix("synced action=send message=b1") }
        #expect(synced.count == 1)
    }

    @Test func `nothing is sent without a connection`() throws {
        let stage = try Stage()
        stage.alice.core?.set(.paused(.debug))
        try stage.run.pass(100)
        let requests = stage.alice.requests.count
        try stage.alice.act(Stage.send("b1"))
        stage.alice.core?.retry()
        stage.alice.arm()
        try stage.run.pass(60_000)
        #expect(stage.alice.requests.count == requests && stage.waiting(stage.alice) == 1)
    }

    @Test func `what was missed is told by another node`() throws {
        let stage = try Stage()
        try stage.cut(stage.alice)
        try stage.send(stage.bob, "b1", "b2")
        let node = try #require(stage.alice.core?.machines.link.node)
        stage.run.cluster.kill(node)
        try stage.restore(stage.alice)
        try stage.run.pass(3_000)
        #expect(stage.alice.core?.machines.link.state == .online)
        #expect(try stage.ids(stage.alice) == ["b1", "b2"])
        #expect(try stage.row(stage.alice)?.lastMessage.text == "text of b2")
    }

    @Test func `a node that is started again under a client is noticed`() throws {
        let stage = try Stage()
        let node = try #require(stage.alice.core?.machines.link.node)
        for index in stage.run.cluster.nodes.indices { stage.run.cluster.kill(index) }
        try stage.alice.act(Stage.send("b1"))
        try stage.run.pass(5_000)
        stage.run.cluster.nodes[node].isUp = true
        // It is the only one of three, which are tried in turn.
        try stage.run.pass(4_000)
        #expect(stage.waiting(stage.alice) == 0)
    }

    @Test func `who begins to listen late learns the present state`() throws {
        let stage = try Stage()
        #expect(stage.alice.core?.machines.link.state == .online)
        try stage.alice.act(Stage.send("b1"))
        try stage.run.pass(1_000)
        #expect(stage.waiting(stage.alice) == 0)
    }

    @Test func `a thousand changes of the network lose nothing`() throws {
        let stage = try Stage()
        for round in 0..<1_000 {
            stage.alice.core?.set(round % 2 == 0 ? .paused(.debug) : .connected)
            stage.alice.arm()
            if round % 100 == 0 { try stage.alice.act(Stage.send("b\(round)")) }
            try stage.run.pass(Int64(round % 7))
        }
        try stage.settle()
        #expect(stage.waiting(stage.alice) == 0)
        #expect(try stage.ids(stage.bob).count == 10)
    }

    @Test func `what is added while others are sent is sent, too`() throws {
        let stage = try Stage()
        for number in 0..<30 {
            try stage.alice.act(Stage.send("b\(number)"))
            stage.alice.core?.retry()
            try stage.run.pass(3)
        }
        try stage.settle()
        #expect(stage.waiting(stage.alice) == 0)
        #expect(try stage.ids(stage.bob) == (0..<30).map { "b\($0)" })
    }
}
