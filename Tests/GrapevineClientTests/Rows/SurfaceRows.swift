import Foundation
import GrapevineClient
import Testing

/// The names that apps with a hosted database use: if one is missing, this does not compile.
@Suite struct SurfaceRows {
    @Test func `four services and two models take the place of the documents' managers`() {
        func services(
            _ client: GrapevineClient
        ) -> (AuthService, MessagingService, ProfileService, DataService) {
            (client.auth, client.messaging, client.profiles, client.data)
        }
        func models(_ client: GrapevineClient) async -> (ConversationListModel, ConversationModel) {
            await (
                ConversationListModel(client: client),
                ConversationModel(client: client, conversationId: "c")
            )
        }
        _ = (services, models)
    }

    @Test func `messages are changed by the documents' calls`() {
        func call(_ messaging: MessagingService) async throws {
            try await messaging.deleteMessage(
                messageId: "m", conversationId: "c", deleteForEveryone: true)
            try await messaging.editMessage(messageId: "m", conversationId: "c", newText: "t")
            await messaging.setTyping(conversationId: "c", userId: "u", isTyping: true)
            try await messaging.pinMessage("m", in: "c")
            try await messaging.unpinMessage("m")
            let _: [Message] = try await messaging.fetchPinnedMessages(in: "c")
            try await messaging.archiveConversation("c")
            try await messaging.unarchiveConversation("c")
            let _: [Conversation] = try await messaging.fetchArchivedConversations()
            let _: [Conversation] = try await messaging.fetchActiveConversations()
            await messaging.processPendingMessages()
        }
        _ = call
    }

    /// Opens a client in a folder of its own, without a node that answers, and deletes the folder.
    private func withClient(_ body: (GrapevineClient) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "surface-\(UUID().uuidString)")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let node = try #require(URL(string: "http://127.0.0.1:1"))
        try await body(GrapevineClient.open(nodes: [node], directory: folder))
    }

    @Test func `a change without a sign-in is refused with the documents' sentence`() async throws {
        try await withClient { client in
            func expectRefusal(_ call: (MessagingService) async throws -> Void) async {
                let error = await #expect(throws: GrapevineError.self) {
                    try await call(client.messaging)
                }
                #expect(error == .unauthorized && error?.message == "User not authenticated")
            }
            await expectRefusal { messaging in
                try await messaging.deleteMessage(
                    messageId: "m", conversationId: "c", deleteForEveryone: false)
            }
            await expectRefusal { messaging in
                try await messaging.editMessage(
                    messageId: "m", conversationId: "c", newText: "t")
            }
            await expectRefusal { messaging in try await messaging.archiveConversation("c") }
            var states = client.connection.makeAsyncIterator()
            #expect(await states.next() == .signedOut)
        }
    }

    @Test @MainActor func `a refused edit keeps its text and its message`() async throws {
        try await withClient { client in
            let model = ConversationModel(client: client, conversationId: "c")
            let message = Message(id: "m", conversationId: "c", senderId: "u", text: "old")
            model.edit(message)
            model.draft = "new"
            await model.submit()
            #expect(model.error == .unauthorized)
            #expect(model.draft == "new" && model.editing == message)
            model.cancelEditing()
            #expect(model.draft.isEmpty && model.editing == nil)
        }
    }

    @Test @MainActor func `a list that cannot be changed says why, and does not load on`()
        async throws
    {
        try await withClient { client in
            let model = ConversationListModel(client: client)
            #expect(model.isLoading)
            model.appear()
            while model.isLoading { try await Task.sleep(for: .milliseconds(5)) }
            await model.archive(Conversation(id: "c", participantIds: []))
            #expect(model.error == .unauthorized && model.totalUnread == 0)
            model.disappear()
        }
    }

    @Test func `a decision about a notification is logged`() async throws {
        try await withClient { client in
            let message = Message(id: "m", conversationId: "c", senderId: "u", text: "Hi")
            let context = NotificationContext(
                userId: "me", isInForeground: true, viewedConversationId: "d")
            var log = client.data.log().makeAsyncIterator()
            let asking = Task {
                while !Task.isCancelled {
                    let decision = await client.data.notificationDecision(
                        for: message, in: context)
                    #expect(decision == .notify)
                    await Task.yield()
                }
            }
            let entry = await log.next()
            asking.cancel()
            let words = "notification message=m conversation=c viewed=d foreground=true"
            #expect(entry?.text == words + " decision=notify")
        }
    }
}
