import CRDT
import Wire

extension QueryTable {
    static let ofConversations: [any Query.Type] = [
        ChatQuery.self, ParticipantsQuery.self, MarksQuery.self, ChangesQuery.self,
        ChatsQuery.self, UnreadQuery.self, ContactsQuery.self, AcquaintanceQuery.self,
    ]
}

/// A query whose only parameter is a conversation.
public protocol ConversationQuery: Query {
    var conversation: ConversationID { get }

    init(_ conversation: ConversationID)
}

extension ConversationQuery {
    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        self.init(try reader.readName())
    }

    public func encode(into writer: inout ByteWriter) { writer.write(conversation) }

    public var partition: String? { conversation.text }
}

/// A query for one of the user's conversations, even a hidden one, and for the participants who
/// have archived the conversation.
public struct ChatQuery: ConversationQuery {
    public typealias Answer = [ChatView]
    public static let codes: [UInt8] = [9]
    public static let showsMessages = true

    public let conversation: ConversationID

    public init(_ conversation: ConversationID) { self.conversation = conversation }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [ChatView] {
        let chat = try source.conversation(conversation, for: viewer)
        let participantStates = try source.participantStates(of: conversation)
        let own = participantStates.first { $0.user == viewer.user }?.participantState
        let tally = try source.tally(of: conversation, chat, own, for: viewer, wantsLast: true)
        var view = ChatView(
            of: chat, as: conversation, unread: tally.unread,
            isArchived: own?.isArchived ?? false, last: tally.last)
        view.archivedBy =
            participantStates.filter {
                $0.participantState.isArchived && chat.participants.contains($0.user)
            }
            .map(\.user).sorted()
        view.isHidden = !tally.isSeen
        if viewer.isExact { view.lastChanges = chat.lastChanges(of: viewer.user, in: own) }
        return [view]
    }
}

/// A query for the participants of a conversation, ascending.
public struct ParticipantsQuery: ConversationQuery {
    public typealias Answer = [UserID]
    public static let codes: [UInt8] = [8]

    public let conversation: ConversationID

    public init(_ conversation: ConversationID) { self.conversation = conversation }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [UserID] {
        try source.conversation(conversation, for: viewer).participants.elements
    }
}

/// A query for the last messages that each participant of a conversation has received and read.
public struct MarksQuery: ConversationQuery {
    public typealias Answer = [MarkView]
    public static let codes: [UInt8] = [10]

    public let conversation: ConversationID

    public init(_ conversation: ConversationID) { self.conversation = conversation }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [MarkView] {
        let chat = try source.conversation(conversation, for: viewer)
        return chat.marks(
            by: try source.participantStates(of: conversation), isExact: viewer.isExact)
    }
}

/// A query for the changes of a conversation's participants, the latest change first.
public struct ChangesQuery: Query {
    public typealias Answer = [ParticipantChange]
    public static let codes: [UInt8] = [45]

    public let conversation: ConversationID
    /// The most changes that the answer contains, 1…`ParticipantChanges.countMax`.
    public let limit: Int

    public init(_ conversation: ConversationID, limit: Int) {
        self.conversation = conversation
        self.limit = limit
    }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.readName()
        limit = try reader.readNumber()
        guard (1...ParticipantChanges.countMax).contains(limit) else {
            throw .tooLong(count: UInt64(limit), limit: ParticipantChanges.countMax)
        }
    }

    public func encode(into writer: inout ByteWriter) {
        writer.write(conversation)
        writer.write(count: limit)
    }

    public var partition: String? { conversation.text }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [ParticipantChange] {
        let chat = try source.conversation(conversation, for: viewer)
        let own = try source.document(.participantState(viewer.user, in: conversation))
        return Array(chat.changes(shownTo: viewer.user, in: own?.participantState).prefix(limit))
    }
}

// MARK: Lists

extension Document {
    /// Returns the conversation in this document, with its id; nil if the user is no participant.
    func conversation(of user: UserID) -> (id: ConversationID, chat: Conversation)? {
        guard let id = ConversationID(key.partition), let chat = conversation,
            chat.participants.contains(user)
        else { return nil }
        return (id, chat)
    }
}

/// A query for the user's conversations by the time of their last message, the latest first.
public struct ChatsQuery: ListQuery {
    /// The kinds of conversations that a list can contain.
    public enum Shown: String, CaseIterable, Hashable, Sendable {
        case active
        case archived
        case all

