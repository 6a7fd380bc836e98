import LineProtocol

/// What the client of somebody who watches knows of messages: from what it was told alone.
struct WatcherBook {
    struct Entry: Hashable {
        var text = ""
        var edited: String?
        /// For everyone: that is final, whatever is told later.
        var isDeleted = false
        /// For this user alone.
        var isGone = false
        var pinnedBy: String?
    }

    let user: String
    /// By message.
    private(set) var entries: [String: Entry] = [:]
    /// The last message that each user has read, by conversation.
    private(set) var marks: [String: [String: String]] = [:]
    /// What each user is called, as last told.
    private(set) var profiles: [String: String] = [:]

    init(user: String) { self.user = user }

    /// - Returns: false where it is of a message that its client should have been told of before.
    mutating func take(_ event: ReplyFields) -> Bool {
        let id = event["id"] ?? ""
        let old = entries[id]
        switch event["kind"] {
        case "message":
            note(event, isGone: false)
            return true
        case "restore":
            note(event, isGone: false)
            return old != nil
        case "edit":
            note(event, isGone: old?.isGone ?? false)
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

    private mutating func note(_ event: ReplyFields, isGone: Bool) {
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

    /// Who deletes a message for everyone has it deleted for themselves, too.
    private mutating func noteDeletion(_ event: ReplyFields) {
        let id = event["id"] ?? ""
        if event["for"] == "everyone" { entries[id, default: Entry()].isDeleted = true }
        if event["by"] == user { entries[id, default: Entry()].isGone = true }
    }

    /// What its client has another way than a node shows it to the user; nil where nothing.
    ///
    /// - Parameter line: of `HISTORY`; nil where it does not show it.
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
