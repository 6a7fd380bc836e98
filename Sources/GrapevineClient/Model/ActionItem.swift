import Foundation

/// A thing to do of the signed-in user.
///
/// The keys that apps with a hosted database have used are read from JSON, too (`done`, `due`,
/// `chat`).
public struct ActionItem: Identifiable, Hashable, Sendable {
    /// The urgency of an item.
    public enum Priority: String, Codable, Sendable, CaseIterable {
        /// Not urgent.
        case low
        /// As urgent as most.
        case medium
        /// Urgent.
        case high
    }

    /// The id: 1 to 64 letters, digits, `_ . : @ -`.
    public var id: String
    /// What is to be done, at most 1,024 bytes of UTF-8.
    public var title: String
    /// Whether it is done.
    public var isCompleted: Bool
    /// The time until which it is to be done.
    public var dueDate: Date?
    /// How urgent it is.
    public var priority: Priority?
    /// The id of the conversation from which the item was made.
    public var chatId: String?
    /// The id of the message from which the item was made.
    public var messageId: String?
    /// Whether the cluster has all changes of the item.
    public var isSynced: Bool

    /// Makes an action item.
    public init(
        id: String, title: String, isCompleted: Bool = false, dueDate: Date? = nil,
        priority: Priority? = nil, chatId: String? = nil, messageId: String? = nil,
        isSynced: Bool = true
    ) {
        self.id = id
        self.title = title
        self.isCompleted = isCompleted
        self.dueDate = dueDate
        self.priority = priority
        self.chatId = chatId
        self.messageId = messageId
        self.isSynced = isSynced
    }
}

extension ActionItem: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, title, isCompleted, dueDate, priority, chatId, messageId, isSynced
    }

    /// Reads an action item with the keys of any app: see ``ActionItem``.
    ///
    /// - Throws: `DecodingError` if a value has another type.
    public init(from decoder: any Decoder) throws {
        let fields = try Aliases(decoder)
        self.init(id: try fields.value("id") ?? "", title: try fields.value("title") ?? "")
        isCompleted = try fields.value("isCompleted", "isDone", "done") ?? false
        dueDate = try fields.date("dueDate", "due")
        priority = try fields.value("priority")
        chatId = try fields.value("chatId", "chat")
        messageId = try fields.value("messageId", "message")
        isSynced = try fields.value("isSynced") ?? true
    }
}
