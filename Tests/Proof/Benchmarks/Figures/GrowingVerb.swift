/// A verb whose cost must not grow with the size of its conversations.
enum GrowingVerb: String, CaseIterable, Hashable, Sendable {
    case history, unread, chats, chat, marks, delivered, read, pinned, actions, notifications

    var meaning: String {
        switch self {
        case .history: "HISTORY limit=50"
        case .unread: "UNREAD, nothing read"
        case .chats: "CHATS"
        case .chat: "CHAT"
        case .marks: "MARKS"
        case .delivered: "DELIVERED of messages further and further on"
        case .read: "READ of messages further and further on"
        case .pinned: "PINNED with ten pins"
        case .actions: "ACTIONS with ten items"
        case .notifications: "NOTIFICATIONS with ten messages since the device was added"
        }
    }

    /// - Parameter message: the message to which a mark is moved; a later one at each call, or the
    ///   same.
    func line(_ conversation: String, _ user: String, message: String) -> String {
        switch self {
        case .history: "HISTORY \(conversation) \(user) limit=50"
        case .unread: "UNREAD \(user)"
        case .chats: "CHATS \(user)"
        case .chat: "CHAT \(conversation) \(user)"
        case .marks: "MARKS \(conversation) \(user)"
        case .delivered: "DELIVERED \(conversation) \(user) \(message)"
        case .read: "READ \(conversation) \(user) \(message)"
        case .pinned: "PINNED \(conversation) \(user)"
        case .actions: "ACTIONS \(user)"
        case .notifications: "NOTIFICATIONS \(user) phone"
        }
    }
}
