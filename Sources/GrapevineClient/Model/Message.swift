import Foundation

/// A message of a conversation, as one user sees it.
///
/// A message is a value: a change makes another one. One set of keys is written to JSON; the keys
/// that apps with a hosted database have used are read, too (`content`, `timestamp`, `deletedFor`,
/// `read`), and absent ones have the defaults of the initialiser.
public struct Message: Identifiable, Hashable, Sendable {
    /// The time after its sending within which a message can be edited, in seconds, unless a node
    /// has told another one.
    public static let editWindow: TimeInterval = 15 * 60

    /// The text that stands in place of a message which was deleted for everyone.
    public static let deletedText = "[Message deleted]"

    /// The id, which the sender's device has made: 1 to 64 letters, digits, `_ . : @ -`.
    public var id: String
    /// The id of the conversation.
    public var conversationId: String
    /// The id of the user who has sent the message.
    public var senderId: String
    /// The name of the sender, if it is known.
    public var senderName: String
    /// The address of the sender's picture, if it is known.
    public var senderPhoto: String?
    /// The text, at most 16,384 bytes of UTF-8; ``deletedText`` after a deletion for everyone.
    public var text: String
    /// What the message is.
    public var type: MessageType
    /// The time at which the cluster accepted the message; this device's time while it waits.
    public var createdAt: Date
    /// How far the message has come; `sent` for messages of others.
    public var status: MessageStatus
    /// The users who have deleted the message for themselves, as far as this user is told; nil
    /// before anybody has.
    public var deletedBy: [String]?
    /// Whether its sender has deleted the message for everyone.
    public var isDeletedForEveryone: Bool
    /// The time of the last change of the text; nil if it was never changed.
    public var editedAt: Date?
    /// The earlier texts, the first one first; nil unless they were fetched.
    public var editHistory: [String]?
    /// Whether the message is pinned for all participants.
    public var isPinned: Bool
    /// The user who has pinned the message.
    public var pinnedBy: String?
    /// The time at which the message was pinned.
    public var pinnedAt: Date?
    /// Whether all other participants have read the message.
    public var isRead: Bool
    /// The time at which the last of them has.
    public var readAt: Date?
    /// Whether all other participants have received the message.
    public var isDelivered: Bool
    /// The time at which the last of them has.
    public var deliveredAt: Date?
    /// The users who have read the message.
    public var readBy: [String]
    /// The users who have received the message.
    public var deliveredTo: [String]
    /// The id of an action item that was made of the message.
    public var actionItemId: String?
    /// The id of the file that is attached.
    public var fileId: String?
    /// The id of the file's small picture.
    public var previewId: String?
    /// The time of this device until which the message can be edited; nil for 15 minutes after
    /// ``createdAt``.
    public var editableUntil: Date?

    /// Makes a message of the values of its properties.
    public init(
        id: String, conversationId: String, senderId: String, senderName: String = "",
        senderPhoto: String? = nil, text: String, type: MessageType = .text,
        createdAt: Date = Date(), status: MessageStatus = .sent, deletedBy: [String]? = nil,
        isDeletedForEveryone: Bool = false, editedAt: Date? = nil, editHistory: [String]? = nil,
        isPinned: Bool = false, pinnedBy: String? = nil, pinnedAt: Date? = nil,
        isRead: Bool = false, readAt: Date? = nil, isDelivered: Bool = false,
        deliveredAt: Date? = nil, readBy: [String] = [], deliveredTo: [String] = [],
        actionItemId: String? = nil, fileId: String? = nil, previewId: String? = nil,
        editableUntil: Date? = nil
    ) {
        self.id = id
        self.conversationId = conversationId
        self.senderId = senderId
        self.senderName = senderName
        self.senderPhoto = senderPhoto
        self.text = text
        self.type = type
        self.createdAt = createdAt
        self.status = status
        self.deletedBy = deletedBy
        self.isDeletedForEveryone = isDeletedForEveryone
        self.editedAt = editedAt
        self.editHistory = editHistory
        self.isPinned = isPinned
        self.pinnedBy = pinnedBy
        self.pinnedAt = pinnedAt
        self.isRead = isRead
        self.readAt = readAt
        self.isDelivered = isDelivered
        self.deliveredAt = deliveredAt
        self.readBy = readBy
        self.deliveredTo = deliveredTo
        self.actionItemId = actionItemId
        self.fileId = fileId
        self.previewId = previewId
        self.editableUntil = editableUntil
    }
}

extension Message {
    /// Returns whether a user has deleted the message for themselves.
    public func isDeleted(for user: String) -> Bool {
        deletedBy?.contains(user) ?? false
    }

    /// Returns whether a user may change the text now: as the nodes judge it, as long as the
    /// device's clock runs as fast as theirs.
    ///
    /// - Parameters:
    ///   - user: the id of the user.
    ///   - now: the time of this device.
    public func canEdit(by user: String, now: Date = Date()) -> Bool {
        let end = editableUntil ?? createdAt.addingTimeInterval(Self.editWindow)
        return senderId == user && type == .text && fileId == nil && !isDeletedForEveryone
            && now < end
    }

    /// Whether the text was changed after the message was sent.
    public var wasEdited: Bool { editedAt != nil }

    /// Whether the cluster has the message.
    public var isSynced: Bool { status != .waiting }
}

extension Message: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, conversationId, senderId, senderName, senderPhoto, text, type, createdAt, status
        case deletedBy, isDeletedForEveryone, editedAt, editHistory, isPinned, pinnedBy, pinnedAt
        case isRead, readAt, isDelivered, deliveredAt, readBy, deliveredTo, actionItemId, fileId
        case previewId, editableUntil
    }

    /// Reads a message with the keys of any app: see ``Message``.
    ///
    /// - Throws: `DecodingError` if the id or the sender is missing, or a value has another type.
    public init(from decoder: any Decoder) throws {
        let fields = try Aliases(decoder)
        guard let id: String = try fields.value("id"),
            let sender: String = try fields.value("senderId", "from")
        else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "A message has an id and a senderId"))
        }
        self.init(
            id: id, conversationId: try fields.value("conversationId", "chatId") ?? "",
            senderId: sender, text: try fields.value("text", "content") ?? "")
        senderName = try fields.value("senderName") ?? ""
        senderPhoto = try fields.value("senderPhoto")
        type = try fields.value("type") ?? .text
        createdAt = try fields.date("createdAt", "timestamp") ?? Date(timeIntervalSince1970: 0)
        status = try fields.value("status") ?? .sent
        deletedBy = try fields.value("deletedBy", "deletedFor")
        isDeletedForEveryone =
            try fields.value("isDeletedForEveryone", "deletedForEveryone") ?? false
        editedAt = try fields.date("editedAt")
        editHistory = try fields.value("editHistory")
        isPinned = try fields.value("isPinned") ?? false
        pinnedBy = try fields.value("pinnedBy")
        pinnedAt = try fields.date("pinnedAt")
        isRead = try fields.value("isRead", "read") ?? false
        readAt = try fields.date("readAt")
        isDelivered = try fields.value("isDelivered") ?? false
        deliveredAt = try fields.date("deliveredAt")
        readBy = try fields.value("readBy") ?? []
        deliveredTo = try fields.value("deliveredTo") ?? []
        actionItemId = try fields.value("actionItemId")
        fileId = try fields.value("fileId")
        previewId = try fields.value("previewId")
        editableUntil = try fields.date("editableUntil")
    }
}
