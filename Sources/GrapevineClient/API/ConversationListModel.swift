import Foundation
import Observation

/// The state of a view that shows the list of conversations.
@MainActor @Observable
public final class ConversationListModel {
    /// The conversations that are not archived, the one with the last message first.
    public private(set) var conversations: [Conversation] = []
    /// The archived conversations.
    public private(set) var archived: [Conversation] = []
    /// Whether nothing has been read yet.
    public private(set) var isLoading = true
    /// The error of the last change that was refused.
    public var error: GrapevineError?

    /// The number of unread messages in all conversations that are not archived.
    public var totalUnread: Int { conversations.reduce(0) { $0 + $1.unreadCount } }

    private let client: GrapevineClient
    private var observing: [Task<Void, Never>] = []

    /// Makes the model of a client's list.
    public init(client: GrapevineClient) { self.client = client }

    /// Begins to follow the list.
    public func appear() {
        guard observing.isEmpty else { return }
        let active = client.messaging.conversations()
        let archive = client.messaging.conversations(archived: true)
        observing = [
            Task { [weak self] in
                for await list in active { self?.show(list) }
            },
            Task { [weak self] in
                for await list in archive { self?.archived = list }
            },
        ]
    }

    /// Ends the following.
    public func disappear() {
        for task in observing { task.cancel() }
        observing = []
    }

    private func show(_ list: [Conversation]) {
        conversations = list
        isLoading = false
    }

    /// Archives a conversation.
    public func archive(_ conversation: Conversation) async {
        await attempt { messaging throws(GrapevineError) in
            try await messaging.archiveConversation(conversation.id)
        }
    }

    /// Takes a conversation out of the archive.
    public func unarchive(_ conversation: Conversation) async {
        await attempt { messaging throws(GrapevineError) in
            try await messaging.unarchiveConversation(conversation.id)
        }
    }

    /// Hides a conversation: it is back with the next message.
    public func hide(_ conversation: Conversation) async {
        await attempt { messaging throws(GrapevineError) in
            try await messaging.hideConversation(conversation.id)
        }
    }

    private func attempt(
        _ body: (MessagingService) async throws(GrapevineError) -> Void
    ) async {
        do throws(GrapevineError) {
            try await body(client.messaging)
        } catch {
            self.error = error
        }
    }
}