        func admits(isArchived: Bool) -> Bool {
            switch self {
            case .active: !isArchived
            case .archived: isArchived
            case .all: true
            }
        }
    }

    public typealias Answer = [ChatView]
    public static let codes: [UInt8] = [4, 26]
    public static let showsMessages = true
    public static let kind = DocumentKey.Kind.conversation
    public static let empty: [ChatView] = []

    public let shown: Shown
    /// The words that occur in the title, the participants and the last text; nil for no search.
    public let search: WordSearch?

    public init(_ shown: Shown, finding search: WordSearch? = nil) {
        self.shown = shown
        self.search = search
    }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        shown = try Shown(from: &reader)
        search = code == 26 ? try WordSearch(from: &reader) : nil
    }

    public var code: UInt8 { search == nil ? 4 : 26 }

    public func encode(into writer: inout ByteWriter) {
        shown.encode(into: &writer)
        if let search { search.encode(into: &writer) }
    }

    public func part<Source: QuerySource>(
        of document: Document, for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [ChatView]? {
        guard let (id, chat) = document.conversation(of: viewer.user) else { return nil }
        let own = try source.document(.participantState(viewer.user, in: id))?.participantState
        let isArchived = own?.isArchived ?? false
        guard shown.admits(isArchived: isArchived) else { return nil }
        let tally = try source.tally(of: id, chat, own, for: viewer, wantsLast: true)
        // A conversation that its user has hidden is listed again once a new message has arrived.
        guard tally.isSeen else { return nil }
        var view = ChatView(
            of: chat, as: id, unread: tally.unread, isArchived: isArchived, last: tally.last)
        if viewer.isExact { view.lastChanges = chat.lastChanges(of: viewer.user, in: own) }
        return search?.matches(view.texts) ?? true ? [view] : nil
    }
}

extension ChatsQuery.Shown: NumberedChoice {
    public static var noun: String { "which conversations" }

    public var number: UInt8 {
        switch self {
        case .active: 1
        case .archived: 2
        case .all: 3
        }
    }
}

/// A query for the user's conversations with unread messages, and the number of unread messages.
public struct UnreadQuery: ListQuery {
    public typealias Answer = [UnreadCount]
    public static let codes: [UInt8] = [5]
    public static let showsMessages = true
    public static let kind = DocumentKey.Kind.conversation
    public static let empty: [UnreadCount] = []

    public init() {}

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {}

    public func encode(into writer: inout ByteWriter) {}

    public func part<Source: QuerySource>(
        of document: Document, for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [UnreadCount]? {
        guard let (id, chat) = document.conversation(of: viewer.user) else { return nil }
        let own = try source.document(.participantState(viewer.user, in: id))?.participantState
        let tally = try source.tally(of: id, chat, own, for: viewer, wantsLast: false)
        guard tally.unread > 0 else { return nil }
        return [UnreadCount(conversation: id, count: tally.unread)]
    }
}

/// A query for the other participants of the user's conversations.
public struct ContactsQuery: ListQuery {
    public typealias Answer = [UserID]
    public static let codes: [UInt8] = [24]
    public static let kind = DocumentKey.Kind.conversation
    public static let empty: [UserID] = []

    public init() {}

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {}

    public func encode(into writer: inout ByteWriter) {}

    public func part<Source: QuerySource>(
        of document: Document, for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [UserID]? {
        guard let (_, chat) = document.conversation(of: viewer.user) else { return nil }
        return chat.participants.elements.filter { $0 != viewer.user }
    }
}

/// A query for those of the users who added the viewer to conversations whom the viewer knows.
public struct AcquaintanceQuery: ListQuery {
    public typealias Answer = Acquaintance
    public static let codes: [UInt8] = [41]
    public static let isForOperators = true
    public static let kind = DocumentKey.Kind.conversation
    public static let empty = Acquaintance()

    public let question: Acquaintance.Question

    public init(_ question: Acquaintance.Question) { self.question = question }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        question = try Acquaintance.Question(from: &reader)
    }

    public func encode(into writer: inout ByteWriter) { question.encode(into: &writer) }

    public func part<Source: QuerySource>(
        of document: Document, for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> Acquaintance? {
        guard let (id, chat) = document.conversation(of: viewer.user) else { return nil }
        var isAnswered = false
        if !question.others.isEmpty {
            isAnswered = try source.hasSent(viewer.user, in: id, chat)
        }
        return Acquaintance(
            in: chat, as: id, of: viewer.user, for: question, isAnswered: isAnswered)
    }
}
