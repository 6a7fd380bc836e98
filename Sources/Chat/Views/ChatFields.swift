import CRDT
import Wire

/// A conversation in the form in which a list shows it.
public struct ListedChat {
    let chat: ChatView
    /// The most participants whose names are shown, beside their number; nil for all names.
    let namesMax: Int?

    public init(chat: ChatView, namesMax: Int?) {
        self.chat = chat
        self.namesMax = namesMax
    }

    var participants: [UserID] {
        guard let namesMax, chat.participants.count > namesMax else { return chat.participants }
        return Array(chat.participants.prefix(namesMax))
    }
}

extension View where Subject == MessageView {
    /// A message as one user sees it.
    public static let message = View(
        "MESSAGE",
        [
            .name("id") { $0.id.text },
            .sequence("seq") { $0.sentAt.bits },
            .name("from") { $0.from.text },
            .time("at") { $0.sentAt },
        ] + content + [
            .flag("hidden") { $0.hiddenAt != nil },
            .change("unpinnedAt") { $0.unpinnedAt },
            .change("hiddenAt") { $0.hiddenAt },
            .change("restoredAt") { $0.restoredAt },
            .change("deletedAt") { $0.retractedAt },
        ])

    /// The content fields of a message's row, after the message's id, sender and time.
    public static let content: [Field<MessageView>] = [
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

extension MessageView: ListElement {
    /// The code 48 identifies messages with the times of their last changes.
    public static let codes: [UInt8] = [1, 48]
    public static let exactCodes: [UInt8] = [48]
    public static var view: View<MessageView>? { .message }

    /// The position by the time of the pin, the latest pin first.
    public var position: ListPosition {
        ListPosition(order: ~(pinnedAt ?? .zero).bits, id: id.text)
    }

    /// Returns a page of pins or of a history; the cursor of a history is the id of the message at
    /// which the next page begins.
    public static func page(
        _ list: [MessageView], _ page: ListPage
    ) -> (list: [MessageView], next: String?) {
        page.historyCut.map { self.page(list, $0) } ?? listPage(list, page)
    }

    private static func page(
        _ messages: [MessageView], _ cut: HistoryCut
    ) -> (list: [MessageView], next: String?) {
        var bytes = 0
        let within = (cut.isForward ? messages : messages.reversed()).prefix { message in
            bytes += message.encoded.count
            return bytes <= cut.bytesMax
        }
        let count = max(1, within.count)
        guard count < messages.count else { return (messages, nil) }
        let taken = Array(cut.isForward ? messages.prefix(count) : messages.suffix(count))
        return (taken, (cut.isForward ? taken.last : taken.first)?.id.text)
    }

    public static func rowBytes(of list: [MessageView]) -> Int {
        list.reduce(0) {
            $0 + $1.text.utf8.count + listBytes($1.deliveredTo) + listBytes($1.readBy) + 160
        }
    }
}

/// Returns the size of a list of names in bytes, with a comma after each name.
private func listBytes(_ names: [UserID]) -> Int {
    names.reduce(0) { $0 + $1.text.utf8.count + 1 }
}

extension View where Subject == EditView {
    public static let edit = View("EDIT", [.time("at") { $0.at }, .text("text") { $0.text }])
}

extension EditView: ListElement {
    public static let codes: [UInt8] = [2]
    public static var view: View<EditView>? { .edit }
    public var position: ListPosition { ListPosition(order: at.bits, id: "") }
    public static func rowBytes(of list: [EditView]) -> Int {
        list.reduce(0) { $0 + $1.text.utf8.count + 48 }
    }
}

extension View where Subject == ListedChat {
    /// A conversation as one user sees it.
    public static let chat = View(
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
            .change("archivedAt") { $0.chat.lastChanges?[0] },
            .change("unarchivedAt") { $0.chat.lastChanges?[1] },
            .change("hiddenAt") { $0.chat.lastChanges?[2] },
        ])
}

extension ChatView: ListElement {
    /// The codes 33 and 50 identify the view of one conversation that its user has hidden; the
    /// codes 49 and 50, conversations with the times of their last changes.
    public static let codes: [UInt8] = [3, 33, 49, 50]
    public static let exactCodes: [UInt8] = [49, 50]

