import LineProtocol

/// The rows of the open chat.
extension ChatMachine {
    /// The inputs of the rows, which are reused while these are the same.
    struct RowsKey: Hashable {
        let revision: Int
        let columns: Int
        let pending: [String]
        let wanted: String?
    }

    mutating func chatRows(_ columns: Int) -> [ChatRow] {
        let pending = server.openID.map { outbox.messages(in: $0) } ?? []
        let key = RowsKey(
            revision: server.revision, columns: columns, pending: pending.map(\.id),
            wanted: search?.text)
        if let cached = rowsCache, cached.key == key { return cached.rows }
        let rows = messageRows(columns) + pendingRows(pending, columns)
        rowsCache = (key, rows)
        return rows
    }

    private func messageRows(_ columns: Int) -> [ChatRow] {
        var rows: [ChatRow] = []
        var day = ""
        var unread = server.firstUnread
        for (place, message) in server.messages.enumerated() {
            let time = localTime(message.at)
            if place == 0, server.isCut {
                rows.append(rule("older messages are not loaded", message, ChatRow.dayRow - 1))
            }
            if day != time.prefix(10) {
                day = String(time.prefix(10))
                rows.append(rule(day, message, ChatRow.dayRow))
            }
            if let first = unread, message.position >= first {
                rows.append(rule("new", message, ChatRow.unreadRow))
                unread = nil
            }
            rows += messageRows(message, time, columns)
        }
        return rows
    }

    private func rule(_ text: String, _ message: Message, _ row: Int) -> ChatRow {
        ChatRow(
            anchor: ChatRow.Anchor(position: message.position, row: row),
            line: Screen.Line("── \(text)", row == ChatRow.unreadRow ? .warning : .dim))
    }

    private func messageRows(
        _ message: Message, _ time: String, _ columns: Int
    ) -> [ChatRow] {
        let head = "\(server.label(of: message.id)) \(time.dropFirst(11).prefix(5)) "
        let text = measure.wrap(
            "\(message.from): \(message.text)\(marks(of: message))", to: columns - head.count)
        let style = style(of: message)
        return text.enumerated().map { index, line in
            let anchor = ChatRow.Anchor(position: message.position, row: index)
            guard index == 0, line.hasPrefix(message.from) else {
                let indent = index == 0 ? head : String(repeating: " ", count: head.count)
                return ChatRow(
                    anchor: anchor,
                    line: Screen.Line(Screen.Span(indent, .dim), Screen.Span(line, style)),
                    message: index == 0 ? message : nil)
            }
            let line = Screen.Line(
                Screen.Span(head, .dim),
                Screen.Span(message.from, message.from == user ? .dim : .bold),
                Screen.Span(String(line.dropFirst(message.from.count)), style))
            return ChatRow(anchor: anchor, line: line, message: message)
        }
    }

    private func style(of message: Message) -> Screen.Style {
        if let search, search.matches(message) { return .match }
        if message.isDeleted { return .dim }
        return mentions(message) ? .mention : .plain
    }

    /// Whether another user's message contains the user's name.
    func mentions(_ message: Message) -> Bool {
        guard message.from != user, !message.isDeleted else { return false }
        let words = message.text.lowercased().split { !($0.isLetter || $0.isNumber || $0 == "_") }
        return words.contains { $0 == user.lowercased() }
    }

    private func pendingRows(_ pending: [Outbox.Message], _ columns: Int) -> [ChatRow] {
        let lines = pending.flatMap { message in
            let text = "\(user): \(Columns.harmless(message.text)) …"
            return measure.wrap(text, to: columns - 2)
        }
        return lines.enumerated().map { index, line in
            ChatRow(
                anchor: ChatRow.Anchor(position: .end, row: index),
                line: Screen.Line("  \(line)", .dim))
        }
    }

    func marks(of message: Message) -> String {
        var marks = message.isEdited ? " • edited" : ""
        if let by = message.pinnedBy { marks += " • pinned by \(by)" }
        guard message.from == user, !message.isDeleted else { return marks }
        if !message.readBy.isEmpty {
            marks += " ✓✓"
        } else if !message.deliveredTo.isEmpty {
            marks += " ✓"
        }
        return marks
    }

    func plainLine(_ message: Message) -> String {
        let text = message.text.replacing("\n", by: "\n    ")
        let time = localTime(message.at).dropFirst(11).prefix(5)
        return
            "\(server.label(of: message.id)) \(time) \(message.from): \(text)\(marks(of: message))"
    }

    func localTime(_ at: Int64) -> String {
        LineTime.text(at + settings.utcOffsetSeconds * 1_000)
    }
}

// MARK: - Scrolling and searching

/// A search in the loaded messages of the open chat.
struct Search {
    let text: String
    /// The position of the last match; nil before the first.
    var found: Position?

    func matches(_ message: Message) -> Bool {
        !message.isDeleted && message.text.lowercased().hasPart(text.lowercased())
    }
}

extension ChatMachine {
    mutating func scrollChat(by count: Int) {
        guard let area = chatArea else { return }
        let isAtTop = viewport.scroll(
            by: count, in: chatRows(area.columns), height: area.rows)
        if count < 0, isAtTop, server.wantsOlder() { wantsHistory = true }
    }

    mutating func scrollToStart() {
        guard let area = chatArea else { return }
        viewport.show(0, in: chatRows(area.columns), height: area.rows)
        if server.wantsOlder() { wantsHistory = true }
    }

    /// Updates the viewport after each change, and marks the shown messages as read.
    mutating func settleViewport() {
        guard let area = chatArea, server.openID != nil, panel == nil, server.hasHistory else {
            return
        }
        let rows = chatRows(area.columns)
        viewport.settle(in: rows, height: area.rows)
        guard let newest = viewport.newestShown(of: rows, height: area.rows) else { return }
        markRead(upTo: newest.position)
    }

    /// Scrolls to the next older or newer match.
    mutating func findNext(older: Bool, at now: UInt64) {
        guard let search, let area = chatArea else { return }
        let rows = chatRows(area.columns)
        let matches = rows.indices.filter { rows[$0].message.map(search.matches) ?? false }
        let next = matches.filter { index in
            guard let found = search.found else { return true }
            let position = rows[index].anchor.position
            return older ? position < found : position > found
        }
        guard let index = older ? next.last : next.first else {
            let place = search.found == nil ? "" : older ? " above" : " below"
            return showSentence(
                "nothing\(place) with \"\(search.text)\" in what is loaded", at: now)
        }
        self.search?.found = rows[index].anchor.position
        viewport.show(index - area.rows / 2, in: rows, height: area.rows)
        let place = matches.firstIndex(of: index).map { $0 + 1 } ?? 0
        showSentence("\(place) of \(matches.count) · Ctrl-R older, Ctrl-S newer, Esc ends", at: now)
    }
}
