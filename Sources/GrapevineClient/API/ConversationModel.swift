import Foundation
import Observation

/// The state of a view that shows one conversation.
@MainActor @Observable
public final class ConversationModel {
    /// The messages, in order.
    public private(set) var messages: [Message] = []
    /// The pinned messages, the one that was pinned last first.
    public private(set) var pins: [Message] = []
    /// The ids of the other users who type.
    public private(set) var typingUsers: [String] = []
    /// Whether there may be messages before these.
    public private(set) var hasEarlier = false
    /// Whether the newest messages have not been read from the cluster yet.
    public private(set) var isLoading = true
    /// The text that the user is writing.
    public var draft = "" {
        didSet { if draft != oldValue { tellTyping(!draft.isEmpty) } }
    }
    /// The message whose text is being changed, if one is.
    public private(set) var editing: Message?
    /// The error of the last change that was refused.
    public var error: GrapevineError?

    private let client: GrapevineClient
    private let id: String
    private var observing: Task<Void, Never>?

    /// Makes the model of a conversation.
    public init(client: GrapevineClient, conversationId: String) {
        self.client = client
        id = conversationId
    }

    /// Begins to follow the conversation, whose messages count as read from now on.
    public func appear() {
        guard observing == nil else { return }
        let stream = client.messaging.messages(in: id)
        observing = Task { [weak self] in
            guard let self else { return }
            await client.messaging.setViewedConversation(id)
            for await snapshot in stream { show(snapshot) }
        }
    }

    /// Ends the following, since the conversation is not on screen any more.
    public func disappear() {
        observing?.cancel()
        observing = nil
        tellTyping(false)
        Task { await client.messaging.setViewedConversation(nil) }
    }

    private func show(_ snapshot: ConversationSnapshot) {
        if messages != snapshot.messages { messages = snapshot.messages }
        if pins != snapshot.pins { pins = snapshot.pins }
        if typingUsers != snapshot.typingUsers { typingUsers = snapshot.typingUsers }
        hasEarlier = snapshot.hasEarlier
        isLoading = !snapshot.isLoaded
    }

    /// Sends the draft, or changes the text of the message that is being edited.
    public func submit() async {
        let (text, edited) = (draft, editing)
        draft = ""
        editing = nil
        do throws(GrapevineError) {
            if let edited {
                try await client.messaging.editMessage(
                    messageId: edited.id, conversationId: id, newText: text)
            } else {
                try await client.messaging.sendMessage(conversationId: id, text: text)
            }
        } catch {
            self.error = error
            // What was begun meanwhile stays.
            guard draft.isEmpty else { return }
            draft = text
            editing = edited
        }
    }

    /// Begins to change the text of a message.
    public func edit(_ message: Message) {
        editing = message
        draft = message.text
    }

    /// Goes on without a change of the message that is being edited.
    public func cancelEditing() {
        editing = nil
        draft = ""
    }

    /// Deletes a message.
    public func delete(_ message: Message, forEveryone: Bool = false) async {
        await attempt { messaging, id throws(GrapevineError) in
            try await messaging.deleteMessage(
                messageId: message.id, conversationId: id, deleteForEveryone: forEveryone)
        }
    }

    /// Pins a message, or unpins it.
    public func togglePin(_ message: Message) async {
        await attempt { messaging, id throws(GrapevineError) in
            if message.isPinned {
                try await messaging.unpinMessage(message.id)
            } else {
                try await messaging.pinMessage(message.id, in: id)
            }
        }
    }

    /// Reads messages before those that are shown.
    public func loadEarlier() async {
        await attempt { messaging, id throws(GrapevineError) in
            try await messaging.loadEarlier(in: id)
        }
    }

    private func attempt(
        _ body: (MessagingService, String) async throws(GrapevineError) -> Void
    ) async {
        do throws(GrapevineError) {
            try await body(client.messaging, id)
        } catch {
            self.error = error
        }
    }

    private func tellTyping(_ isTyping: Bool) {
        Task {
            guard let user = await client.auth.currentUser else { return }
            await client.messaging.setTyping(
                conversationId: id, userId: user.id, isTyping: isTyping)
        }
    }
}
