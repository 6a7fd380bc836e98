import LineProtocol

/// What one watcher knows by its events alone, as a client would keep it.
struct ChaosSight: Sendable {
    /// A message, as it was last told of.
    struct Entry: Hashable, Sendable {
        var text = ""
        var isRetracted = false
        /// This user deleted it for themselves.
        var isGone = false
        var isEdited = false
        /// Nil where nothing was said of it.
        var isPinned: Bool?
        /// Whether a text was told, or it was only said that it is deleted.
        var isTold = false
        /// The disks that may alone have held what was told, one bit each.
        var tellers: UInt16 = 0
        /// One of those disks was lost.
        var isDoubtful = false
        /// Who told what, in order, for who reads a finding.
        var trail = ""
    }

    /// A conversation that this user is or was in.
    struct Chat: Sendable {
        var isIn = false
        var entries: [String: Entry] = [:]
        /// What was told of since this user came in: newer than any `HISTORY` read for that.
        var touched: Set<String> = []
        /// Who comes in knows nothing of what was there, until it has read `HISTORY`.
        var isUnread = false
        var tellers: UInt16 = 0
        var isDoubtful = false
        /// Who told that they came or went, in order, for who reads a finding.
        var trail = ""
    }

    /// A bit that no node has.
    private static let elsewhere: UInt16 = 1 << 15

    /// Of a trail, the end alone is told.
    private static let trailCharactersMax = 600

    let user: String
    private(set) var chats: [String: Chat] = [:]
    /// By kind, how many events came.
    private(set) var eventsOf: [String: Int] = [:]

    /// - Parameter conversations: those that they are in already, in which nothing was sent.
    init(of user: String, in conversations: [String]) {
        self.user = user
        for conversation in conversations { chats[conversation] = Chat(isIn: true) }
    }

    /// A conversation whose `HISTORY` is to be read; the first by name.
    var unread: String? { chats.filter { $0.value.isUnread }.keys.min() }

    /// - Parameters:
    ///   - disk: the node on whose disk it is, as in `Claim.onAcknowledged`.
    ///   - place: where and how it came, for who reads a finding.
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
        case "message", "edit", "restore": take(fields, id, in: conversation, by: teller)
        case "delete":
            let isForEveryone = fields["for"] == "everyone"
            let isOwn = fields["by"] == user
            change(id, in: conversation, by: teller) { entry in
                if isForEveryone { entry.isRetracted = true }
                // Who deletes for everyone deletes for themselves, too.
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
            chat.touched = []
        }
        if !isIn { chat.isUnread = false }
        chat.isIn = isIn
        chats[conversation] = chat
    }

    private mutating func take(
        _ fields: ReplyFields, _ id: String, in conversation: String, by teller: UInt16
    ) {
        var entry = Self.entry(of: fields, tellers: teller)
        entry.trail = chats[conversation]?.entries[id]?.trail ?? ""
        chats[conversation, default: Chat()].entries[id] = entry
        chats[conversation]?.touched.insert(id)
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
        // In place: a copy of all entries for each event would be the run's main work.
        body(&chats[conversation, default: Chat()].entries[id, default: Entry()])
        chats[conversation]?.entries[id]?.tellers |= teller
        chats[conversation]?.touched.insert(id)
    }

    /// All of a conversation that this user came into; what was told since they did is newer.
    mutating func onHistory(_ lines: [ReplyFields], of conversation: String) {
        guard var chat = chats[conversation], chat.isUnread else { return }
        chat.isUnread = false
        chat.entries = chat.entries.filter { chat.touched.contains($0.key) }
        for fields in lines {
            guard let id = fields["id"] else { continue }
            var entry = Self.entry(of: fields, tellers: Self.elsewhere)
            if chat.touched.contains(id), let told = chat.entries[id] {
                if told.isTold { continue }
                entry.isRetracted = entry.isRetracted || told.isRetracted
                entry.isGone = told.isGone
                entry.isPinned = told.isPinned ?? entry.isPinned
            }
            chat.entries[id] = entry
        }
        chats[conversation] = chat
    }

    /// What only the lost disk held may be gone, though it was told of.
    mutating func onWipe(of node: Int) {
        let lost = Self.elsewhere | 1 << UInt16(node)
        for (name, chat) in chats {
            if chat.tellers & lost != 0 { chats[name]?.isDoubtful = true }
            for (id, entry) in chat.entries where entry.tellers & lost != 0 {
                chats[name]?.entries[id]?.isDoubtful = true
            }
        }
    }

    // MARK: In the end

    /// Where this differs from what `HISTORY` shows the same user; nothing where it does not.
    ///
    /// - Parameter history: nil where they may not read it.
    /// - Returns: a sentence for each, and how many more a lost disk excuses.
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
