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

    @Test func `a change without a sign-in is refused with the documents' sentence`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "surface-\(UUID().uuidString)")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let node = try #require(URL(string: "http://127.0.0.1:1"))
        let client = try await GrapevineClient.open(nodes: [node], directory: folder)
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
            try await messaging.editMessage(messageId: "m", conversationId: "c", newText: "t")
        }
        await expectRefusal { messaging in try await messaging.archiveConversation("c") }
        var states = client.connection.makeAsyncIterator()
        #expect(await states.next() == .signedOut)
    }
}
