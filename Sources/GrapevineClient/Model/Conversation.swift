import Foundation

/// The last message of a conversation, as the list of chats shows it.
///
/// A literal makes one with this text.
public struct LastMessage: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The text, or a word for a picture or a voice message; that of ``nothing`` without a message.
    public var text: String
    /// The id of the user who has sent it; empty if there is no message.
    public var senderId: String
    /// The time of its sending.
    public var timestamp: Date?

    /// Makes a last message.
    public init(text: String, senderId: String = "", timestamp: Date? = nil) {
        self.text = text
        self.senderId = senderId
        self.timestamp = timestamp
    }

    /// What stands in place of a last message if the user sees no message.
    public static let nothing: LastMessage = "No messages yet"

    /// Makes a last message of a literal.
    public init(stringLiteral text: String) { self.init(text: text) }
}

/// A conversation, as one user's list of chats shows it.
///
/// One set of keys is written to JSON; the keys that apps with a hosted database have used are
/// read, too (`participants`, `lastMessage` as a text or an object, `unreadCount` as a map), and
/// absent ones have the defaults of the initialiser.
public struct Conversation: Identifiable, Hashable, Sendable {
    /// The id: 1 to 64 letters, digits, `_ . : @ -`.
    public var id: String
    /// The title, at most 1,024 bytes of UTF-8; empty if there is none.
    public var title: String
    /// The ids of the participants, at most 1,000.
    public var participantIds: [String]
    /// The names of participants, by id, as far as they are known.
    public var participantNames: [String: String]
    /// The addresses of participants' pictures, by id, as far as they are known.
    public var participantPhotos: [String: String]
    /// The last message that the user sees.
    public var lastMessage: LastMessage
    /// The number of messages of others that the user has not read.
    public var unreadCount: Int
    /// Whether the user has archived the conversation.
    public var isArchived: Bool
    /// The users who have archived the conversation, as far as this user is told.
    public var archivedBy: [String]
    /// The id of the user who has created the conversation; empty if it is not known.
    public var createdBy: String
    /// The time of its creation.
    public var createdAt: Date
    /// The time of the last message, or of the creation.
    public var updatedAt: Date

    /// Makes a conversation.
    public init(
        id: String = "", title: String = "", participantIds: [String],
        participantNames: [String: String] = [:], participantPhotos: [String: String] = [:],
        lastMessage: LastMessage = "", unreadCount: Int = 0, isArchived: Bool = false,
        archivedBy: [String] = [], createdBy: String = "", createdAt: Date = Date(),
        updatedAt: Date = Date()
    ) {
        self.id = id
        self.title = title
        self.participantIds = participantIds
        self.participantNames = participantNames
        self.participantPhotos = participantPhotos
        self.lastMessage = lastMessage
        self.unreadCount = unreadCount
        self.isArchived = isArchived
        self.archivedBy = archivedBy
        self.createdBy = createdBy
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    /// Returns whether a user has archived the conversation, as far as this user is told.
    public func isArchivedByUser(_ user: String) -> Bool { archivedBy.contains(user) }
}

extension Conversation: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, title, participantIds, participantNames, participantPhotos, lastMessage
        case unreadCount, isArchived, archivedBy, createdBy, createdAt, updatedAt
    }

    /// Reads a conversation with the keys of any app: see ``Conversation``.
    ///
    /// Of a map of unread counts, the one of the user counts whom the decoder's `userInfo` names
    /// under `grapevineUser`.
    ///
    /// - Throws: `DecodingError` if a value has another type.
    public init(from decoder: any Decoder) throws {
        let fields = try Aliases(decoder)
        let user = decoder.userInfo[.grapevineUser] as? String
        self.init(
            id: try fields.value("id") ?? "", title: try fields.value("title") ?? "",
            participantIds: try fields.value("participantIds", "participants") ?? [])
        participantNames = try fields.value("participantNames") ?? [:]
        participantPhotos = try fields.value("participantPhotos") ?? [:]
        lastMessage = try Self.lastMessage(fields)
        let counts = fields.matching("unreadCount", as: [String: Int].self)
        let count = counts.map { counts in user.flatMap { counts[$0] } ?? 0 }
        unreadCount = try count ?? fields.value("unreadCount", "unread") ?? 0
        archivedBy = try fields.value("archivedBy") ?? []
        isArchived = try fields.value("isArchived") ?? false
        createdBy = try fields.value("createdBy") ?? ""
        let epoch = Date(timeIntervalSince1970: 0)
        createdAt = try fields.date("createdAt") ?? epoch
        updatedAt = try fields.date("updatedAt", "timestamp") ?? lastMessage.timestamp ?? createdAt
    }

    private static func lastMessage(_ fields: Aliases) throws -> LastMessage {
        if let object = fields.matching("lastMessage", as: LastMessage.self) { return object }
        return LastMessage(
            text: try fields.value("lastMessage") ?? "",
            senderId: try fields.value("lastMessageSenderId") ?? "",
            timestamp: try fields.date("lastMessageTime"))
    }
}

extension LastMessage: Codable {
    private enum CodingKeys: String, CodingKey {
        case text, senderId, timestamp
    }

    /// Reads a last message that is an object.
    ///
    /// - Throws: `DecodingError` if it is none, or a value has another type.
    public init(from decoder: any Decoder) throws {
        let fields = try Aliases(decoder)
        self.init(
            text: try fields.value("text", "content") ?? "",
            senderId: try fields.value("senderId") ?? "",
            timestamp: try fields.date("timestamp", "createdAt"))
    }
}

extension CodingUserInfoKey {
    /// The key under which a decoder is told the id of the signed-in user.
    public static let grapevineUser: CodingUserInfoKey = {
        guard let key = CodingUserInfoKey(rawValue: "grapevine.user") else {
            preconditionFailure("Every text is the name of a key")
        }
        return key
    }()
}
