import LineProtocol

/// What is on the screen, or in the lines in place of one.
extension ChatMachine {
    /// From this width on the list of chats stands beside the messages.
    private static var columnsForList: Int { 60 }
    private static var listColumns: Int { 22 }

    func screen(_ size: Size, at now: UInt64) -> Screen {
        let columns = max(size.columns, Size.least.columns)
        let rows = max(size.rows, Size.least.rows)
        let body = body(columns, rows - 3, at: now)
        let input = inputLine(columns)
        return Screen(
            lines: [Screen.Line(Columns.fit(titleText, to: columns), .bar)] + body
                + [statusLine(columns, at: now), input.line],
            cursorColumn: input.cursor, cursorRow: rows - 1)
    }

    private var titleText: String {
        var text = " \(user)"
        if let open = book.open {
            text += " · \(open.name(for: user))"
            if open.participants.count > 2 { text += " (\(open.participants.count))" }
            if open.isArchived { text += " · archived" }
        } else if let id = book.openID {
            text += " · \(id)"
        } else {
            text += showsArchived ? " · archived chats" : " · chats"
        }
        return text + (book.unread > 0 ? " · \(book.unread) unread" : "")
    }

    private func body(_ columns: Int, _ rows: Int, at now: UInt64) -> [Screen.Line] {
        let main = book.openID != nil || panel != nil
        guard columns >= Self.columnsForList else {
            return fill(main ? mainLines(columns, rows) : listScreen(columns, rows), rows)
        }
        let left = fill(listScreen(Self.listColumns, rows), rows)
        let right = fill(mainLines(columns - Self.listColumns - 2, rows), rows)
        return zip(left, right).map { left, right in
            var line = left
            let missing = Self.listColumns - Columns.count(left.text)
            line.spans.append(
                Screen.Span(String(repeating: " ", count: max(0, missing)) + "│ ", .dim))
            line.spans += right.spans
            return line
        }
    }

    private func fill(_ lines: [Screen.Line], _ rows: Int) -> [Screen.Line] {
        lines.prefix(rows) + Array(repeating: Screen.Line(""), count: max(0, rows - lines.count))
    }

    // MARK: - The list of chats

    private func listScreen(_ columns: Int, _ rows: Int) -> [Screen.Line] {
        let listed = book.chats.enumerated().filter { $0.element.isArchived == showsArchived }
        guard !listed.isEmpty else {
            return [Screen.Line(Columns.cut(hasChats ? "no chats: /new" : "…", to: columns), .dim)]
        }
        return listed.prefix(rows).map { place, chat in
            let unread = chat.unread > 0 ? " \(chat.unread)" : ""
            let mark = chat.id == book.openID ? "›" : " "
            let name = "\(mark)\(place + 1) \(chat.name(for: user))"
            let text = Columns.fit(name, to: columns - Columns.count(unread)) + unread
            return Screen.Line(
                text, chat.unread > 0 || chat.id == book.openID ? .bold : .plain)
        }
    }

    /// The same for lines: with what was said last.
    func listLines(_ chats: [Chat]) -> [String] {
        chats.map { chat in
            let unread = chat.unread > 0 ? " (\(chat.unread) unread)" : ""
            let from = chat.lastFrom.map { "\($0): " } ?? ""
            let text = chat.lastText.split(separator: "\n").first.map(String.init) ?? ""
            return "\(chat.id): \(chat.name(for: user))\(unread) · \(from)\(text)"
                + (chat.isArchived ? " · archived" : "")
        }
    }

    // MARK: - Messages

    private func mainLines(_ columns: Int, _ rows: Int) -> [Screen.Line] {
        if let panel {
            return [Screen.Line("── \(panel.title)", .dim)]
                + panel.lines.flatMap { Columns.wrap($0, to: columns) }.map { Screen.Line($0) }
                + [Screen.Line("── Esc goes back", .dim)]
        }
        guard let id = book.openID else {
            let hint = "/open CHAT, /new CHAT USER…, /help"
            return [Screen.Line(Columns.cut(hint, to: columns), .dim)]
        }
        let pending = outbox.messages(in: id).flatMap { pendingLines($0, columns) }
        let all = messageLines(columns) + pending
        let hidden = min(scroll, max(0, all.count - rows))
        let end = all.count - hidden
        return Array(all[max(0, end - rows)..<end])
    }

