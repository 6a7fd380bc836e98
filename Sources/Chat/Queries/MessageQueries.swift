import CRDT
import Wire

extension QueryTable {
    static let ofMessages: [any Query.Type] = [
        HistoryQuery.self, MessageQuery.self, EditsQuery.self, PinsQuery.self, DueQuery.self,
    ]
}

/// A query for a page of messages as the user sees them, oldest first.
public struct HistoryQuery: Query {
    /// The messages of a page: the newest messages, or those directly before or after a message.
    public enum Place: Hashable, Sendable {
        case newest
        case before(MessageID)
        case after(MessageID)
    }

    public typealias Answer = [MessageView]
    /// The code 54 identifies a query that also shows messages which the user has deleted.
    public static let codes: [UInt8] = [1, 54]
    public static let showsMessages = true
    /// The most messages that one query may request.
    public static let limitMax = 1_000

    public let conversation: ConversationID
    public let place: Place
    /// The most messages of the page, 1…`limitMax`.
    public let limit: Int
    /// The bytes of messages after which the page may end; not encoded between nodes.
    public let bytesMax: Int?
    /// Whether the page contains messages that the user has deleted for themselves.
    public let showsHidden: Bool

    public init(
        _ conversation: ConversationID, place: Place, limit: Int, bytesMax: Int? = nil,
        showsHidden: Bool = false
    ) {
        self.conversation = conversation
        self.place = place
        self.limit = limit
        self.bytesMax = bytesMax
        self.showsHidden = showsHidden
    }

    public var code: UInt8 { showsHidden ? 54 : 1 }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        let conversation: ConversationID = try reader.readName()
        let place = try Place(from: &reader)
        let limit = try reader.readVarint()
        guard (1...UInt64(HistoryQuery.limitMax)).contains(limit) else {
            throw .tooLong(count: limit, limit: HistoryQuery.limitMax)
        }
        self.init(conversation, place: place, limit: Int(limit), showsHidden: code == 54)
    }

    public func encode(into writer: inout ByteWriter) {
        writer.write(conversation)
        place.encode(into: &writer)
        writer.write(count: limit)
    }

    public var partition: String? { conversation.text }

    public func ending(after bytes: Int) -> HistoryQuery? {
        HistoryQuery(
            conversation, place: place, limit: limit, bytesMax: bytes, showsHidden: showsHidden)
    }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [MessageView] {
        var listing = try source.listing(of: conversation, for: viewer)
        listing.showsHidden = showsHidden
        return try source.messages(
            try page(in: &source), upTo: bytesMax ?? .max, as: listing)
    }

    private func page<Source: QuerySource>(
        in source: inout Source
    ) throws(Source.Failure) -> HistoryPage {
        switch place {
        case .newest:
            return HistoryPage(.newest, limit: limit)
        case .before(let id):
            let time = try source.message(id, in: conversation).header.sent.time
            return HistoryPage(.before(HistoryPosition(time: time, id: id)), limit: limit)
        case .after(let id):
            let time = try source.message(id, in: conversation).header.sent.time
            return HistoryPage(.after(HistoryPosition(time: time, id: id)), limit: limit)
        }
    }
}

extension HistoryQuery.Place: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .newest: writer.write(1)
        case .before(let message):
            writer.write(2)
            writer.write(message)
        case .after(let message):
            writer.write(3)
            writer.write(message)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: self = .newest
        case 2: self = .before(try reader.readName())
        case 3: self = .after(try reader.readName())
        default: throw .invalid("a place in a history")
        }
    }
}

/// A query about one message of a conversation.
public protocol OneMessageQuery: Query {
    var message: MessageID { get }
    var conversation: ConversationID { get }

    init(_ message: MessageID, in conversation: ConversationID)
}

extension OneMessageQuery {
    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        self.init(try reader.readName(), in: try reader.readName())
    }

    public func encode(into writer: inout ByteWriter) {
        writer.write(message)
        writer.write(conversation)
    }

    public var partition: String? { conversation.text }
}

/// A query for a message as the user sees it.
public struct MessageQuery: OneMessageQuery {
    public typealias Answer = [MessageView]
    public static let codes: [UInt8] = [43]
    public static let showsMessages = true

    public let message: MessageID
    public let conversation: ConversationID

    public init(_ message: MessageID, in conversation: ConversationID) {
        self.message = message
        self.conversation = conversation
    }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [MessageView] {
        let listing = try source.listing(of: conversation, for: viewer)
        let found = try source.document(.message(message, in: conversation))
        guard let view = found.flatMap({ listing.view(of: $0) }) else {
            throw .refused(.messageNotFound)
        }
        return [view]
    }
}

