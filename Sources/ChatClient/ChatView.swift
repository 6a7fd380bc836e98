import LineProtocol

/// The contents of the screen, or of the lines that replace it.
extension ChatMachine {
    /// The widths from which on the list of chats, and the participants, stand beside the messages.
    private static var columnsForList: Int { 60 }
    private static var columnsForNames: Int { 100 }
    private static var listColumns: Int { 22 }
    private static var namesColumns: Int { 18 }

    /// The size of the part that shows the open chat; nil without a screen.
    var chatArea: Size? {
        guard let size else { return nil }
        let (columns, rows) = least(size)
        var width = columns
        if columns >= Self.columnsForList { width -= Self.listColumns + 2 }
        if showsNames(columns) { width -= Self.namesColumns + 2 }
        return Size(columns: width, rows: rows - 3)
    }

    private func least(_ size: Size) -> (columns: Int, rows: Int) {
        (max(size.columns, Size.least.columns), max(size.rows, Size.least.rows))
    }

    private func showsNames(_ columns: Int) -> Bool {
        columns >= Self.columnsForNames && server.open != nil
    }

    mutating func screen(_ size: Size, at now: UInt64) -> Screen {
        let (columns, rows) = least(size)
        let body = body(columns, rows - 3, at: now)
        let input = inputLine(columns)
        return Screen(
            lines: [Screen.Line(measure.fit(titleText, to: columns), .bar)] + body
                + [statusLine(columns, at: now), input.line],
            cursorColumn: input.cursor, cursorRow: rows - 1)
    }

    private var titleText: String {
        var text = " \(user)"
        if let open = server.open {
            text += " · \(open.name(for: user))"
            if open.participants.count > 2 { text += " (\(open.participants.count))" }
            if open.isArchived { text += " · archived" }
        } else if let id = server.openID {
            text += " · \(id)"
        } else {
            text += showsArchived ? " · archived chats" : " · chats"
        }
        return text + (server.unread > 0 ? " · \(server.unread) unread" : "")
    }

    private mutating func body(_ columns: Int, _ rows: Int, at now: UInt64) -> [Screen.Line] {
        let isMain = server.openID != nil || panel != nil
        guard columns >= Self.columnsForList else {
            return fill(isMain ? mainLines(columns, rows) : listScreen(columns, rows), rows)
        }
        var width = columns - Self.listColumns - 2
        let left = fill(listScreen(Self.listColumns, rows), rows)
        guard showsNames(columns) else {
            return beside(left, Self.listColumns, fill(mainLines(width, rows), rows))
        }
        width -= Self.namesColumns + 2
        let names = fill(nameLines(Self.namesColumns, rows, at: now), rows)
        let main = beside(fill(mainLines(width, rows), rows), width, names)
        return beside(left, Self.listColumns, main)
    }

    private func beside(
        _ left: [Screen.Line], _ columns: Int, _ right: [Screen.Line]
    ) -> [Screen.Line] {
        zip(left, right).map { left, right in
            var line = left
            let missing = columns - measure.count(left.text)
            line.spans.append(
                Screen.Span(String(repeating: " ", count: max(0, missing)) + "│ ", .dim))
            line.spans += right.spans
            return line
        }
    }

    private func fill(_ lines: [Screen.Line], _ rows: Int) -> [Screen.Line] {
        lines.prefix(rows) + Array(repeating: Screen.Line(""), count: max(0, rows - lines.count))
    }

    /// Returns the rows of a list that fit, with a line at either end that counts the hidden rows.
    ///
    /// - Parameters:
    ///   - first: the first row to show, if possible.
    ///   - unread: for each row, its number of unread messages; empty for a list without any.
    private func window(
        _ lines: [Screen.Line], from first: Int, _ rows: Int, unread: [Int] = []
    ) -> [Screen.Line] {
        guard lines.count > rows, rows > 2 else { return Array(lines.prefix(rows)) }
        let first = min(max(0, first), lines.count - rows)
        var shown = Array(lines[first..<first + rows])
        func sign(_ arrow: String, _ hidden: Range<Int>) -> Screen.Line {
            let sum = unread.isEmpty ? 0 : unread[hidden].reduce(0, +)
            let more = "\(arrow) \(hidden.count) more"
            return sum > 0
                ? Screen.Line("\(more), \(sum) unread", .bold) : Screen.Line(more, .dim)
        }
        if first > 0 { shown[0] = sign("↑", 0..<first + 1) }
        let last = first + rows
        if last < lines.count { shown[rows - 1] = sign("↓", last - 1..<lines.count) }
        return shown
    }

    // MARK: - The list of chats

    /// The listed chats, each with its place among all chats.
    var listed: [(place: Int, chat: Chat)] {
        zip(1..., server.chats).filter { $0.1.isArchived == showsArchived }.map { ($0.0, $0.1) }
    }

    private func listScreen(_ columns: Int, _ rows: Int) -> [Screen.Line] {
        let listed = listed
        guard !listed.isEmpty else {
            return [Screen.Line(measure.cut(hasChats ? "no chats: /new" : "…", to: columns), .dim)]
        }
        let lines = listed.map { place, chat in
            let unread = chat.unread > 0 ? " \(chat.unread)" : ""
            let mark = chat.id == server.openID ? "›" : " "
            let name = "\(mark)\(place) \(chat.name(for: user))"
            let text = measure.fit(name, to: columns - measure.count(unread)) + unread
            return Screen.Line(
                text, chat.unread > 0 || chat.id == server.openID ? .bold : .plain)
        }
        // The open chat is always visible.
        let open = listed.firstIndex { $0.chat.id == server.openID }
        return window(
            lines, from: open.map { $0 - rows / 2 } ?? listTop, rows,
            unread: listed.map(\.chat.unread))
    }

