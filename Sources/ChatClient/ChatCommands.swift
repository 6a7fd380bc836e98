/// The handling of a person's input: keys and typed lines.
extension ChatMachine {
    mutating func onKey(_ key: Keystroke, at now: UInt64) {
        switch key {
        case .enter: submit(at: now)
        case .tab: if editor.isEmpty { openNext() } else { complete() }
        case .escape: escape()
        case .pageUp: scroll(by: -page)
        case .pageDown: scroll(by: page)
        case .home where editor.isEmpty: scrollToStart()
        case .end where editor.isEmpty: viewport.follow()
        case .altUp: openNeighbour(-1)
        case .altDown: openNeighbour(1)
        case .control("r"): find(older: true, at: now)
        case .control("s"): find(older: false, at: now)
        case .control("c"), .control("d"):
            if editor.isEmpty {
                obey("/quit", at: now)
            } else if key == .control("c") {
                editor.set("")
                stopTyping()
            }
        case .control("l"):
            shown = nil
            output.append(.redraw)
        default: if editor.handleKey(key) { onTyped(at: now) }
        }
    }

    private var page: Int { max(1, (chatArea?.rows ?? 0) - 1) }

    /// Scrolls the panel, the open chat or the list of chats.
    private mutating func scroll(by count: Int) {
        if panel != nil {
            scrollPanel(by: count)
        } else if server.openID != nil {
            scrollChat(by: count)
        } else {
            scrollList(by: count)
        }
    }

    private mutating func escape() {
        if panel == nil { search = nil }
        panel = nil
    }

    private mutating func find(older: Bool, at now: UInt64) {
        if search == nil, editor.isEmpty { return editor.set("/find ") }
        findNext(older: older, at: now)
    }

    /// Completes the word before the cursor; a name at the beginning of a line gets `: `.
    private mutating func complete() {
        let line = String(editor.characters[..<editor.cursor])
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        let isFirst = words.count == 1
        let candidates: [String]
        switch words.first {
        case let verb? where verb.hasPrefix("/") && !verb.hasPrefix("//") && isFirst:
            candidates = Command.verbs
        case "/open", "/o": candidates = server.chats.map(\.id)
        default: candidates = server.users(besides: user)
        }
        let isName = isFirst && !line.hasPrefix("/")
        _ = completion.step(&editor, words: candidates, suffix: isName ? ": " : " ")
    }

    private mutating func openNext() {
        let listed = server.chats.filter { !$0.isArchived }
        let place = listed.firstIndex { $0.id == server.openID }.map { $0 + 1 } ?? 0
        let turned = listed[min(place, listed.count)...] + listed[..<min(place, listed.count)]
        if let next = turned.first(where: { $0.unread > 0 && $0.id != server.openID })
            ?? turned.first
        {
            open(next.id)
        }
    }

    private mutating func openNeighbour(_ step: Int) {
        let listed = listed
        let place = listed.firstIndex { $0.chat.id == server.openID }
        let next = place.map { $0 + step } ?? (step > 0 ? 0 : listed.count - 1)
        if listed.indices.contains(next) { open(listed[next].chat.id) }
    }

    private mutating func submit(at now: UInt64) {
        let line = editor.removeText()
        stopTyping()
        panel = nil
        if line.contains(where: { !$0.isWhitespace }) { obey(line, at: now) }
    }

    // MARK: - Typing

    private mutating func onTyped(at now: UInt64) {
        guard link == .up, let id = server.openID, !editor.isEmpty, editor.characters.first != "/"
        else { return stopTyping() }
        if let typing, typing.conversation == id, now < typing.toldAt + Self.typingMilliseconds {
            self.typing?.keyAt = now
            return
        }
        typing = (id, now, now)
        ask("TYPING \(id) \(user) on", .aside)
    }

    mutating func stopTyping() {
        guard let typing else { return }
        self.typing = nil
        if link == .up { ask("TYPING \(typing.conversation) \(user) off", .aside) }
    }

    // MARK: - Commands

