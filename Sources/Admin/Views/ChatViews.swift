import CRDT
import Chat
import Wire

/// A conversation as a list shows it.
struct ListedChat {
    let chat: ChatView
    /// The most participants that are named, beside their number; nil for all, without it.
    let namesMax: Int?

    var participants: [UserID] {
        guard let namesMax, chat.participants.count > namesMax else { return chat.participants }
        return Array(chat.participants.prefix(namesMax))
    }
}

extension View where Subject == MessageView {
    /// A message as one user sees it.
    static let message = View(
        "MESSAGE",
        [
            .name("id") { $0.id.text },
            .sequence("seq") { $0.sentAt.bits },
            .name("from") { $0.from.text },
            .time("at") { $0.sentAt },
        ] + content)

    /// The fields that follow a message's id, sender and time.
    static let content: [Field<MessageView>] = [
        .text("type") { $0.type.rawValue },
        .text("text") { $0.text },
        .name("item") { $0.item?.text },
        .name("blob") { $0.attachment?.file.text },
        .name("preview") { $0.attachment?.preview?.text },
        .time("edited") { $0.editedAt },
        .name("pinnedBy") { $0.pinnedBy?.text },
        .time("pinnedAt") { $0.pinnedAt },
        .flag("deletedForEveryone") { $0.isDeletedForEveryone },
        .users("deletedBy") { $0.deletedBy },
        .users("deliveredTo") { $0.deliveredTo },
        .users("readBy") { $0.readBy },
    ]
}

extension View where Subject == EditView {
    static let edit = View("EDIT", [.time("at") { $0.at }, .text("text") { $0.text }])
}

extension View where Subject == ListedChat {
    /// A conversation as one user sees it.
    static let chat = View(
        "CHAT",
        [
            .name("id") { $0.chat.id.text },
            .text("title") { $0.chat.title },
            .count("unread") { $0.chat.unread },
            .flag("archived") { $0.chat.isArchived },
            .users("participants") { $0.participants },
            .count("participantCount") { listed in
                listed.namesMax.map { _ in listed.chat.participants.count }
            },
            .name("createdBy") { $0.chat.createdBy.text },
            .time("createdAt") { $0.chat.createdAt },
            .name("last") { $0.chat.last?.id.text },
            .name("lastFrom") { $0.chat.last?.from.text },
            .time("lastAt") { $0.chat.last?.at },
            .text("lastText") { $0.chat.last.lineText },
            .users("archivedBy") { Set($0.chat.archivedBy).sorted() },
            .flag("hidden") { $0.chat.isHidden },
        ])
}

extension ChatView.Preview? {
    /// The text that a list shows for the preview, or for its absence.
    var lineText: String {
        guard let preview = self else { return "No messages yet" }
        return switch preview.type {
        case .image: "Photo"
        case .voice: "Voice message"
        case .text, .system, .action: preview.text
        }
    }
}

extension View where Subject == UnreadCount {
    static let unread = View(
        "UNREAD", [.name("conversation") { $0.conversation.text }, .count("count") { $0.count }])
}

extension View where Subject == MarkView {
    /// The marks of a participant.
    static let mark = View(
        "MARK",
        [
            .name("user") { $0.user.text },
            .name("read") { $0.read?.id.text },
            .time("readAt") { $0.read?.at },
            .name("delivered") { $0.delivered?.id.text },
            .time("deliveredAt") { $0.delivered?.at },
        ])
}

extension View where Subject == ParticipantChange {
    /// A change of who the participants of a conversation are.
    static let change = View(
        "CHANGE",
        [
            .text("kind") { $0.kind.name },
            .name("user") { $0.user.text },
            .name("by") { $0.by.text },
            .time("at") { $0.stamp.time },
        ])
}

extension ParticipantChange.Kind {
    var name: String {
        switch self {
        case .joined: "joined"
        case .left: "left"
        }
    }
}
