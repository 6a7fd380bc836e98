import LineProtocol

/// A watching client's knowledge of messages, built only from the events that it received.
struct WatcherExpectations {
    struct Entry: Hashable {
        var text = ""
        var edited: String?
        /// Deleted for everyone: final, whatever later events say.
        var isDeleted = false
        /// Deleted for this user only.
        var isGone = false
        var pinnedBy: String?
    }

    let user: String
    /// The messages by id.
    private(set) var entries: [String: Entry] = [:]
    /// The last message that each user has read, by conversation.
    private(set) var marks: [String: [String: String]] = [:]
    /// The names of users, as last announced.
    private(set) var profiles: [String: String] = [:]

    init(user: String) { self.user = user }

    /// - Returns: false if the event concerns a message of which the client was never told.
    mutating func applyEvent(_ event: ReplyFields) -> Bool {
        let id = event["id"] ?? ""
        let old = entries[id]
        switch event["kind"] {
        case "message":
            recordEvent(event, isGone: false)
            return true
        case "restore":
            recordEvent(event, isGone: false)
            return old != nil
        case "edit":
            recordEvent(event, isGone: old?.isGone ?? false)
            return old != nil
        case "delete":
            noteDeletion(event)
            return true
        case "pin", "unpin":
            entries[id]?.pinnedBy = event["kind"] == "pin" ? event["by"] : nil
            return old != nil
        case "read":
            marks[event["conversation"] ?? "", default: [:]][event["by"] ?? ""] = id
            return true
        case "profile":
            profiles[event["user"] ?? ""] = event["name"]
            return true
        default: return true
        }
    }

    private mutating func recordEvent(_ event: ReplyFields, isGone: Bool) {
        let id = event["id"] ?? ""
        var entry = entries[id, default: Entry()]
        entry.isGone = isGone
        if event.isTrue("deletedForEveryone") { entry.isDeleted = true }
        if !entry.isDeleted {
            entry.text = event["text"] ?? ""
            entry.edited = event["edited"]
            entry.pinnedBy = event["pinnedBy"]
        }
        entries[id] = entry
    }

    /// A message that its user deletes for everyone is deleted for that user, too.
    private mutating func noteDeletion(_ event: ReplyFields) {
        let id = event["id"] ?? ""
        if event["for"] == "everyone" { entries[id, default: Entry()].isDeleted = true }
        if event["by"] == user { entries[id, default: Entry()].isGone = true }
    }

    /// Describes how the client's knowledge of a message differs from a node's reply; nil if it
    /// does not.
    ///
    /// - Parameter line: the line of `HISTORY`; nil if the reply does not contain the message.
    func difference(at id: String, from line: ReplyFields?) -> String? {
        let entry = entries[id]
        guard let line else {
            return entry.map(\.isGone) ?? true ? nil : "was told of it, and it does not show"
        }
        guard let entry else { return "was not told of it" }
        guard !entry.isGone else { return "was told that it is gone, and it shows" }
        guard entry.isDeleted == line.isTrue("deletedForEveryone") else {
            return entry.isDeleted
                ? "was told that it is deleted, and its text shows"
                : "was not told that it is deleted for everyone"
        }
        guard entry.isDeleted || entry.pinnedBy == line["pinnedBy"] else {
            return "was told that \(entry.pinnedBy ?? "nobody") has it pinned, and what shows is "
                + (line["pinnedBy"] ?? "nobody")
        }
        guard !entry.isDeleted, entry.text != line["text"] || entry.edited != line["edited"] else {
            return nil
        }
        return "has '\(entry.text.prefix(40))' of \(entry.edited ?? "the sending"), and what shows "
            + "is '\((line["text"] ?? "").prefix(40))' of \(line["edited"] ?? "the sending")"
    }
}