    mutating func obey(_ line: String, at now: UInt64) {
        let command: Command
        do throws(Command.Unclear) {
            command = try Command(line)
        } catch {
            hasRefusal = true
            return showSentence(error.sentence, at: now)
        }
        // Any other command cancels a pending `/quit`.
        if isScreen, command != .quit { leavingSince = nil }
        switch command {
        case .help: show("commands", Command.helpLines)
        case .list(let archived): list(archived)
        case .listFound(let words):
            askForPanel(
                "CHATS \(user) show=all find=\"\(Self.quoted(words))\"", "chats with \(words)",
                as: Purpose.foundChats)
        case .open(let word): open(word, at: now)
        case .nodes: askForPanel("MEMBERS", "nodes")
        case .bell(let isOn): isBellOn = isOn
        case .quit: quit(at: now)
        case .create(let id, let users, let title): create(id, users, title, typed: line)
        default: obeyInChat(command, line, at: now)
        }
    }

    private mutating func obeyInChat(_ command: Command, _ line: String, at now: UInt64) {
        guard let id = server.openID else {
            let hint = isScreen ? "; Up brings the line back" : ""
            return refuse("no chat is open: /open or /new\(hint)", at: now)
        }
        switch command {
        case .say(let text): say(text, in: id)
        case .edit(let label, let text?): edit(label, text, in: id, typed: line, at: now)
        case .edit(let label, nil): beginEdit(label, at: now)
        case .names: show("participants", server.open?.participants ?? [])
        case .find(let text): find(text, at: now)
        case .delete(let label, let everyone):
            with(label, at: now) { machine, message in
                if !everyone { machine.deleted = (id, message.id) }
                let end = everyone ? " for=everyone" : ""
                machine.post("DELETE \(id) \(message.id) \(machine.user)\(end)", "deleting", line)
            }
        case .restore: restore(line, at: now)
        case .pin(let label, let isOn):
            with(label, at: now) { machine, message in
                let verb = isOn ? "PIN" : "UNPIN"
                machine.post("\(verb) \(id) \(message.id) \(machine.user)", "pinning", line)
            }
        case .edits(let label):
            with(label, at: now) { machine, message in
                machine.askForPanel(
                    "EDITS \(id) \(message.id) \(machine.user)", "texts of \(label)")
            }
        case .pins: askForPanel("PINNED \(id) \(user)", "pinned")
        case .archive(let isOn):
            post("\(isOn ? "ARCHIVE" : "UNARCHIVE") \(id) \(user)", "archiving", line)
        case .hide: post("HIDECHAT \(id) \(user)", "hiding", line, closes: id)
        case .leaveChat: post("LEAVECHAT \(id) \(user)", "leaving", line, closes: id)
        case .invite(let other): post("INVITE \(id) \(user) \(other)", "inviting \(other)", line)
        default: break
        }
    }

    private mutating func post(
        _ line: String, _ name: String, _ typed: String, closes: String? = nil
    ) {
        outbox.add(
            Outbox.Post(line: line, name: name, message: nil, typed: typed, closes: closes))
    }

    private mutating func say(_ text: String, in id: String) {
        idsMade += 1
        let message = Outbox.Message(
            conversation: id, id: "\(settings.idPrefix)-\(idsMade)", text: text)
        viewport.follow()
        outbox.add(
            Outbox.Post(
                line: "SEND \(id) \(user) id=\(message.id) -- \(Self.escaped(text))",
                name: "sending \"\(measure.cut(text, to: 40))\"", message: message, typed: text))
    }

    private mutating func edit(
        _ label: String?, _ text: String, in id: String, typed: String, at now: UInt64
    ) {
        guard let message = editable(label, at: now) else { return }
        post("EDIT \(id) \(message.id) \(user) -- \(Self.escaped(text))", "editing", typed)
    }

    /// Puts a message's text into the input line, to be edited there.
    private mutating func beginEdit(_ label: String?, at now: UInt64) {
        guard let message = editable(label, at: now) else { return }
        guard isScreen else {
            return refuse("/edit needs a text: /edit \(label ?? "[N]") TEXT", at: now)
        }
        guard message.from == user, !message.isDeleted else {
            return refuse("you can only edit your own messages", at: now)
        }
        editor.set("/edit \(server.label(of: message.id)) \(message.rawText)")
    }

