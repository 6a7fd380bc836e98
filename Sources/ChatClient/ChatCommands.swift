/// What a person does: keys, and the lines that are typed.
extension ChatMachine {
    mutating func onKey(_ key: Keystroke, at now: UInt64) {
        switch key {
        case .enter: submit(at: now)
        case .tab: openNext()
        case .escape: panel = nil
        case .pageUp: scrollBack()
        case .pageDown: scroll = max(0, scroll - page)
        case .control("c"), .control("d"):
            if editor.isEmpty {
                obey("/quit", at: now)
            } else if key == .control("c") {
                editor.set("")
                stopTyping()
            }
        case .control("l"): shown = nil
        default: if editor.take(key) { onTyped(at: now) }
        }
    }

    private var page: Int { max(1, (size?.rows ?? 0) - 4) }

    private mutating func scrollBack() {
        scroll += page
        if book.wantsOlder() { wantsHistory = true }
    }

    private mutating func openNext() {
        let listed = book.chats.filter { !$0.isArchived }
        let place = listed.firstIndex { $0.id == book.openID }.map { $0 + 1 } ?? 0
        let turned = listed[min(place, listed.count)...] + listed[..<min(place, listed.count)]
        if let next = turned.first(where: { $0.unread > 0 && $0.id != book.openID })
            ?? turned.first
        {
            open(next.id)
        }
    }

    private mutating func submit(at now: UInt64) {
        let line = editor.take()
        stopTyping()
        panel = nil
        if line.contains(where: { !$0.isWhitespace }) { obey(line, at: now) }
    }

    // MARK: - Typing

    private mutating func onTyped(at now: UInt64) {
        guard link == .up, let id = book.openID, !editor.isEmpty, editor.characters.first != "/"
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
            return tell(error.sentence, at: now)
        }
        switch command {
        case .help: show("commands", Command.helpLines)
        case .list(let archived): list(archived)
        case .open(let word): open(word, at: now)
        case .nodes: askForPanel("MEMBERS", "nodes")
        case .quit: quit(at: now)
        case .create(let id, let users, let title): create(id, users, title, typed: line)
        default: obeyInChat(command, line, at: now)
        }
    }

    private mutating func obeyInChat(_ command: Command, _ line: String, at now: UInt64) {
        guard let id = book.openID else {
            hasRefusal = true
            editor.set(line)
            return tell("no chat is open: /open CHAT, or /new CHAT USER…", at: now)
        }
        switch command {
        case .say(let text): say(text, in: id)
        case .edit(let number, let text): edit(number, text, in: id, typed: line, at: now)
        case .delete(let number, let everyone):
            with(number, at: now) { machine, message in
                if !everyone { machine.deleted = (id, message.id) }
                let end = everyone ? " for=everyone" : ""
                machine.post("DELETE \(id) \(message.id) \(machine.user)\(end)", "deleting", line)
            }
        case .restore: restore(line, at: now)
        case .pin(let number, let isOn):
            with(number, at: now) { machine, message in
                let verb = isOn ? "PIN" : "UNPIN"
                machine.post("\(verb) \(id) \(message.id) \(machine.user)", "pinning", line)
            }
        case .edits(let number):
            with(number, at: now) { machine, message in
                machine.askForPanel(
                    "EDITS \(id) \(message.id) \(machine.user)", "texts of \(number)")
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
        scroll = 0
        outbox.add(
            Outbox.Post(
                line: "SEND \(id) \(user) id=\(message.id) -- \(Self.escaped(text))",
                name: "sending \"\(Columns.cut(text, to: 40))\"", message: message, typed: text))
    }

    private mutating func edit(
        _ number: Int?, _ text: String, in id: String, typed: String, at now: UInt64
    ) {
        let last = book.messages.last { $0.from == user && !$0.isDeleted }
        guard let message = number.map({ book.message($0) }) ?? last else {
            return refuse(number.map { "there is no message \($0)" } ?? "nothing to edit", at: now)
        }
        post("EDIT \(id) \(message.id) \(user) -- \(Self.escaped(text))", "editing", typed)
    }

    private mutating func restore(_ typed: String, at now: UInt64) {
        guard let deleted else { return refuse("nothing was deleted here", at: now) }
        post("RESTORE \(deleted.conversation) \(deleted.id) \(user)", "restoring", typed)
    }

    private mutating func with(
        _ number: Int, at now: UInt64, _ body: (inout Self, Message) -> Void
    ) {
        guard let message = book.message(number) else {
            return refuse("there is no message \(number)", at: now)
        }
        body(&self, message)
    }

    private mutating func refuse(_ sentence: String, at now: UInt64) {
        hasRefusal = true
        tell(sentence, at: now)
    }

    // MARK: - Chats

    private mutating func open(_ word: String, at now: UInt64) {
        if let chat = book.chat(word, for: user) {
            open(chat.id)
        } else {
            refuse("no chat, or more than one, is called \(word)", at: now)
        }
    }

    mutating func open(_ id: String) {
        book.open(id)
        scroll = 0
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
        book.open(nil)
        scroll = 0
        if !isScreen {
            print(listLines(book.chats.filter { $0.isArchived == archived }))
        }
    }

    private mutating func quit(at now: UInt64) {
        if isScreen, leavingSince != nil {
            for post in outbox.posts { output.append(.print("not acknowledged: \(post.name)")) }
            return output.append(.leave(1))
        }
        leavingSince = now
        if isScreen, !outbox.isEmpty {
            tell("waiting for what is not acknowledged; /quit again leaves it", at: now)
        }
    }

    // MARK: - Panels

    private mutating func askForPanel(_ line: String, _ title: String) {
        if link == .up {
            ask(line, .panel(title))
        } else {
            show(title, ["no node is connected"])
        }
    }

    mutating func show(_ title: String, _ lines: [String]) {
        if isScreen {
            panel = (title, lines.isEmpty ? ["(nothing)"] : lines)
        } else {
            print(lines.map { "  \($0)" })
        }
    }

    // MARK: - Spelling

    /// A text as a request spells it.
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

    /// The inside of a quoted value.
    static func quoted(_ text: String) -> String {
        escaped(text).replacing("\"", with: "\\\"")
    }
}