    public static func code(of list: [ChatView]) -> UInt8 {
        let isHidden = list.contains(where: \.isHidden)
        return list.hasLastChanges ? (isHidden ? 50 : 49) : (isHidden ? 33 : 3)
    }

    public static func decode(
        code: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> [ChatView] {
        var views: [ChatView] = try reader.readList()
        for index in views.indices { views[index].isHidden = code == 33 || code == 50 }
        return views
    }

    /// The position by the time of the last message or of the creation, the latest first.
    public var position: ListPosition { ListPosition(order: ~latest.milliseconds, id: id.text) }

    public static func gathered(_ list: [ChatView]) -> [ChatView] {
        var seen: Set<ConversationID> = []
        return list.sorted { $0.position < $1.position }.filter { seen.insert($0.id).inserted }
    }

    public static var views: [ViewDescription] { [ViewDescription(View<ListedChat>.chat)] }

    public static func writeRows(
        of list: [ChatView], to writer: inout some RowWriter, naming namesMax: Int?
    ) {
        writer.rows(list.lazy.map { ListedChat(chat: $0, namesMax: namesMax) }, as: .chat)
    }

    public static func rowBytes(of list: [ChatView]) -> Int {
        list.reduce(0) { bytes, chat in
            let texts = (chat.title?.utf8.count ?? 0) + (chat.last?.text.utf8.count ?? 0)
            return bytes + texts + listBytes(chat.participants) + 360
        }
    }
}

extension ChatView.Preview? {
    /// The text that a list shows for a conversation's last message, or if there is no message.
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
    public static let unread = View(
        "UNREAD", [.name("conversation") { $0.conversation.text }, .count("count") { $0.count }])
}

extension UnreadCount: ListElement {
    public static let codes: [UInt8] = [4]
    public static var view: View<UnreadCount>? { .unread }
    public var position: ListPosition { ListPosition(order: 0, id: conversation.text) }

    public static func gathered(_ list: [UnreadCount]) -> [UnreadCount] {
        var seen: Set<ConversationID> = []
        return list.sorted { ($0.conversation, $1.count) < ($1.conversation, $0.count) }
            .filter { seen.insert($0.conversation).inserted }
    }

    public static func total(of list: [UnreadCount]) -> Int? { list.reduce(0) { $0 + $1.count } }
    public var roughBytes: Int { conversation.text.utf8.count + 4 }
    public static func rowBytes(of list: [UnreadCount]) -> Int { list.count * 64 }
}

extension View where Subject == MarkView {
    /// A participant's marks: the last messages that the participant has received and read.
    public static let mark = View(
        "MARK",
        [
            .name("user") { $0.user.text },
            .name("read") { $0.read?.id.text },
            .time("readAt") { $0.read?.at },
            .name("delivered") { $0.delivered?.id.text },
            .time("deliveredAt") { $0.delivered?.at },
            .change("readSent") { $0.lastChanges?[0] },
            .change("deliveredSent") { $0.lastChanges?[1] },
        ])
}

extension MarkView: Finding {
    /// The code 51 identifies marks with the times at which the marked messages were sent.
    public static let codes: [UInt8] = [8, 51]
    public static let exactCodes: [UInt8] = [51]
    public static var view: View<MarkView>? { .mark }
    public static func rowBytes(of list: [MarkView]) -> Int { list.count * 128 }
}

extension View where Subject == ParticipantChange {
    /// A change of a conversation's participants: a user joined or left.
    public static let change = View(
        "CHANGE",
        [
            .text("kind") { $0.kind.name },
            .name("user") { $0.user.text },
            .name("by") { $0.by.text },
            .time("at") { $0.stamp.time },
        ])
}

extension ParticipantChange: Finding {
    public static let codes: [UInt8] = [38]
    public static var view: View<ParticipantChange>? { .change }

    public static func decode(
        code: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> [ParticipantChange] {
        try reader.readList(limit: ParticipantChanges.countMax)
    }

    public static func rowBytes(of list: [ParticipantChange]) -> Int { list.count * 192 }
}

extension ParticipantChange.Kind {
    var name: String {
        switch self {
        case .joined: "joined"
        case .left: "left"
        }
    }
}
