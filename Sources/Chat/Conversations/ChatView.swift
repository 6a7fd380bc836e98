import CRDT
import Wire

/// A conversation as it appears in a user's list of conversations.
public struct ChatView: Hashable, Sendable {
    /// The newest message of a conversation that the user sees.
    public struct Preview: Hashable, Sendable {
        public let id: MessageID
        public let from: UserID
        public let at: HybridTimestamp
        public let type: MessageType
        public let text: String
    }

    public let id: ConversationID
    public let title: String?
    public let unread: Int
    public let isArchived: Bool
    /// The participants of the conversation, ascending.
    public let participants: [UserID]
    public let createdBy: UserID
    public let createdAt: HybridTimestamp
    public let last: Preview?
    /// The users who have archived the conversation, ascending; empty unless the query requests
    /// them.
    public var archivedBy: [UserID] = []
    /// Whether the user has hidden the conversation and no message has arrived since; lists omit
    /// such a conversation.
    public var isHidden = false
    /// When the user last archived and unarchived the conversation, and when the user hid it.
    public var lastChanges: LastChanges?

    /// The time of the newest message that the user sees; without messages, the creation's.
    public var latest: HybridTimestamp { last?.at ?? createdAt }

    /// The approximate size of the encoded view, in bytes.
    public var roughBytes: Int {
        participants.reduce(64 + (title?.utf8.count ?? 0) + (last?.text.utf8.count ?? 0)) {
            $0 + $1.text.utf8.count + 1
        }
    }
}

extension ChatView {
    /// - Parameters:
    ///   - unread: the number of messages that the user has not read.
    ///   - last: the newest message that the user sees.
    public init(
        of chat: Conversation, as id: ConversationID, unread: Int, isArchived: Bool,
        last: Preview?
    ) {
        self.init(
            id: id, title: chat.header.title, unread: unread, isArchived: isArchived,
            participants: chat.participants.elements, createdBy: chat.header.creator,
            createdAt: chat.header.created.time, last: last)
    }

    /// The texts that a word search reads: the title, the newest message and the participants.
    public var texts: [String] {
        [title, last?.text].compactMap { $0 } + participants.map(\.text)
    }
}

extension Conversation {
    /// Returns when a user last archived, unarchived and hid the conversation.
    func lastChanges(of user: UserID, in state: ParticipantState?) -> LastChanges {
        let archive = state?.archiveChanged(by: user)
        let isArchived = state?.isArchived ?? false
        return LastChanges(
            isArchived ? archive : nil, isArchived ? nil : archive,
            state.flatMap { hidden(by: user, in: $0) }?.at)
    }
}

extension ChatView.Preview {
    /// - Parameter senders: the users whom the reader has blocked.
    /// - Returns: nil if the document is not a message.
    public init?(_ document: Document, without senders: BlockedSenders) {
        guard let message = document.message.map(senders.shown) else { return nil }
        self.init(
            id: MessageID(checked: document.key.id), from: message.header.sender,
            at: message.header.sent.time, type: message.header.type, text: message.text)
    }
}

extension ChatView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(title)
        writer.write(count: unread)
        writer.write(isArchived)
        participants.encode(into: &writer)
        writer.write(createdBy)
        createdAt.encode(into: &writer)
        last.encode(into: &writer)
        archivedBy.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        title = try reader.readOptionalText(limit: ChatLimits.titleBytesMax)
        unread = try reader.readNumber()
        isArchived = try reader.readFlag()
        participants = try reader.readUsers()
        createdBy = try reader.readName()
        createdAt = try HybridTimestamp(from: &reader)
        last = try Optional(from: &reader)
        archivedBy = try reader.readUsers()
    }
}

extension ChatView.Preview: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(from)
        at.encode(into: &writer)
        type.encode(into: &writer)
        writer.write(text)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        from = try reader.readName()
        at = try HybridTimestamp(from: &reader)
        type = try MessageType(from: &reader)
        text = try reader.readText(limit: ChatLimits.textBytesMax)
    }
}
