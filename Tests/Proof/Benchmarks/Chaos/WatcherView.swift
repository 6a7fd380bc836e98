import LineProtocol

/// The knowledge of one watcher, built only from the events that it received.
struct WatcherView: Sendable {
    /// A message, as the last event stated it.
    struct Entry: Hashable, Sendable {
        var text = ""
        var isRetracted = false
        /// Whether this user deleted it for themselves.
        var isGone = false
        var isEdited = false
        /// Nil if no event stated it.
        var isPinned: Bool?
        /// Whether an event contained its text, and not only its deletion.
        var isTold = false
        /// The nodes of which one may have had the only disk with what the events stated, one bit
        /// each.
        var tellers: UInt16 = 0
        /// Whether one of these disks was lost.
        var isDoubtful = false
        /// The events and their nodes, in order, for the reader of a finding.
        var trail = ""
    }

    /// A conversation that this user is or was in.
    struct Chat: Sendable {
        var isIn = false
        /// The messages with events since this user came in, which are newer than the `HISTORY`
        /// read for that, and those that it showed.
        var entries: [String: Entry] = [:]
        /// Whether the user came in and has not read `HISTORY` yet, so that earlier messages are
        /// unknown.
        var isUnread = false
        var tellers: UInt16 = 0
        var isDoubtful = false
        /// The events of joining and leaving with their nodes, in order, for the reader of a
        /// finding.
        var trail = ""
    }

    /// A bit that stands for no particular node.
    private static let elsewhere: UInt16 = 1 << 15

    /// The length of a trail's end that a finding shows, in characters.
    private static let trailCharactersMax = 600

    let user: String
    private(set) var chats: [String: Chat] = [:]
    /// The number of events, by kind.
    private(set) var eventsOf: [String: Int] = [:]

    /// - Parameter conversations: the conversations that the user is in already, all without
    ///   messages.
    init(of user: String, in conversations: [String]) {
        self.user = user
        for conversation in conversations { chats[conversation] = Chat(isIn: true) }
    }

    /// The first conversation by name whose `HISTORY` has to be read; nil if there is none.
    var unread: String? { chats.filter { $0.value.isUnread }.keys.min() }

    /// - Parameters:
    ///   - disk: the node whose disk holds the change, as in `Certainty.onAcknowledged`.
    ///   - place: the origin of the event, for the reader of a finding.
    mutating func onEvent(_ fields: ReplyFields, from disk: Int?, at place: String = "") {
        guard let kind = fields["kind"] else { return }
        eventsOf[kind, default: 0] += 1
        guard let conversation = fields["conversation"] else { return }
        let teller = disk.map { 1 << UInt16($0) } ?? Self.elsewhere
        if kind == "member" {
            guard fields["user"] == user else { return }
            onMember(isIn: fields["change"] == "added", conversation, by: teller)
            chats[conversation]?.trail += "\(fields["change"] ?? "?") \(place); "
            return
        }
        guard let id = fields["id"] else { return }
        defer { chats[conversation]?.entries[id]?.trail += "\(kind) \(place); " }
        switch kind {
        case "message", "edit", "restore": setEntry(fields, id, in: conversation, by: teller)
        case "delete":
            let isForEveryone = fields["for"] == "everyone"
            let isOwn = fields["by"] == user
            change(id, in: conversation, by: teller) { entry in
                if isForEveryone { entry.isRetracted = true }
                // A message that its sender deletes for everyone is deleted for the sender, too.
                if isOwn { entry.isGone = true }
            }
        case "pin", "unpin":
            change(id, in: conversation, by: teller) { $0.isPinned = kind == "pin" }
        default: break
        }
    }

    private mutating func onMember(isIn: Bool, _ conversation: String, by teller: UInt16) {
        var chat = chats[conversation] ?? Chat()
        chat.tellers = teller
        if isIn, !chat.isIn {
            chat.isUnread = true
            // Nobody was told what changed while this user was out.
            chat.entries = [:]
        }
        if !isIn { chat.isUnread = false }
        chat.isIn = isIn
        chats[conversation] = chat
    }

    private mutating func setEntry(
        _ fields: ReplyFields, _ id: String, in conversation: String, by teller: UInt16
    ) {
        var entry = Self.entry(of: fields, tellers: teller)
        entry.trail = chats[conversation]?.entries[id]?.trail ?? ""
        chats[conversation, default: Chat()].entries[id] = entry
    }