/// A query for all texts of an edited message, the oldest text first.
public struct EditsQuery: OneMessageQuery {
    public typealias Answer = [EditView]
    public static let codes: [UInt8] = [2]
    public static let showsMessages = true

    public let message: MessageID
    public let conversation: ConversationID

    public init(_ message: MessageID, in conversation: ConversationID) {
        self.message = message
        self.conversation = conversation
    }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [EditView] {
        let chat = try source.conversation(
            conversation, for: viewer, orRefusing: .messageNotFound)
        let message = try source.message(message, in: conversation)
        guard !viewer.senders.hides(message) else { throw .refused(.messageNotFound) }
        return viewer.senders.shown(message).edits(among: chat.participants)
            .map { EditView(at: $0.at, text: $0.text) }
    }
}

/// A query for the pinned messages that the user sees, the latest pin first.
public struct PinsQuery: ConversationQuery {
    public typealias Answer = [MessageView]
    public static let codes: [UInt8] = [3]
    public static let showsMessages = true

    public let conversation: ConversationID

    public init(_ conversation: ConversationID) { self.conversation = conversation }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [MessageView] {
        let listing = try source.listing(of: conversation, for: viewer)
        var pins: [(at: Stamp, view: MessageView)] = []
        for key in try source.keys(
            of: .message, carrying: Term.pinned, partition: conversation.text)
        {
            guard let document = try source.document(key),
                let pin = document.message?.pin, pin.value.by != nil,
                let view = listing.view(of: document), !view.isDeletedForEveryone
            else { continue }
            pins.append((pin.stamp, view))
        }
        return pins.sorted { $1.at < $0.at }.map(\.view)
    }
}

// MARK: Listings

/// The data from which one user's view of a conversation's messages is made.
struct Listing {
    let conversation: ConversationID
    let chat: Conversation
    let viewer: Viewer
    let progress: Progress
    /// The vector of the changes up to which the user has hidden the conversation.
    let hidden: Vector?
    /// Whether messages are shown that the viewer has deleted for themselves.
    var showsHidden = false

    func view(of document: Document) -> MessageView? {
        guard let id = MessageID(document.key.id), !document.isSent(within: hidden) else {
            return nil
        }
        let senders = viewer.senders
        // Hardly any user has blocked others, and this path avoids a copy of the large message.
        if senders.isEmpty { return document.message.flatMap { view(of: $0, as: id) } }
        guard !senders.hides(document) else { return nil }
        return document.message.map(senders.shown).flatMap { view(of: $0, as: id) }
    }

    private func view(of message: Message, as id: MessageID) -> MessageView? {
        message.view(
            as: id, for: viewer.user, among: chat.participants, progress: progress,
            isExact: viewer.isExact, showsHidden: showsHidden)
    }
}

extension QuerySource {
    /// Returns the data for a participant's view of the messages; throws a refusal for other users.
    mutating func listing(
        of conversation: ConversationID, for viewer: Viewer
    ) throws(Failure) -> Listing {
        let chat = try self.conversation(conversation, for: viewer)
        let participantStates = try participantStates(of: conversation)
        let own = participantStates.first { $0.user == viewer.user }?.participantState
        return Listing(
            conversation: conversation, chat: chat, viewer: viewer,
            progress: Progress(of: participantStates, in: chat),
            hidden: chat.hiddenVector(of: viewer.user, in: own))
    }

    /// Returns a page of messages as the viewer sees them.
    ///
    /// - Parameter bytesMax: the size of the messages after which the page ends, in bytes. The page
    ///   contains the message that exceeds this size, and at least two messages: a message that the
    ///   caller leaves out shows that the history continues.
    mutating func messages(
        _ page: HistoryPage, upTo bytesMax: Int, as listing: Listing
    ) throws(Failure) -> [MessageView] {
        var views: [MessageView] = []
        var bytes = 0
        let viewer = listing.viewer
        try messages(page, of: listing.conversation) { run in
            viewer.senders.hidden(from: viewer.user, in: run, countingRetracted: true)
                == (listing.showsHidden ? run.counts.messages : run.counts.seen(by: viewer.user))
                || listing.hidden.map { run.counts.areSent(within: $0) ?? false } ?? false
        } handing: { document in
            guard let view = listing.view(of: document) else { return true }
            views.append(view)
            if bytesMax < .max { bytes += view.encoded.count }
            return views.count < page.limit && (bytes <= bytesMax || views.count < 2)
        }
        return page.isDescending ? views.reversed() : views
    }
}
