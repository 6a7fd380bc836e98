import LineProtocol

/// The fields of a `CHATS` line that the checks use.
struct ChatLine: Hashable, Sendable {
    let id: String
    let unread: Int
    let isArchived: Bool
    let participants: [String]
    /// The preview; nil if there is none.
    let last: String?
    let lastAt: String
    let lastText: String

    /// Nil for a line other than `CHAT`.
    init?(_ line: ArraySlice<UInt8>) {
        guard case .data("CHAT", let fields) = ReplyLine(line), let id = fields["id"],
            let unread = fields["unread"].flatMap({ Int($0) }),
            let at = fields["lastAt"] ?? fields["createdAt"]
        else { return nil }
        self.init(
            id: id, unread: unread, isArchived: fields.isTrue("archived"),
            participants: fields.set("participants"), last: fields["last"], lastAt: at,
            lastText: fields["lastText"] ?? "")
    }

    init(
        id: String, unread: Int, isArchived: Bool, participants: [String], last: String?,
        lastAt: String, lastText: String
    ) {
        self.id = id
        self.unread = unread
        self.isArchived = isArchived
        self.participants = participants
        self.last = last
        self.lastAt = lastAt
        self.lastText = lastText
    }
}

/// A node's views for one user: all lists, and the histories with which they must agree.
struct UserViews: Sendable {
    var all: [ChatLine] = []
    var active: [ChatLine] = []
    var archived: [ChatLine] = []
    /// The unread counts, by conversation.
    var unread: [String: Int] = [:]
    /// The histories by the conversation's number; none if the user may not read it.
    var histories: [Int: [HistoryLine]] = [:]

    /// Returns the history of a conversation; nil if the user is not in it.
    func readable(_ conversation: Int) -> [HistoryLine]? {
        let name = Expectations.name(ofConversation: conversation)
        return all.contains { $0.id == name } ? histories[conversation] ?? [] : nil
    }
}

/// The checks of lists: their entries, and their agreement with the histories.
extension ChaosChecker {
    func findings(inViews views: UserViews, of user: Int, on node: String) -> [String] {
        let place = "\(node), CHATS of \(Expectations.users[user])"
        var findings: [String] = []
        var shown: [String: ChatLine] = [:]
        for chat in views.all where shown.updateValue(chat, forKey: chat.id) != nil {
            findings.append("\(place): \(chat.id) stands there twice")
        }
        for conversation in 0..<expectations.conversations {
            let name = Expectations.name(ofConversation: conversation)
            findings += self.findings(
                inChat: shown.removeValue(forKey: name), of: conversation, for: user,
                history: views.histories[conversation] ?? []
            ).map { "\(place): \(name) \($0)" }
        }
        findings += shown.keys.sorted().map { "\(place): a strange conversation \($0)" }
        if views.all != views.all.sorted(by: Self.isBefore) {
            findings.append("\(place) is not latest first")
        }
        if views.active != views.all.filter({ !$0.isArchived })
            || views.archived != views.all.filter(\.isArchived)
        {
            findings.append("\(place): active and archived ones do not make up all")
        }
        let counts = views.all.filter { $0.unread > 0 }.map { ($0.id, $0.unread) }
        if views.unread != Dictionary(counts, uniquingKeysWith: +) {
            findings.append("\(place) and UNREAD count differently")
        }
        return findings
    }

    private static func isBefore(_ left: ChatLine, _ right: ChatLine) -> Bool {
        left.lastAt == right.lastAt ? left.id < right.id : left.lastAt > right.lastAt
    }

    private func findings(
        inChat chat: ChatLine?, of conversation: Int, for user: Int, history: [HistoryLine]
    ) -> [String] {
        let part = expectations.parts[conversation][user]
        let isIn = Expectations.isFounder(user) ? true : part.presence.standing
        guard let chat else { return isIn == true ? ["is missing"] : [] }
        if isIn == false { return ["shows, though they were never invited"] }
        var findings: [String] = []
        if let isArchived = part.archive.standing, isArchived != chat.isArchived {
            findings.append(isArchived ? "was archived and is not" : "is archived by nobody")
        }
        for guest in Expectations.users.indices {
            let isThere = chat.participants.contains(Expectations.users[guest])
            let wanted =
                Expectations.isFounder(guest)
                ? true : expectations.parts[conversation][guest].presence.standing
            guard let wanted, wanted != isThere else { continue }
            findings.append("\(wanted ? "lacks" : "has") \(Expectations.users[guest])")
        }
        let last = history.last { !$0.isRetracted }
        if chat.last != last?.id || last.map({ $0.text != chat.lastText }) ?? false {
            findings.append(
                "has '\(chat.lastText)' (\(chat.last ?? "none")) as its last, "
                    + "where HISTORY has '\(last?.text ?? "")' (\(last?.id ?? "none"))")
        }
        return findings
            + self.findings(inUnread: chat.unread, of: part, for: user, history: history)
    }

    /// Checks an unread count: exactly the messages of others until the user reads anything, and
    /// then at most those after the latest acknowledged mark.
    private func findings(
        inUnread count: Int, of part: Expectations.Part, for user: Int, history: [HistoryLine]
    ) -> [String] {
        let isTheirs = { (line: HistoryLine) in
            line.from == Expectations.users[user] || line.isRetracted
        }
        let total = history.count { !isTheirs($0) }
        if part.reads.isEmpty {
            return count == total ? [] : ["counts \(count) unread of \(total) never read"]
        }
        let read = Set(
            part.reads.filter { $0.value.isCertain }.keys.map { Expectations.id(of: $0) })
        let mark = history.lastIndex { read.contains($0.id) }
        let behind = history[((mark ?? -1) + 1)...].count { !isTheirs($0) }
        return count <= behind
            ? [] : ["counts \(count) unread, of which only \(behind) are behind a mark"]
    }

    /// Returns the findings in the lines of `PINNED`, from one node for a user who has deleted
    /// nothing.
    func findings(
        inPinned lines: [HistoryLine], of conversation: Int, on node: String
    ) -> [String] {
        let place = "\(node): PINNED \(Expectations.name(ofConversation: conversation))"
        var findings: [String] = []
        let shown = Set(lines.map(\.id))
        for line in lines where line.isRetracted {
            findings.append("\(place) shows \(line.id), which is deleted for everyone")
        }
        for index in expectations.byConversation[conversation] {
            let (message, id) = (expectations.messages[index], Expectations.id(of: index))
            let isPinned = message.retracted.isCertain ? false : message.pin.standing
            switch (isPinned, shown.contains(id)) {
            case (true, false) where message.retracted == .never:
                findings.append("\(place) lacks \(id)")
            case (false, true): findings.append("\(place) shows \(id), which should not be")
            default: break
            }
        }
        return findings
    }
}