    private func messageLines(_ columns: Int) -> [Screen.Line] {
        var lines: [Screen.Line] = []
        var day = ""
        for message in book.messages {
            let time = localTime(message.at)
            if day != time.prefix(10) {
                day = String(time.prefix(10))
                lines.append(Screen.Line("── \(day)", .dim))
            }
            lines += messageLines(message, time, columns)
        }
        return lines
    }

    private func messageLines(
        _ message: Message, _ time: String, _ columns: Int
    ) -> [Screen.Line] {
        let head = "\(book.number(of: message.id)) \(time.dropFirst(11).prefix(5)) "
        let text = Columns.wrap(
            "\(message.from): \(message.text)\(marks(of: message))", to: columns - head.count)
        let style: Screen.Style = message.isDeleted ? .dim : .plain
        return text.enumerated().map { index, line in
            guard index == 0, line.hasPrefix(message.from) else {
                return Screen.Line(
                    Screen.Span(String(repeating: " ", count: head.count), .dim),
                    Screen.Span(line, style))
            }
            return Screen.Line(
                Screen.Span(head, .dim),
                Screen.Span(message.from, message.from == user ? .dim : .bold),
                Screen.Span(String(line.dropFirst(message.from.count)), style))
        }
    }

    private func pendingLines(_ message: Outbox.Message, _ columns: Int) -> [Screen.Line] {
        let text = "\(user): \(Columns.harmless(message.text)) …"
        return Columns.wrap(text, to: columns - 2).map { Screen.Line("  \($0)", .dim) }
    }

    private func marks(of message: Message) -> String {
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
        let text = message.text.replacing("\n", with: "\n    ")
        let time = localTime(message.at).dropFirst(11).prefix(5)
        let number = book.number(of: message.id)
        return "\(number) \(time) \(message.from): \(text)\(marks(of: message))"
    }

    private func localTime(_ at: Int64) -> String {
        LineTime.text(at + settings.utcOffsetSeconds * 1_000)
    }

    static func panelLine(_ fields: ReplyFields, _ settings: Settings) -> String {
        if let state = fields["state"] {
            let here = fields.isTrue("self") ? " (this one)" : ""
            return "\(fields["name"] ?? "?") \(state) \(fields["admin"] ?? "")\(here)"
        }
        let time = fields["at"].flatMap { LineTime.parse($0) }.map {
            LineTime.text($0 + settings.utcOffsetSeconds * 1_000).prefix(16)
        }
        let from = fields["from"].map { " \($0):" } ?? ""
        return "\(time ?? "")\(from) \(Columns.harmless(fields["text"] ?? ""))"
            .replacing("T", with: " ", maxReplacements: time == nil ? 0 : 1)
    }

    // MARK: - The last two lines

    private func statusLine(_ columns: Int, at now: UInt64) -> Screen.Line {
        if let notice, now < notice.at + Self.noticeMilliseconds {
            return Screen.Line(Columns.cut(notice.text, to: columns), .warning)
        }
        var parts: [String] = []
        switch link {
        case .up: parts.append(roster.current + (isWatching ? "" : ", without live events"))
        case .dialling, .down: parts.append("connecting to \(roster.current)…")
        }
        if !outbox.isEmpty { parts.append("\(outbox.posts.count) not acknowledged") }
        if scroll > 0 { parts.append("scrolled back") }
        if let id = book.openID {
            let typists = book.typists(in: id, at: now)
            if !typists.isEmpty {
                let verb = typists.count == 1 ? "is" : "are"
                parts.insert("\(typists.joined(separator: ", ")) \(verb) typing…", at: 0)
            }
        }
        return Screen.Line(Columns.cut(parts.joined(separator: " · "), to: columns), .dim)
    }

    private func inputLine(_ columns: Int) -> (line: Screen.Line, cursor: Int) {
        let input = editor.shown(in: columns - 3)
        return (
            Screen.Line(Screen.Span("> ", .bold), Screen.Span(input.text)), 2 + input.cursor
        )
    }
}
