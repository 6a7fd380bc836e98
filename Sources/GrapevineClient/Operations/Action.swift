/// What a user can do, other than by a read: each with what nodes need to know of it.
enum Action: Equatable, Codable, Sendable {
    case create(conversation: String, title: String, emails: [String])
    case send(conversation: String, message: String, Draft)
    case edit(conversation: String, message: String, text: String)
    case delete(conversation: String, message: String)
    case deleteForEveryone(conversation: String, message: String)
    case restore(conversation: String, message: String)
    case pin(conversation: String, message: String)
    case unpin(conversation: String, message: String)
    case archive(conversation: String)
    case unarchive(conversation: String)
    /// `through` is the time of the last message that the user saw.
    case hide(conversation: String, through: ExactTime?)
    case leave(conversation: String)
    case addItem(ItemDraft)
    case editItem(item: String, ItemChanges)
    case completeItem(item: String, isDone: Bool)
    case deleteItem(item: String)
    case setProfile(name: String?, photo: String?)

    /// A new message.
    struct Draft: Equatable, Codable, Sendable {
        var kind: MessageType = .text
        var text: String
        var blob: String?
        var preview: String?
    }

    /// A new action item; the due time is in RFC 3339.
    struct ItemDraft: Equatable, Codable, Sendable {
        var id: String
        var title: String
        var due: String?
        var priority: String?
        var chat: String?
        var message: String?
    }

    /// The fields of an action item that change; nil of an inner value clears the field.
    struct ItemChanges: Equatable, Codable, Sendable {
        var title: String?
        var due: Maybe?
        var priority: Maybe?
    }
}

/// The order in which operations are sent: those of one lane one after the other.
enum Lane: Hashable, Codable, Sendable {
    case conversation(String)
    case items
    case profile
}

extension Action {
    /// The conversation in which the action happens.
    var conversation: String? {
        switch self {
        case .create(let conversation, _, _), .send(let conversation, _, _),
            .edit(let conversation, _, _), .delete(let conversation, _),
            .deleteForEveryone(let conversation, _), .restore(let conversation, _),
            .pin(let conversation, _), .unpin(let conversation, _), .archive(let conversation),
            .unarchive(let conversation), .hide(let conversation, _), .leave(let conversation):
            conversation
        case .addItem, .editItem, .completeItem, .deleteItem, .setProfile: nil
        }
    }

    /// The message that the action makes or changes.
    var message: String? {
        switch self {
        case .send(_, let message, _), .edit(_, let message, _), .delete(_, let message),
            .deleteForEveryone(_, let message), .restore(_, let message), .pin(_, let message),
            .unpin(_, let message):
            message
        default: nil
        }
    }

    /// The ids of the files that are uploaded before the action is sent.
    var files: [String] {
        guard case .send(_, _, let draft) = self else { return [] }
        return [draft.preview, draft.blob].compactMap(\.self)
    }

    /// The action item that the action makes or changes.
    var item: String? {
        switch self {
        case .addItem(let draft): draft.id
        case .editItem(let item, _), .completeItem(let item, _), .deleteItem(let item): item
        default: nil
        }
    }

    var lane: Lane {
        if let conversation { return .conversation(conversation) }
        if case .setProfile = self { return .profile }
        return .items
    }

    /// Whether nodes give the action its time: messages and conversations are named by their ids,
    /// and placed by their acceptance.
    ///
    /// All other actions have a stamp.
    var isTimedByNodes: Bool {
        switch self {
        case .create, .send: true
        default: false
        }
    }

    /// Whether another action is pointless if this one, which would have made its object, is
    /// refused.
    func isNeeded(by other: Action) -> Bool {
        switch self {
        case .create(let conversation, _, _): other.conversation == conversation
        case .send(let conversation, let message, _):
            other.conversation == conversation && other.message == message
        default: false
        }
    }
}
