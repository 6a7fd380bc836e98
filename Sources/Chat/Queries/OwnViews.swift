import CRDT
import Wire

/// A user's profile in the form that all users see.
public struct ProfileView: Hashable, Sendable {
    public let user: UserID
    public let name: String?
    public let email: String?
    public let photo: String?
    public let createdAt: HybridTimestamp
    /// When the name, the e-mail address and the photo last changed.
    public var lastChanges: LastChanges?

    public init(
        user: UserID, name: String?, email: String?, photo: String?, createdAt: HybridTimestamp
    ) {
        self.user = user
        self.name = name
        self.email = email
        self.photo = photo
        self.createdAt = createdAt
    }
}

/// An action item as its owner sees it.
public struct ItemView: Hashable, Sendable {
    public let id: ItemID
    public let isDone: Bool
    public let due: DueTime?
    public let priority: ItemPriority?
    public let chat: ConversationID?
    public let message: MessageID?
    public let title: String
    /// When the title, the due time, the priority and the status last changed.
    public var lastChanges: LastChanges?

    /// The approximate size of the encoded item in bytes.
    public var roughBytes: Int { 64 + title.utf8.count }

    public init(
        id: ItemID, isDone: Bool, due: DueTime?, priority: ItemPriority?, chat: ConversationID?,
        message: MessageID?, title: String
    ) {
        self.id = id
        self.isDone = isDone
        self.due = due
        self.priority = priority
        self.chat = chat
        self.message = message
        self.title = title
    }
}

extension ItemView: Comparable {
    /// Orders items by due time and then by id; items without a due time are last.
    public static func < (left: ItemView, right: ItemView) -> Bool {
        left.position < right.position
    }
}

extension Profile {
    public func view(of user: UserID, isExact: Bool = false) -> ProfileView {
        var view = ProfileView(
            user: user, name: name, email: email, photo: photo, createdAt: created.time)
        if isExact { view.lastChanges = lastChanges }
        return view
    }
}

extension Item {
    public func view(as id: ItemID, isExact: Bool = false) -> ItemView {
        var view = ItemView(
            id: id, isDone: isDone, due: due, priority: priority, chat: header.chat,
            message: header.message, title: title)
        if isExact { view.lastChanges = lastChanges }
        return view
    }
}

extension ProfileView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(user)
        for text in [name, email, photo] { writer.write(text) }
        createdAt.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let limit = ChatLimits.titleBytesMax
        user = try reader.readName()
        name = try reader.readOptionalText(limit: limit)
        email = try reader.readOptionalText(limit: limit)
        photo = try reader.readOptionalText(limit: limit)
        createdAt = try HybridTimestamp(from: &reader)
    }
}

extension ItemView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(isDone)
        due.encode(into: &writer)
        priority.encode(into: &writer)
        chat.encode(into: &writer)
        message.encode(into: &writer)
        writer.write(title)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        isDone = try reader.readFlag()
        due = try Optional(from: &reader)
        priority = try Optional(from: &reader)
        chat = try Optional(from: &reader)
        message = try Optional(from: &reader)
        title = try reader.readText(limit: ChatLimits.titleBytesMax)
    }
}
