import LineProtocol

/// The knowledge of a single writer about a thing that has one value at a time.
///
/// With one writer and a pause between two writes, the last acknowledged value is the current one,
/// unless an unanswered write was executed later.
struct LastValue: Hashable, Sendable {
    private var acknowledged: String?
    /// The values that were requested without an answer: executed at any time, or never.
    private var limbo: Set<String> = []
    private var all: Set<String> = []
    /// Whether the current value may have been on the lost disk only.
    private var isLost = false

    mutating func onAttempt(_ value: String) {
        limbo.insert(value)
        all.insert(value)
    }

    mutating func onRefused(_ value: String) { limbo.remove(value) }

    mutating func onAcknowledged(_ value: String) {
        limbo.remove(value)
        acknowledged = value
        isLost = false
    }

    mutating func onWipe() { isLost = true }

    /// - Parameter value: nil if none is shown.
    func finding(about value: String?) -> String? {
        if value == acknowledged { return nil }
        if let value, limbo.contains(value) { return nil }
        if isLost, value.map(all.contains) ?? true { return nil }
        return "shows '\(value ?? "nothing")', where '\(acknowledged ?? "nothing")' was "
            + "acknowledged last"
    }
}

/// The requests of one user and a friend, one after another: no two writers conflict.
struct ScriptedExpectations: Sendable {
    struct Item: Sendable {
        var isCertain = false
        var title = LastValue()
        var isDone = LastValue()
        var isDeletionAsked = false
        var isDeleted = false
    }

    /// A message of the friend.
    struct Note: Sendable {
        var isCertain = false
        var text = LastValue()
        var isRetractionAsked = false
        var isRetracted = false
    }

    let number: Int
    var name = LastValue()
    var email = LastValue()
    var items: [String: Item] = [:]
    var notes: [String: Note] = [:]
    /// The messages in the hidden conversation that must not show, those that must, and all of
    /// them.
    var hidden: Set<String> = []
    var unhidden: Set<String> = []
    var allHidable: Set<String> = []
    /// The acknowledged notifications, the messages of these, and all messages that were ever
    /// listed.
    var acknowledged: Set<String> = []
    var acknowledgedMessages: Set<String> = []
    var listed: Set<String> = []
    private(set) var wipes = 0
    private var count = 0

    init(_ number: Int) { self.number = number }

    var user: String { "ina\(number)" }
    var friend: String { "otto\(number)" }
    var conversation: String { "errands\(number)" }
    var hidableConversation: String { "hidden\(number)" }
    /// The device whose notifications are read; it never views a conversation.
    static let device = "phone"
    static let viewingDevice = "desk"

    /// Returns a name that is used nowhere else.
    mutating func nextName(_ kind: String) -> String {
        count += 1
        return "\(kind)\(number)-\(count)"
    }

    /// Gives up the expectations that only the lost disk may have met.
    mutating func onWipe() {
        wipes += 1
        name.onWipe()
        email.onWipe()
        for id in items.keys {
            items[id]?.isCertain = false
            items[id]?.isDeleted = false
            items[id]?.title.onWipe()
            items[id]?.isDone.onWipe()
        }
        for id in notes.keys {
            notes[id]?.isCertain = false
            notes[id]?.isRetracted = false
            notes[id]?.text.onWipe()
        }
        hidden = []
        unhidden = []
        acknowledged = []
        acknowledgedMessages = []
    }
}

// MARK: - Final checks

extension ScriptedExpectations {
    func findings(inProfile lines: [ReplyFields]) -> [String] {
        [
            name.finding(about: lines.first?["name"]).map { "name= \($0)" },
            email.finding(about: lines.first?["email"]).map { "email= \($0)" },
        ].compactMap(\.self)
    }