    /// The list of chats for line mode, with each chat's last message.
    func listLines(_ chats: [Chat]) -> [String] {
        chats.map { chat in
            let unread = chat.unread > 0 ? " (\(chat.unread) unread)" : ""
            let from = chat.lastFrom.map { "\($0): " } ?? ""
            let text = chat.lastText.split(separator: "\n").first.map(String.init) ?? ""
            return "\(chat.id): \(chat.name(for: user))\(unread) · \(from)\(text)"
                + (chat.isArchived ? " · archived" : "")
        }
    }

    // MARK: - Participants

    private func nameLines(_ columns: Int, _ rows: Int, at now: UInt64) -> [Screen.Line] {
        guard let open = server.open else { return [] }
        let typists = server.typists(in: open.id, at: now)
        let lines = open.participants.map { name in
            let text = measure.cut(name + (typists.contains(name) ? " …" : ""), to: columns)
            return Screen.Line(text, name == user ? .dim : .plain)
        }
        return window(lines, from: 0, rows)
    }

    // MARK: - The main column

    private mutating func mainLines(_ columns: Int, _ rows: Int) -> [Screen.Line] {
        if let panel { return panelScreen(panel, columns, rows) }
        guard server.openID != nil else {
            let hint = "/open CHAT, /new CHAT USER…, /help"
            return [Screen.Line(measure.cut(hint, to: columns), .dim)]
        }
        let all = chatRows(columns)
        let first = viewport.firstRow(of: all, height: rows)
        return all[first...].prefix(rows).map(\.line)
    }

    private func panelScreen(_ panel: Panel, _ columns: Int, _ rows: Int) -> [Screen.Line] {
        let lines = panel.lines.flatMap { measure.wrap($0, to: columns) }.map { Screen.Line($0) }
        return [Screen.Line("── \(panel.title) · Esc goes back", .dim)]
            + window(lines, from: panel.top, rows - 1)
    }

    /// Scrolls the panel over the chat; never beyond either end.
    mutating func scrollPanel(by count: Int) {
        guard let area = chatArea, let lines = panel?.lines else { return }
        let all = lines.flatMap { measure.wrap($0, to: area.columns) }.count
        let last = max(0, all - (area.rows - 1))
        let top = panel?.top ?? 0
        panel?.top = min(last, max(0, top + count))
    }

    /// Scrolls the list of chats, while no chat is open.
    mutating func scrollList(by count: Int) {
        guard let size else { return }
        let last = max(0, listed.count - (least(size).rows - 3))
        listTop = min(last, max(0, listTop + count))
    }

    static func panelLine(_ fields: ReplyFields, _ settings: Settings) -> String {
        if let state = fields["state"] {
            let here = fields.isTrue("self") ? " (this one)" : ""
            return "\(fields["name"] ?? "?") \(state) \(fields["admin"] ?? "")\(here)"
        }
        let time = fields["at"].flatMap { LineTime.parse($0) }.map {
            LineTime.text($0 + settings.utcOffsetSeconds * 1_000).prefix(16)
                .replacing("T", by: " ")
        }
        let from = fields["from"].map { " \($0):" } ?? ""
        return "\(time ?? "")\(from) \(Columns.harmless(fields["text"] ?? ""))"
    }

    // MARK: - The last two lines

    private mutating func statusLine(_ columns: Int, at now: UInt64) -> Screen.Line {
        let below = unseenBelow
        let sign = below > 0 ? ["↓ \(below) new"] : []
        if let notice, now < notice.at + Self.noticeMilliseconds {
            let text = (sign + [notice.text]).joined(separator: " · ")
            return Screen.Line(measure.cut(text, to: columns), .warning)
        }
        var parts = sign
        switch link {
        case .up: parts.append(roster.current + (isWatching ? "" : ", without live events"))
        case .dialling, .down: parts.append("connecting to \(roster.current)…")
        }
        if !outbox.isEmpty {
            let waiting = "\(outbox.posts.count) not acknowledged"
            if leavingSince == nil {
                parts.append(waiting)
            } else {
                parts.insert(
                    waiting + ": leaves then; /quit again leaves now", at: sign.count)
            }
        }
        if !viewport.isFollowing, panel == nil { parts.append("scrolled back") }
        if let id = server.openID {
            let typists = server.typists(in: id, at: now)
            if !typists.isEmpty {
                let verb = typists.count == 1 ? "is" : "are"
                parts.insert(
                    "\(typists.joined(separator: ", ")) \(verb) typing…", at: sign.count)
            }
        }
        return Screen.Line(
            measure.cut(parts.joined(separator: " · "), to: columns), below > 0 ? .warning : .dim)
    }

    private var unseenBelow: Int {
        mutating get {
            guard let area = chatArea, server.openID != nil else { return 0 }
            return viewport.unseen(in: chatRows(area.columns))
        }
    }

    private func inputLine(_ columns: Int) -> (line: Screen.Line, cursor: Int) {
        let input = editor.shown(in: columns - 3, measure)
        return (
            Screen.Line(Screen.Span("> ", .bold), Screen.Span(input.text)), 2 + input.cursor
        )
    }
}