    private static func entry(of fields: ReplyFields, tellers: UInt16) -> Entry {
        Entry(
            text: fields["text"] ?? "", isRetracted: fields.isTrue("deletedForEveryone"),
            isEdited: fields["edited"] != nil, isPinned: fields["pinnedBy"] != nil, isTold: true,
            tellers: tellers)
    }

    private mutating func change(
        _ id: String, in conversation: String, by teller: UInt16, _ body: (inout Entry) -> Void
    ) {
        // Changes the entry in place: copying all entries per event would dominate the run.
        body(&chats[conversation, default: Chat()].entries[id, default: Entry()])
        chats[conversation]?.entries[id]?.tellers |= teller
    }

    /// Adds the history of a conversation that the user came into; later events are newer than it.
    mutating func onHistory(_ lines: [ReplyFields], of conversation: String) {
        guard var chat = chats[conversation], chat.isUnread else { return }
        chat.isUnread = false
        for fields in lines {
            guard let id = fields["id"] else { continue }
            var entry = Self.entry(of: fields, tellers: Self.elsewhere)
            if let told = chat.entries[id] {
                if told.isTold { continue }
                entry.isRetracted = entry.isRetracted || told.isRetracted
                entry.isGone = told.isGone
                entry.isPinned = told.isPinned ?? entry.isPinned
            }
            chat.entries[id] = entry
        }
        chats[conversation] = chat
    }

    /// Marks as doubtful what only the lost disk may have held.
    mutating func onWipe(of node: Int) {
        let lost = Self.elsewhere | 1 << UInt16(node)
        for (name, chat) in chats {
            if chat.tellers & lost != 0 { chats[name]?.isDoubtful = true }
            for (id, entry) in chat.entries where entry.tellers & lost != 0 {
                chats[name]?.entries[id]?.isDoubtful = true
            }
        }
    }

    // MARK: Final checks

    /// Compares the watcher's knowledge with what `HISTORY` shows the same user.
    ///
    /// - Parameter history: nil if the user may not read it.
    /// - Returns: a sentence per difference, and the number of differences that a lost disk
    ///   excuses.
    func differences(
        from history: [HistoryLine]?, in conversation: String
    ) -> (findings: [String], excused: Int) {
        let chat = chats[conversation] ?? Chat()
        let trail = chat.trail.suffix(Self.trailCharactersMax)
        guard let history else {
            guard chat.isIn else { return ([], 0) }
            return chat.isDoubtful ? ([], 1) : (["is in it, and may not read it (\(trail))"], 0)
        }
        guard chat.isIn else {
            return chat.isDoubtful ? ([], 1) : (["is not in it, and may read it (\(trail))"], 0)
        }
        if chat.isUnread { return (["has not read it since they came in"], 0) }
        var findings: [String] = []
        var excused = 0
        var rest = chat.entries.filter { !$0.value.isGone && $0.value.isTold }
        for line in history {
            let entry = chat.entries[line.id]
            rest[line.id] = nil
            guard let finding = Self.difference(entry, from: line) else { continue }
            if entry?.isDoubtful ?? false {
                excused += 1
            } else {
                findings.append(
                    "\(line.id), sent at \(line.at), \(finding) (\(entry?.trail ?? ""))")
            }
        }
        for (id, entry) in rest.sorted(by: { $0.key < $1.key }) {
            if entry.isDoubtful {
                excused += 1
            } else {
                findings.append(
                    "\(id) shows '\(entry.text)', and HISTORY lacks it (\(entry.trail))")
            }
        }
        return (findings, excused)
    }

    private static func difference(_ entry: Entry?, from line: HistoryLine) -> String? {
        guard let entry else { return "was never told of" }
        if entry.isGone { return "was told to be deleted for them, and HISTORY shows it" }
        if entry.isRetracted != line.isRetracted {
            return entry.isRetracted
                ? "was told to be deleted for everyone, and is not"
                : "was not told to be deleted for everyone"
        }
        if line.isRetracted { return nil }
        if entry.text != line.text { return "was told as '\(entry.text)', and is '\(line.text)'" }
        if entry.isEdited != line.isEdited { return "was told with another edited=" }
        let isPinned = entry.isPinned ?? false
        return isPinned == line.isPinned ? nil : "was told to be pinned or not, wrongly"
    }
}
