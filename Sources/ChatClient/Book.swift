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

    /// What a person calls it: its title, or else who is in it beside oneself.
    func name(for user: String) -> String {
        if !title.isEmpty { return title }
        let others = participants.filter { $0 != user }
        return others.isEmpty ? id : others.joined(separator: ", ")
    }
}

/// One message of the open chat.
struct Message: Equatable {
    let id: String
    let from: String
    /// Milliseconds since 1970.
    let at: Int64
    let text: String
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
        self.from = from
        self.at = at
        isDeleted = fields.isTrue("deletedForEveryone")
        let text = Columns.harmless(fields["text"] ?? "")
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

/// What the nodes have said: the list of chats, and the messages of the open one.
struct Book {
    /// How many messages are asked for at first, and how many more each time the top is reached.
    static let pageCount = 100

    /// The most that one `HISTORY` gives.
    static let messagesMax = 1_000

    /// A typist of whom nothing is heard for so long has stopped: nodes end it after 6 s.
    static let typingMilliseconds: UInt64 = 8_000

    var chats: [Chat] = []
    private(set) var openID: String?
    private(set) var messages: [Message] = []
    private(set) var limit = Book.pageCount
    /// The short number of each message of the open chat, in the order in which they were seen.
    private var numbers: [String: Int] = [:]
    private var typists: [String: [String: UInt64]] = [:]
    /// What came since `HISTORY` was asked for: its reply may be older.
    private var recent: [Message] = []

    var open: Chat? { chats.first { $0.id == openID } }

    var unread: Int { chats.reduce(0) { $0 + $1.unread } }

    mutating func open(_ id: String?) {
        openID = id
        messages = []
        recent = []
        numbers = [:]
        limit = Self.pageCount
    }

    /// - Returns: false when there is nothing older to be had.
    mutating func wantsOlder() -> Bool {
        guard messages.count >= limit, limit < Self.messagesMax else { return false }
        limit = min(Self.messagesMax, limit + Self.pageCount)
        return true
    }

    mutating func onHistoryAsked() { recent = [] }

    mutating func replaceMessages(_ new: [Message]) {
        messages = new
        for message in new { assignNumber(message.id) }
        for message in recent { _ = append(message) }
    }

    /// - Returns: false for one that is there.
    mutating func append(_ message: Message) -> Bool {
        guard !messages.contains(where: { $0.id == message.id }) else { return false }
        recent.append(message)
        let place = messages.lastIndex { ($0.at, $0.id) < (message.at, message.id) }
        messages.insert(message, at: place.map { $0 + 1 } ?? 0)
        assignNumber(message.id)
        return true
    }

    private mutating func assignNumber(_ id: String) {
        if numbers[id] == nil { numbers[id] = numbers.count + 1 }
    }

    func number(of id: String) -> Int { numbers[id] ?? 0 }

    func message(_ number: Int) -> Message? {
        messages.first { numbers[$0.id] == number }
    }

    /// A chat by its name, the beginning of it, or its place in the list from 1.
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

    func typists(in conversation: String, at now: UInt64) -> [String] {
        (typists[conversation] ?? [:]).filter { $0.value > now }.keys.sorted()
    }
}
