import LineProtocol

/// One line of the list of chats.
struct Chat: Equatable {
    let id: String
    let title: String
    let unread: Int
    let isArchived: Bool
    let participants: [String]
    let lastFrom: String?
    let lastText: String

    init?(_ fields: ReplyFields) {
        guard let id = fields["id"] else { return nil }
        self.id = id
        participants = fields.set("participants")
        title = Columns.harmless(fields["title"] ?? "")
        unread = Int(fields["unread"] ?? "") ?? 0
        isArchived = fields.isTrue("archived")
        lastFrom = fields["lastFrom"]
        lastText = Columns.harmless(fields["lastText"] ?? "")
    }

    /// Returns the chat's title or, without one, the names of the other participants.
    func name(for user: String) -> String {
        if !title.isEmpty { return title }
        let others = participants.filter { $0 != user }
        return others.isEmpty ? id : others.joined(separator: ", ")
    }
}

/// One message of the open chat.
struct Message: Equatable {
    let id: String
    /// The place among the messages of one millisecond; empty until the cluster has told it.
    let sequence: String
    let from: String
    /// Milliseconds since 1970.
    let at: Int64
    /// The text that is shown.
    let text: String
    /// The text that was sent, with which an edit begins.
    let rawText: String
    let isEdited: Bool
    let isDeleted: Bool
    let pinnedBy: String?
    let readBy: [String]
    let deliveredTo: [String]

    init?(_ fields: ReplyFields) {
        guard let id = fields["id"], let from = fields["from"],
            let at = fields["at"].flatMap({ LineTime.parse($0) })
        else { return nil }
        self.id = id
        sequence = fields["seq"] ?? ""
        self.from = from
        self.at = at
        isDeleted = fields.isTrue("deletedForEveryone")
        rawText = fields["text"] ?? ""
        let text = Columns.harmless(rawText)
        switch (fields["type"], text.isEmpty, isDeleted) {
        case ("image", true, false): self.text = "[Photo]"
        case ("voice", true, false): self.text = "[Voice message]"
        default: self.text = text
        }
        isEdited = fields["edited"] != nil
        pinnedBy = fields["pinnedBy"]
        readBy = fields.set("readBy")
        deliveredTo = fields.set("deliveredTo")
    }
}

/// A place in the order of a conversation.
struct Position: Hashable, Comparable {
    let at: Int64
    var sequence = ""
    let id: String

    static let end = Position(at: .max, id: "")

    static func < (left: Position, right: Position) -> Bool {
        (left.at, left.sequence, left.id) < (right.at, right.sequence, right.id)
    }
}

extension Message {
    var position: Position { Position(at: at, sequence: sequence, id: id) }
}

/// The state that the nodes have sent: the list of chats, and the messages of the open one.
struct ServerState {
    /// The number of messages that are read at first, and added each time the top is reached.
    static let pageCount = 100

    /// The limit of messages in one `HISTORY`.
    static let messagesMax = 1_000

    /// The time after which a typist without a new notice has stopped, in milliseconds: nodes end
    /// typing after 6 s.
    static let typingMilliseconds: UInt64 = 8_000

    var chats: [Chat] = []
    private(set) var openID: String?
    private(set) var messages: [Message] = []
    private(set) var limit = ServerState.pageCount
    /// A number that changes whenever the visible part of the open chat does.
    private(set) var revision = 0
    /// Whether the messages of the open chat have been read since it was opened.
    private(set) var hasHistory = false
    /// The first message that was unread when the chat was opened.
    private(set) var firstUnread: Position?
    /// The number of messages that were unread then.
    private var unreadAtOpen = 0
    private var labels = MessageLabels()
    private var typists: [String: [String: UInt64]] = [:]
    /// The messages that arrived since the last `HISTORY` request: its reply may be older.
    private var recent: [Message] = []

    var open: Chat? { chats.first { $0.id == openID } }

    var unread: Int { chats.reduce(0) { $0 + $1.unread } }

    mutating func open(_ id: String?) {
        openID = id
        messages = []
        recent = []
        labels = MessageLabels()
        revision += 1
        hasHistory = false
        firstUnread = nil
        unreadAtOpen = open?.unread ?? 0
        // All unread messages, and some read ones before them.
        let wanted = unreadAtOpen + Self.pageCount / 5
        limit = min(Self.messagesMax, max(Self.pageCount, wanted))
    }

    /// - Returns: false if no older messages can be read.
    mutating func wantsOlder() -> Bool {
        guard messages.count >= limit, limit < Self.messagesMax else { return false }
        limit = min(Self.messagesMax, limit + Self.pageCount)
        return true
    }

    /// Whether older messages may exist than one `HISTORY` returns.
    var isCut: Bool { limit >= Self.messagesMax && messages.count >= limit }

    mutating func onHistoryAsked() { recent = [] }

    mutating func replaceMessages(_ new: [Message], of user: String) {
        messages = new
        if new.count >= limit, !hasHistory {
            labels.begin(at: Self.messagesMax - new.count + 1)
        }
        for message in recent { _ = append(message) }
        labels.assign(to: messages.map(\.id))
        revision += 1
        if !hasHistory { firstUnread = oldest(unreadAtOpen, notFrom: user) }
        hasHistory = true
    }

    /// Returns the position of the oldest of the newest `count` messages of others.
    private func oldest(_ count: Int, notFrom user: String) -> Position? {
        guard count > 0 else { return nil }
        let others = messages.filter { $0.from != user && !$0.isDeleted }
        return others.suffix(count).first?.position
    }

    /// - Returns: false if the message exists already.
    mutating func append(_ message: Message) -> Bool {
        guard !messages.contains(where: { $0.id == message.id }) else { return false }
        if !recent.contains(where: { $0.id == message.id }) { recent.append(message) }
        let place = messages.lastIndex { $0.position < message.position }
        messages.insert(message, at: place.map { $0 + 1 } ?? 0)
        // The limit grows with the list, so that a repeated `HISTORY` keeps the text that is being
        // read.
        limit = max(limit, min(Self.messagesMax, messages.count))
        if hasHistory { labels.assign(to: messages.map(\.id)) }
        revision += 1
        return true
    }

    func label(of id: String) -> String { labels[id] ?? "?" }

    func message(labelled label: String) -> Message? {
        messages.first { labels[$0.id] == label }
    }

    /// Returns a chat by its id, by the beginning of its id or name, or by its place in the list
    /// from 1.
    func chat(_ word: String, for user: String) -> Chat? {
        if let exact = chats.first(where: { $0.id == word }) { return exact }
        if let place = Int(word), chats.indices.contains(place - 1) { return chats[place - 1] }
        let found = chats.filter {
            $0.id.hasPrefix(word) || $0.name(for: user).lowercased().hasPrefix(word.lowercased())
        }
        return found.count == 1 ? found[0] : nil
    }

    mutating func setTyping(_ user: String, in conversation: String, _ isOn: Bool, at now: UInt64) {
        typists[conversation, default: [:]][user] = isOn ? now + Self.typingMilliseconds : nil
    }

    mutating func forgetTypists() { typists = [:] }

    /// Returns every user in the list of chats, those of the open chat first.
    func users(besides user: String) -> [String] {
        let all = (open?.participants ?? []) + chats.flatMap(\.participants)
        var seen: Set<String> = [user]
        return all.filter { seen.insert($0).inserted }
    }

    func typists(in conversation: String, at now: UInt64) -> [String] {
        (typists[conversation] ?? [:]).filter { $0.value > now }.keys.sorted()
    }
}
