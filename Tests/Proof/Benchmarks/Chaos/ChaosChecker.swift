import LineProtocol

/// The fields of a `HISTORY` line that the checks use.
struct HistoryLine: Hashable, Sendable {
    let id: String
    let from: String
    let at: String
    let text: String
    let isRetracted: Bool
    var isEdited = false
    var isPinned = false

    /// Nil for a line other than `MESSAGE`.
    init?(_ line: ArraySlice<UInt8>) {
        guard case .data("MESSAGE", let fields) = ReplyLine(line), let id = fields["id"],
            let from = fields["from"], let at = fields["at"], let text = fields["text"]
        else { return nil }
        self.init(
            id: id, from: from, at: at, text: text,
            isRetracted: fields.isTrue("deletedForEveryone"))
        isEdited = fields["edited"] != nil
        isPinned = fields["pinnedBy"] != nil
    }

    init(id: String, from: String, at: String, text: String, isRetracted: Bool) {
        self.id = id
        self.from = from
        self.at = at
        self.text = text
        self.isRetracted = isRetracted
    }
}

/// The comparison of nodes' replies with the expectations; each finding is a sentence for a person.
struct ChaosChecker: Sendable {
    let expectations: Expectations
    /// Messages that two nodes accepted, each with a time of its own, because the first did not
    /// answer: the earlier one is shown, with the edits of both.
    private(set) var sentTwice: Set<Int> = []

    init(expectations: Expectations) { self.expectations = expectations }

    /// Records the messages that were sent twice: they show a time before the acknowledged one.
    mutating func takeTimes(of lines: [HistoryLine], in conversation: Int) {
        for line in lines {
            guard let message = known(line, in: conversation),
                let sentAt = expectations.messages[message].sentAt, line.at < sentAt
            else { continue }
            sentTwice.insert(message)
        }
    }

    /// Returns the findings in the complete history of a conversation, from one node for one user.
    func findings(
        inHistory lines: [HistoryLine], of conversation: Int, for user: Int, on node: String
    ) -> [String] {
        var findings: [String] = []
        var shown: [Int: HistoryLine] = [:]
        let place =
            "\(node), \(Expectations.name(ofConversation: conversation)), "
            + "seen by \(Expectations.users[user])"
        var last = ""
        for line in lines {
            if line.at < last { findings.append("\(place): \(line.id) stands behind a later one") }
            last = line.at
            guard let message = known(line, in: conversation) else {
                findings.append("\(place): \(line.id) from \(line.from) was sent by nobody")
                continue
            }
            if shown.updateValue(line, forKey: message) != nil {
                findings.append("\(place): \(line.id) stands there twice")
            }
        }
        for message in expectations.byConversation[conversation] {
            let finding = finding(about: message, shown: shown[message], to: user)
            if let finding {
                findings.append("\(place): \(Expectations.id(of: message)) \(finding)")
            }
        }
        return findings
    }

    private func known(_ line: HistoryLine, in conversation: Int) -> Int? {
        guard let index = Expectations.message(withID: line.id),
            expectations.messages.indices.contains(index),
            expectations.messages[index].conversation == conversation,
            Expectations.users[expectations.messages[index].sender] == line.from
        else { return nil }
        return index
    }

    private func finding(about index: Int, shown: HistoryLine?, to user: Int) -> String? {
        let message = expectations.messages[index]
        var standing = OwnDeletion.Standing.shown
        if Expectations.hiders.contains(user) {
            standing = message.ownDeletions[user - Expectations.hiders.lowerBound].standing
        } else if message.sender == user, message.retracted != .never {
            // A message that its sender deletes for everyone is deleted for the sender, too.
            standing = message.retracted.isCertain ? .hidden : .unknown
        }
        guard let shown else {
            guard message.sent.isCertain, standing == .shown else { return nil }
            return "was acknowledged (\(message.receipt)) and is not there"
        }
        if standing == .hidden { return "shows, though they deleted it" }
        return finding(inText: shown.text, isRetracted: shown.isRetracted, of: index)
    }

    /// Returns what is wrong with a text that is shown as the current one; nil if nothing is.
    private func finding(inText text: String, isRetracted: Bool, of index: Int) -> String? {
        let message = expectations.messages[index]
        if isRetracted {
            if message.retracted == .never { return "is deleted for everyone, which nobody asked" }
            return text == Expectations.placeholder ? nil : "is deleted and still shows '\(text)'"
        }
        if message.retracted.isCertain { return "was deleted for everyone and shows '\(text)'" }
        if message.edits.indices.contains(where: { text == Expectations.text(of: index, edit: $0) })
        {
            return nil
        }
        guard text == Expectations.text(of: index) else { return "shows a strange text '\(text)'" }
        return message.edits.contains { $0.isCertain }
            ? "was edited, acknowledged, and shows its first text" : nil
    }

    /// Returns the findings in a reply to `HISTORY` during the run: a message that this node had
    /// acknowledged as deleted before the request must not show.
    func findings(
        inReply lines: [HistoryLine], to request: ChaosRequest, by node: Int
    ) -> [String] {
        lines.compactMap { line in
            guard let index = known(line, in: request.target) else {
                return "n\(node + 1) shows \(line.id) from \(line.from), sent by nobody"
            }
            let message = expectations.messages[index]
            guard expectations.isKnownRetracted(index, to: node),
                message.retractedTime <= request.time,
                !line.isRetracted
            else { return nil }
            return
                "n\(node + 1) shows \(line.id), which it had acknowledged as deleted for everyone"
        }
    }

    /// Describes the first difference between the lines of two nodes; nil if there is none.
    static func difference(
        _ first: [ArraySlice<UInt8>], _ other: [ArraySlice<UInt8>], between nodes: [String]
    ) -> String? {
        guard first != other else { return nil }
        let index = (0...min(first.count, other.count)).first { index in
            !first.indices.contains(index) || !other.indices.contains(index)
                || first[index] != other[index]
        }
        func text(_ lines: [ArraySlice<UInt8>]) -> String {
            guard let index, lines.indices.contains(index) else { return "nothing" }
            return String(decoding: lines[index], as: UTF8.self)
        }
        return "\(nodes.joined(separator: " and ")) differ at line \(index ?? 0): "
            + "'\(text(first))' against '\(text(other))'"
    }

    /// Returns the findings in the texts of `EDITS` from one node.
    func findings(inEdits texts: [String], of index: Int, on node: String) -> [String] {
        let message = expectations.messages[index]
        let place = "\(node): EDITS of \(Expectations.id(of: index))"
        if message.retracted.isCertain {
            return texts.isEmpty ? [] : ["\(place) shows '\(texts[0])' of a deleted message"]
        }
        if texts.isEmpty {
            let isOwed = message.sent.isCertain && message.retracted == .never
            return isOwed ? ["\(place) shows nothing"] : []
        }
        var findings: [String] = []
        for (number, claim) in message.edits.enumerated()
        where claim.isCertain {
            let text = Expectations.text(of: index, edit: number)
            if !texts.contains(text) {
                findings.append("\(place) lacks the acknowledged '\(text)'")
            }
        }
        let known = message.edits.indices.map { Expectations.text(of: index, edit: $0) }
        for text in texts where text != Expectations.text(of: index) && !known.contains(text) {
            findings.append("\(place) shows a strange text '\(text)'")
        }
        return findings
    }
}
