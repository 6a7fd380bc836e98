import CRDT
import Wire

/// What a user wants changed in a conversation, named so that a repetition is known as one.
public struct Mutation: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        /// `participants` ascends and holds the creator.
        case create(participants: [UserID], title: String?)
        case send(MessageID, type: MessageType, item: ItemID?, text: String)
        case edit(MessageID, text: String, operation: OperationID)
        case hide(MessageID)
        case retract(MessageID)
        case restore(MessageID)
        case pin(MessageID)
        case unpin(MessageID)
    }

    public let conversation: ConversationID
    public let user: UserID
    public let action: Action

    public init(_ action: Action, in conversation: ConversationID, by user: UserID) {
        self.action = action
        self.conversation = conversation
        self.user = user
    }

    /// The message that it is about, if it is about one.
    public var message: MessageID? {
        switch action {
        case .create: nil
        case .send(let message, _, _, _), .edit(let message, _, _): message
        case .hide(let message), .retract(let message), .restore(let message): message
        case .pin(let message), .unpin(let message): message
        }
    }

    /// The one document that it changes.
    public var key: DocumentKey {
        message.map { .message($0, in: conversation) } ?? .conversation(conversation)
    }
}

/// Which mutation makes a change: its name and its time, given by the node that accepts it.
public struct Authorship: Hashable, Sendable {
    public let dot: Dot
    public let stamp: Stamp

    public init(dot: Dot, time: HybridTimestamp) {
        self.dot = dot
        stamp = Stamp(time: time, replica: dot.replica)
    }
}

extension Mutation {
    /// The document with this mutation in it.
    ///
    /// Only after `judge` accepted it; a rule is judged once, by the node that accepts, and never
    /// again at a merge.
    ///
    /// - Parameter target: the document under `key`, nil where there is none yet.
    public func applied(to target: Document?, by author: Authorship) -> Document {
        guard var document = target else { return created(by: author) }
        guard case .message(var message) = document.content else { return document }
        change(&message, by: author)
        document.content = .message(message)
        document.noteChange(by: author.dot)
        return document
    }

    private func created(by author: Authorship) -> Document {
        switch action {
        case .create(let participants, let title):
            let header = Conversation.Header(
                created: author.stamp, creator: user, participants: participants, title: title)
            let conversation = Conversation(header: header, by: author.dot)
            return Document(.conversation(conversation), at: key, by: author.dot)
        case .send(_, let type, let item, let text):
            let header = Message.Header(
                sent: author.stamp, sender: user, type: type, item: item, text: text)
            return Document(.message(Message(header)), at: key, by: author.dot)
        case .edit, .hide, .retract, .restore, .pin, .unpin:
            preconditionFailure("judge accepts no change of a message that is not there")
        }
    }

    private func change(_ message: inout Message, by author: Authorship) {
        switch action {
        case .edit(_, let text, let operation):
            message.edit(
                Message.Version(stamp: author.stamp, operation: operation, text: text))
        case .hide:
            message.hide(for: user, by: author.dot)
        case .retract:
            message.hide(for: user, by: author.dot)
            message.retract()
        case .restore:
            message.restore(for: user)
        case .pin:
            message.setPin(Pin(by: user), at: author.stamp)
        case .unpin:
            message.setPin(Pin(by: nil), at: author.stamp)
        case .create, .send:
            preconditionFailure("judge accepts a creation once")
        }
    }
}