    /// Returns the message with that number, or the user's last one; tells the person if none
    /// exists.
    private mutating func editable(_ label: String?, at now: UInt64) -> Message? {
        let last = server.messages.last { $0.from == user && !$0.isDeleted }
        let message = label.map { server.message(labelled: $0) } ?? last
        if message == nil {
            refuse(label.map { "there is no message \($0)" } ?? "nothing to edit", at: now)
        }
        return message
    }

    /// Searches the loaded messages; without a text, continues to the next older match.
    private mutating func find(_ text: String?, at now: UInt64) {
        guard isScreen else { return refuse("/find needs a screen", at: now) }
        if let text { search = Search(text: text) }
        guard search != nil else { return refuse("/find TEXT", at: now) }
        findNext(older: true, at: now)
    }

    private mutating func restore(_ typed: String, at now: UInt64) {
        guard let deleted else { return refuse("nothing was deleted here", at: now) }
        post("RESTORE \(deleted.conversation) \(deleted.id) \(user)", "restoring", typed)
    }

    private mutating func with(
        _ label: String, at now: UInt64, _ body: (inout Self, Message) -> Void
    ) {
        guard let message = server.message(labelled: label) else {
            return refuse("there is no message \(label)", at: now)
        }
        body(&self, message)
    }

    private mutating func refuse(_ sentence: String, at now: UInt64) {
        hasRefusal = true
        showSentence(sentence, at: now)
    }

    // MARK: - Chats

    private mutating func open(_ word: String, at now: UInt64) {
        if let chat = server.chat(word, for: user) {
            open(chat.id)
        } else {
            refuse("no chat, or more than one, is called \(word)", at: now)
        }
    }

    mutating func open(_ id: String) {
        server.open(id)
        viewport = Viewport()
        search = nil
        panel = nil
        wantsHistory = true
    }

    private mutating func create(
        _ id: String, _ users: [String], _ title: String, typed: String
    ) {
        let all = ([user] + users.filter { $0 != user }).joined(separator: ",")
        let end = title.isEmpty ? "" : " title=\"\(Self.quoted(title))\""
        outbox.add(
            Outbox.Post(
                line: "CREATE \(id) \(all)\(end)", name: "making \(id)", message: nil,
                typed: typed, opens: id))
    }

    private mutating func list(_ archived: Bool) {
        showsArchived = archived
        server.open(nil)
        listTop = 0
        panel = nil
        if !isScreen {
            print(listLines(server.chats.filter { $0.isArchived == archived }))
        }
    }

    /// Leaves once everything is acknowledged; on a screen, a second `/quit` leaves at once.
    private mutating func quit(at now: UInt64) {
        if isScreen, leavingSince != nil {
            print(outbox.unsent)
            return output.append(.leave(link == .up ? 1 : 69))
        }
        leavingSince = now
        // Without a notice, the status line shows what is waited for.
        if isScreen, !outbox.isEmpty { notice = nil }
    }

    // MARK: - Panels

    private mutating func askForPanel(
        _ line: String, _ title: String, as purpose: (String) -> Purpose = Purpose.panel
    ) {
        if link == .up {
            ask(line, purpose(title))
        } else {
            show(title, ["no node is connected"])
        }
    }

    mutating func show(_ title: String, _ lines: [String]) {
        if isScreen {
            panel = Panel(title: title, lines: lines.isEmpty ? ["(nothing)"] : lines)
        } else {
            print(lines.map { "  \($0)" })
        }
    }

    // MARK: - Spelling

    /// Returns a text with the escapes of the line protocol.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += #"\\"#
            case "\n": escaped += #"\n"#
            case "\r": escaped += #"\r"#
            case "\t": escaped += #"\t"#
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Returns the inside of a quoted value.
    static func quoted(_ text: String) -> String {
        escaped(text).replacing("\"", by: "\\\"")
    }
}
