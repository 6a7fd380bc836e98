import LineProtocol

/// The handling of what a node sends: replies and events.
extension ChatMachine {
    mutating func onAnswer(_ number: Int, _ lines: [ReplyLine], at now: UInt64) {
        // Replies to requests of an earlier connection are ignored: those requests are repeated.
        guard let purpose = purposes.removeValue(forKey: number), let status = lines.last else {
            return
        }
        switch purpose {
        case .post: return onPosted(status, at: now)
        case .aside: return
        default: break
        }
        guard case .ok(let ok) = status else { return onRefusal(of: purpose, status, at: now) }
        let rows = lines.dropLast().compactMap { line -> ReplyFields? in
            if case .data(_, let fields) = line { fields } else { nil }
        }
        switch purpose {
        case .members:
            for row in rows where row["state"] != "left" {
                if let address = row["admin"] { roster.learn(address) }
            }
        case .chats: onChats(rows.compactMap { Chat($0) }, isPartial: ok.isTrue("partial"))
        case .history(let id): if id == server.openID { onHistory(rows.compactMap { Message($0) }) }
        case .panel(let title): show(title, rows.map { Self.panelLine($0, settings) })
        case .foundChats(let title): show(title, listLines(rows.compactMap { Chat($0) }))
        case .post, .aside, .since: break
        }
    }

    private mutating func onRefusal(of purpose: Purpose, _ status: ReplyLine, at now: UInt64) {
        guard case .error(let error) = status else { return }
        // A node that lacks what was seen is better than none, and an old node knows no tokens.
        if purpose == .since {
            if error.code >= 500 {
                showSentence("\(roster.current) may show less than before", at: now)
            }
            return
        }
        // After a temporary refusal, the request is repeated at the next event or on another node.
        if error.code >= 500 {
            if purpose == .chats { wantsChats = true }
            return turnAway("\(error.sentence)", at: now)
        }
        showSentence(error.sentence, at: now)
        if case .history(server.openID) = purpose {
            server.open(nil)
            hasRefusal = true
        }
        if purpose == .chats { hasChats = true }
    }

    /// Switches to another node after this one refused a request temporarily.
    private mutating func turnAway(_ why: String, at now: UInt64) {
        let pause = max(roster.failed(), Outbox.pauseMilliseconds)
        downSince = now
        link = .down(until: now + pause)
        purposes = [:]
        outbox.forgetConnection()
        isWatching = false
        showSentence("\(why); trying \(roster.current)", at: now)
    }

    private mutating func onChats(_ chats: [Chat], isPartial: Bool) {
        let kept =
            isPartial ? server.chats.filter { old in !chats.contains { $0.id == old.id } } : []
        server.chats = chats + kept
        if !hasChats, !isScreen { print(listLines(server.chats)) }
        hasChats = true
        if isPartial { wantsChats = !isWatching }
    }

    private mutating func onHistory(_ messages: [Message]) {
        let isFirst = !server.hasHistory
        server.replaceMessages(messages, of: user)
        if isFirst, let unread = server.firstUnread { viewport.begin(at: unread) }
        printNew()
        markPrinted()
    }

    // MARK: - Posts

    private mutating func onPosted(_ status: ReplyLine, at now: UInt64) {
        switch status {
        case .ok(let ok):
            let post = outbox.finish()
            wantsChats = true
            if let opened = post.opens { open(opened) }
            if let closed = post.closes, closed == server.openID { server.open(nil) }
            guard let message = post.message, message.conversation == server.openID else {
                wantsHistory = server.openID != nil
                return
            }
            onAcknowledged(message, ok)
        case .error(let error) where error.code >= 500:
            if outbox.postpone(at: now) {
                turnAway(error.sentence, at: now)
            } else {
                showSentence("\(error.sentence); it is sent again", at: now)
            }
        case .error(let error):
            let post = outbox.finish()
            hasRefusal = true
            showSentence("\(post.name): \(error.sentence)", at: now)
            editor.keep(post.typed)
        case .data: break
        }
    }

    private mutating func onAcknowledged(_ message: Outbox.Message, _ ok: ReplyFields) {
        guard let at = ok["at"], let sent = Message(id: message.id, from: user, at, message.text)
        else { return }
        _ = server.append(sent)
        printNew()
    }

    // MARK: - Events