    func findings(inItems lines: [ReplyFields]) -> [String] {
        var findings: [String] = []
        var shown: Set<String> = []
        for line in lines {
            guard let id = line["id"], let item = items[id] else {
                findings.append("an item \(line["id"] ?? "?") that nobody added")
                continue
            }
            if !shown.insert(id).inserted { findings.append("\(id) stands there twice") }
            if item.isDeleted { findings.append("\(id) was deleted, and shows") }
            if let finding = item.title.finding(about: line["title"]) {
                findings.append("title= of \(id) \(finding)")
            }
            if let finding = item.isDone.finding(about: String(line.isTrue("done"))) {
                findings.append("done= of \(id) \(finding)")
            }
        }
        for (id, item) in items.sorted(by: { $0.key < $1.key })
        where item.isCertain && !item.isDeletionAsked && !shown.contains(id) {
            findings.append("\(id) was added, and is not there")
        }
        return findings
    }

    /// Checks the history: only the friend writes there, and a typing notice is no message.
    func findings(inHistory lines: [HistoryLine]) -> [String] {
        var findings: [String] = []
        var shown: Set<String> = []
        for line in lines {
            guard let note = notes[line.id] else {
                findings.append("\(line.id) '\(line.text)' was sent by nobody")
                continue
            }
            if !shown.insert(line.id).inserted { findings.append("\(line.id) stands there twice") }
            if line.isRetracted {
                if !note.isRetractionAsked { findings.append("\(line.id) was deleted by nobody") }
            } else if note.isRetracted {
                findings.append("\(line.id) was deleted for everyone and shows '\(line.text)'")
            } else if let finding = note.text.finding(about: line.text) {
                findings.append("\(line.id) \(finding)")
            }
        }
        for (id, note) in notes.sorted(by: { $0.key < $1.key })
        where note.isCertain && !shown.contains(id) {
            findings.append("\(id) was acknowledged and is not there")
        }
        return findings
    }

    /// Checks that another node, given a token, shows nothing older than what was seen before.
    ///
    /// Only the friend writes there, so every message seen must still exist.
    func findings(in later: [HistoryLine], after earlier: [HistoryLine]) -> [String] {
        let shown = Dictionary(later.map { ($0.id, $0) }) { first, _ in first }
        return earlier.compactMap { seen in
            guard let line = shown[seen.id] else { return "\(seen.id) was seen, and is not there" }
            if seen.isRetracted, !line.isRetracted {
                return "\(seen.id) was seen deleted, and shows '\(line.text)'"
            }
            guard !line.isRetracted, line.text != seen.text else { return nil }
            return notes[seen.id]?.text.finding(about: line.text).map { "\(seen.id) \($0)" }
        }
    }

    func findings(inHidable lines: [HistoryLine]) -> [String] {
        let shown = Set(lines.map(\.id))
        return hidden.intersection(shown).sorted().map { "\($0) was hidden, and shows" }
            + unhidden.subtracting(shown).sorted().map { "\($0) was sent later, and is hidden" }
            + shown.subtracting(allHidable).sorted().map { "\($0) was sent by nobody" }
    }

    /// Returns the findings in any list of notifications, at any time.
    func findings(inNotifications lines: [ReplyFields]) -> [String] {
        var findings: [String] = []
        var (ids, messages) = (Set<String>(), Set<String>())
        for line in lines {
            guard let id = line["id"], let message = line["message"] else {
                findings.append("a notification without an id or a message")
                continue
            }
            if !ids.insert(id).inserted { findings.append("notification \(id) is there twice") }
            if !messages.insert(message).inserted {
                findings.append("\(message) has two notifications")
            }
            if line["kind"] == "withdrawn", notes[message]?.isRetractionAsked != true,
                !allHidable.contains(message)
            {
                findings.append("\(message) is withdrawn, and nobody deleted it")
            }
        }
        return findings
    }

    /// Returns the findings in the final list, when every node has everything.
    func findings(inLastNotifications lines: [ReplyFields]) -> [String] {
        let ids = Set(lines.compactMap { $0["id"] })
        let messages = Set(lines.compactMap { $0["message"] })
        let missing = notes.filter { id, note in
            note.isCertain && !note.isRetractionAsked && !listed.contains(id)
                && !messages.contains(id)
        }
        return findings(inNotifications: lines)
            + ids.intersection(acknowledged).sorted().map { "notification \($0) was taken off" }
            + messages.intersection(acknowledgedMessages).sorted().map {
                "\($0) is listed again, though its notification was taken off"
            } + missing.keys.sorted().map { "\($0) was acknowledged, and no device was notified" }
    }
}
