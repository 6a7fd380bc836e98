import Testing

@testable import GrapevineClient

/// The list of chats beside the chats.
@Suite struct ListRows {
    private let chat = Stage.chat

    /// The row says what the messages say.
    private func expectAgreement(_ stage: Stage, _ client: ModelClient) throws {
        let messages = try stage.messages(client)
        let last = messages.last { !$0.isDeletedForEveryone }
        let row = try #require(try stage.row(client))
        #expect(row.lastMessage.text == last?.text ?? LastMessage.nothing.text)
        #expect(row.lastMessage.senderId == last?.senderId ?? "")
    }

    @Test func `the row and the conversation say the same after every change`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1", "b2", "b3")
        let changes: [Action] = [
            .edit(conversation: chat, message: "b3", text: "new"),
            .delete(conversation: chat, message: "b3"),
            .deleteForEveryone(conversation: chat, message: "b2"),
            .restore(conversation: chat, message: "b3"),
            .deleteForEveryone(conversation: chat, message: "b3"),
            .delete(conversation: chat, message: "b1"), Stage.send("b4"),
        ]
        for change in changes {
            try stage.alice.act(change)
            try expectAgreement(stage, stage.alice)
            try stage.settle()
            for client in stage.run.clients { try expectAgreement(stage, client) }
        }
    }

    @Test func `the row of this device is that of the nodes`() throws {
        let stage = try Stage()
        try stage.send(stage.bob, "b1", "b2")
        try stage.alice.act(.delete(conversation: chat, message: "b2"))
        try stage.settle()
        let node = stage.run.cluster.nodes[0]
        let row = try #require(try stage.row(stage.alice))
        #expect(row.lastMessage.text == node.shown(chat, "alice").last?.text)
        #expect(row.unreadCount == node.unread(chat, "alice") && row.unreadCount == 1)
    }

    @Test func `archived conversations are in one list, and the others in the other`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1")
        try stage.alice.act(.archive(conversation: "dinner"))
        var list = try #require(try stage.alice.core?.conversations())
        #expect(list.filter(\.isArchived).map(\.id) == ["dinner"])
        #expect(list.first?.id == chat && list[1].isArchivedByUser("alice"))
        try stage.settle()
        let other = try #require(try stage.tablet.core?.conversations())
        #expect(other.filter(\.isArchived).map(\.id) == ["dinner"])
        #expect(try stage.bob.core?.conversations().filter(\.isArchived) == [])
        try stage.alice.act(.unarchive(conversation: "dinner"))
        list = try #require(try stage.alice.core?.conversations())
        #expect(list.filter(\.isArchived).isEmpty)
    }

    @Test func `unread messages are counted anew, not up`() throws {
        let stage = try Stage()
        try stage.send(stage.bob, "b1", "b2", "b3")
        #expect(try stage.row(stage.alice)?.unreadCount == 3)
        try stage.bob.act(.deleteForEveryone(conversation: chat, message: "b2"))
        try stage.settle()
        #expect(try stage.row(stage.alice)?.unreadCount == 2)
        stage.alice.view(chat)
        #expect(try stage.row(stage.alice)?.unreadCount == 0)
        try stage.settle()
        #expect(try stage.row(stage.tablet)?.unreadCount == 0)
    }

    @Test func `a row that is older than a deletion is read again`() throws {
        let run = try ModelRun(seed: 1)
        let (alice, bob) = (run.clients[0], run.clients[1])
        try bob.start(run.conversations)
        // More than a device reads at first: it has the number of unread messages from the row.
        let ids = (1...60).map { "b\($0)" }
        for id in ids { try bob.act(Stage.send(id)) }
        try settle(run)
        try alice.start(run.conversations)
        try settle(run)
        #expect(try alice.core?.listed(chat)?.unreadCount == 60)

        try bob.act(Stage.send("late"))
        try settle(run)
        alice.line.lateness["/v1/chats/" + chat] = 1_900
        try bob.act(.edit(conversation: chat, message: "b1", text: "read the row"))
        try settle(run)
        try bob.act(.deleteForEveryone(conversation: chat, message: "late"))
        try settle(run)
        alice.line.lateness = [:]
        for _ in 0..<5 { try settle(run) }
        #expect(try alice.core?.listed(chat)?.unreadCount == 60)
    }

    private func settle(_ run: ModelRun) throws {
        run.cluster.replicate()
        try run.pass(500)
        run.cluster.replicate()
        try run.pass(500)
    }

    @Test func `a device shows what a new one shows that has stored nothing`() throws {
        let stage = try Stage()
        try stage.send(stage.bob, "b1", "b2", "b3")
        try stage.alice.act(.delete(conversation: chat, message: "b1"))
        try stage.bob.act(.deleteForEveryone(conversation: chat, message: "b2"))
        try stage.alice.act(.pin(conversation: chat, message: "b3"))
        try stage.settle()
        let fresh = try ModelClient(
            "new", user: "alice", at: stage.run.cluster, lead: 0)
        try fresh.start(stage.run.conversations)
        try stage.settle()
        let shown = try fresh.messages(chat)
        #expect(try stage.alice.messages(chat) == shown)
        #expect(shown.map(\.id) == ["b2", "b3"])
    }
}