    mutating func onWatchAnswer(_ line: ReplyLine) {
        switch line {
        case .ok(let fields):
            isWatching = true
            token = fields["token"] ?? token
        case .error(let error):
            // A refused token is given up. An old node knows no `WATCH`; it is polled instead.
            if error.code >= 500 {
                wantsWatch = true
            } else if token != nil {
                token = nil
                output.append(.watch("WATCH \(user)"))
            }
        case .data: break
        }
    }

    mutating func onEvent(_ fields: ReplyFields, at now: UInt64) {
        token = fields["token"] ?? token
        let conversation = fields["conversation"] ?? ""
        let by = fields["by"] ?? ""
        if fields["kind"] == "typing" {
            let isOn = fields.isTrue("on") && by != user
            return server.setTyping(by, in: conversation, isOn, at: now)
        }
        wantsChats = true
        if fields["kind"] == "message", let message = Message(fields) {
            server.setTyping(message.from, in: conversation, false, at: now)
            guard conversation == server.openID else {
                if message.from != user { ring(at: now) }
                return tellOf(message, in: conversation)
            }
            if server.append(message) {
                if mentions(message) { ring(at: now) }
                printNew()
                markPrinted()
            }
            return
        }
        guard conversation == server.openID else { return }
        wantsHistory = true
        if !isScreen, let id = fields["id"], by != user || fields["kind"] == "delete" {
            printChange(fields["kind"] ?? "", of: id, by: by, fields)
        }
    }

    private mutating func tellOf(_ message: Message, in conversation: String) {
        guard !isScreen, message.from != user else { return }
        guard printed.insert("\(conversation) \(message.id)").inserted else { return }
        print(["[\(conversation)] \(message.from): \(message.text)"])
    }

    private mutating func printChange(
        _ kind: String, of id: String, by: String, _ fields: ReplyFields
    ) {
        let number = server.label(of: id)
        let what =
            switch kind {
            case "edit": "changed \(number): \(Columns.harmless(fields["text"] ?? ""))"
            case "delete": "deleted \(number)"
            case "pin": "pinned \(number)"
            case "unpin": "unpinned \(number)"
            case "restore": "restored \(number)"
            default: ""
            }
        if !what.isEmpty { print(["* \(by) \(what)"]) }
    }

    /// In line mode, a printed message counts as read.
    private mutating func markPrinted() {
        if !isScreen, let newest = server.messages.last { markRead(upTo: newest.position) }
    }

    /// Marks the messages up to a position as read, as far as they were sent by others.
    mutating func markRead(upTo last: Position) {
        guard let id = server.openID, link == .up,
            let newest = server.messages.last(where: { $0.from != user && $0.position <= last })
        else { return }
        if let mark = marks[id], mark >= newest.position { return }
        marks[id] = newest.position
        ask("READ \(id) \(user) \(newest.id)", .aside)
        wantsChats = true
    }

    /// The number of messages that are printed when a chat is opened.
    private static var printedAtFirst: Int { 20 }

    /// The limit of messages remembered as printed; beyond it, a message of another chat may be
    /// printed twice.
    private static var printedMax: Int { 10_000 }

    private mutating func printNew() {
        guard !isScreen, let id = server.openID else { return }
        if printed.count > Self.printedMax {
            printed = printed.filter { $0 == "opened \(id)" || $0.hasPrefix("\(id) ") }
        }
        let isFirst = printed.insert("opened \(id)").inserted
        let new = server.messages.filter { printed.insert("\(id) \($0.id)").inserted }
        guard isFirst else { return print(new.map(plainLine)) }
        let unread = new.filter { message in
            server.firstUnread.map { message.position >= $0 } ?? false
        }
        let read = new.dropLast(unread.count)
        print(read.suffix(max(0, Self.printedAtFirst - unread.count)).map(plainLine))
        if !unread.isEmpty { print(["── new"] + unread.map(plainLine)) }
    }
}

extension Message {
    /// A message that was acknowledged just now.
    init?(id: String, from: String, _ at: String, _ text: String) {
        guard let at = LineTime.parse(at) else { return nil }
        self.id = id
        sequence = ""
        self.from = from
        self.at = at
        rawText = text
        self.text = Columns.harmless(text)
        isEdited = false
        isDeleted = false
        pinnedBy = nil
        readBy = []
        deliveredTo = []
    }
}
