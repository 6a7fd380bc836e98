@testable import GrapevineClient

// MARK: In between

extension ModelRun {
    /// Checks the views that may have changed.
    func checkAll() throws(ModelFailure) {
        for client in clients where client.core != nil && !client.isOver {
            for conversation in client.takeTouched() {
                try check(client, conversation)
            }
        }
    }

    private func fail(_ text: String) -> ModelFailure {
        note(text)
        return ModelFailure(text)
    }

    private func check(_ client: ModelClient, _ conversation: String) throws(ModelFailure) {
        let messages = try reading { () throws(StoreError) in try client.messages(conversation) }
        let before = client.shown.updateValue(messages, forKey: conversation)
        if before != messages { note("\(client.name) shows \(messages)") }
        let ids = Set(messages.map(\.id))
        guard ids.count == messages.count else {
            throw fail("\(client.name) shows a message twice")
        }
        try checkPins(client, conversation, messages)
        try checkListed(client, conversation)
        try checkLine(client, conversation)
        let wishes = client.memory.wishes.filter { $0.key.conversation == conversation }
        for (key, wish) in wishes.sorted(by: { $0.value.number < $1.value.number }) {
            try check(wish, key, messages.first { $0.id == key.message }, client)
        }
        let wrong = client.memory.see(messages) { message, text in
            changes(of: message).filter { $0.text == text }.map(\.at).min()
        }
        if let wrong { throw fail("\(wrong) at \(client.name)") }
        if let wrong = client.allViolations.first { throw fail(wrong) }
    }

    /// Of the messages that are shown, those are among the pinned ones that are shown as pinned.
    private func checkPins(
        _ client: ModelClient, _ conversation: String, _ messages: [SeenMessage]
    ) throws(ModelFailure) {
        guard let core = client.core else { return }
        let snapshot = try reading { () throws(StoreError) in try core.snapshot(of: conversation) }
        var pins = Set(snapshot.pins.map(\.id))
        // Pinned messages may be older than those that are shown.
        if snapshot.hasEarlier { pins.formIntersection(messages.map(\.id)) }
        if snapshot.isLoaded, pins != Set(messages.filter { $0.pinnedBy != nil }.map(\.id)) {
            throw fail("\(client.name) has the pins \(pins), and shows \(messages) in the chat")
        }
    }

    /// A conversation that a user has created is listed until the user leaves or hides it, and one
    /// that the user has left is not.
    private func checkListed(
        _ client: ModelClient, _ conversation: String
    ) throws(ModelFailure) {
        let isListed = try reading { () throws(StoreError) in try client.lists(conversation) }
        if isListed, client.memory.left.contains(conversation) {
            throw fail("\(client.name) lists \(conversation), which the user has left")
        }
        guard !isListed, client.memory.created.contains(conversation) else { return }
        let isUndone = cluster.nodes.contains { node in
            node.hasLeft(client.user, conversation)
                || node.lastHiding(conversation, client.user) != nil
        }
        if !isUndone {
            throw fail("\(client.name) does not list \(conversation), which the user has created")
        }
    }

    /// The line of the list says what follows from the messages and the operations.
    private func checkLine(
        _ client: ModelClient, _ conversation: String
    ) throws(ModelFailure) {
        guard let core = client.core else { return }
        let derived = try reading { () throws(StoreError) in
            try core.wholeLine(of: conversation)
        }
        // Times are shown by the device's clock, which is known better and better.
        let line = core.lines[conversation]
        guard line?.lastMessage.text == derived?.lastMessage.text,
            line?.lastMessage.senderId == derived?.lastMessage.senderId,
            line?.unreadCount == derived?.unreadCount, line?.isArchived == derived?.isArchived,
            line?.title == derived?.title, line?.participantIds == derived?.participantIds
        else {
            throw fail("\(client.name) lists \(line as Any) for \(derived as Any)")
        }
    }

    /// Reads from a store, which does not fail in the model.
    func reading<Value>(
        _ body: () throws(StoreError) -> Value
    ) throws(ModelFailure) -> Value {
        do {
            return try body()
        } catch {
            throw ModelFailure("The store failed: \(error)")
        }
    }

    /// A user's own change stays in view until a later one is known.
    private func check(
        _ wish: ModelMemory.Wish, _ key: ModelMemory.Key, _ shown: SeenMessage?,
        _ client: ModelClient
    ) throws(ModelFailure) {
        let value: String
        switch key.field {
        case .visible: value = shown == nil ? "no" : "yes"
        case .text:
            guard let shown, !shown.isRetracted else { return }
            value = shown.text
        case .pin:
            guard let shown, !shown.isRetracted else { return }
            value = shown.pinnedBy ?? ""
        }
        if value == wish.value { return }
        guard try isOvertaken(wish, key, by: value, client) else {
            throw fail(
                "\(key.field) of \(key.message) is “\(value)” at \(client.name), which made it "
                    + "“\(wish.value)” by \(wish.number)")
        }
        client.memory.drop(key)
    }

    private func isOvertaken(
        _ wish: ModelMemory.Wish, _ key: ModelMemory.Key, by value: String, _ client: ModelClient
    ) throws(ModelFailure) -> Bool {
        let all = changes(of: key.message)
        let name = try reading { () throws(StoreError) in
            try client.operationName(wish.number)
        }
        let own = all.filter { change in
            wish.isMessage
                ? change.kind == .message
                : change.operation?.hasPrefix(name + ".") ?? false
        }
        if key.field == .visible, value == "no",
            isCleared(key, client.user)
                || cluster.nodes.contains(where: { $0.hasLeft(client.user, key.conversation) })
                || all.contains(where: { $0.kind == .retract && $0.by == client.user })
        {
            return true
        }
        // One that nodes execute no more counts as executed if something later has overtaken it.
        let expired = cluster.journal.expired(name)
        guard let time = own.map(\.at).min() ?? expired else { return false }
        return all.contains { $0.at > time && overtakes($0, key.field, value, client.user) }
    }

    private func overtakes(
        _ change: ModelChange, _ field: ModelMemory.Field, _ value: String, _ user: String
    ) -> Bool {
        switch (field, change.kind) {
        case (.text, .edit), (.text, .message): change.text == value
        case (.pin, .pin): change.by == value
        case (.pin, .unpin): value.isEmpty
        case (.pin, .retract): true
        case (.visible, .delete): change.by == user && value == "no"
        case (.visible, .restore): change.by == user && value == "yes"
        case (.visible, .retract): change.by == user && value == "no"
        default: false
        }
    }

    /// All changes of a message that any node has.
    func changes(of message: String) -> [ModelChange] {
        cluster.nodes.flatMap { node in node.log.filter { $0.id == message } }
    }

    /// Whether a message was sent before the user has hidden the conversation.
    private func isCleared(_ key: ModelMemory.Key, _ user: String) -> Bool {
        cluster.nodes.contains { node in
            let end = node.lastHiding(key.conversation, user) ?? .zero
            return changes(of: key.message).contains { $0.kind == .message && $0.at <= end }
        }
    }
}

// MARK: At the end

extension ModelRun {
    /// Compares all views with all nodes.
    func checkEnd() throws(ModelFailure) {
        let first = cluster.nodes[0]
        for node in cluster.nodes where node.vector != first.vector {
            throw fail("The nodes are not in sync")
        }
        for client in clients {
            try checkOperations(client)
            for conversation in conversations { try checkView(client, conversation) }
            try checkList(client)
            try checkRead(client)
        }
        for entry in acted { try checkExecuted(entry.client, entry.number, entry.action) }
        if cluster.stolen > 0 { throw fail("A refresh token was used under two names") }
        if let wrong = cluster.journal.misnamed.first { throw fail(wrong) }
        if let wrong = cluster.journal.disordered.first { throw fail("\(wrong) is disordered") }
    }

    private func checkOperations(_ client: ModelClient) throws(ModelFailure) {
        guard let core = client.core else { throw fail("\(client.name) does not run") }
        if core.machines.link.state != .online { throw fail("\(client.name) is not online") }
        let waiting = core.machines.outbox.operations
        if !waiting.isEmpty { throw fail("\(client.name) waits with \(waiting)") }
        let stored = try reading { () throws(StoreError) in try core.store.operations() }
        if !stored.isEmpty { throw fail("\(client.name) has stored \(stored)") }
        let lines = try reading { () throws(StoreError) in try core.store.lines() }
        let texts = lines.map { "\($0.id) \($0.lastMessage.text) \($0.unreadCount)" }.sorted()
        let shown = core.lines.values.map { "\($0.id) \($0.lastMessage.text) \($0.unreadCount)" }
        if texts != shown.sorted() { throw fail("\(client.name) has stored the lines \(texts)") }
        let left = try reading { () throws(StoreError) in try core.store.fileBytes() }
        if left > 0 { throw fail("\(client.name) keeps \(left) bytes of files") }
        if !core.machines.marks.all.isEmpty { throw fail("\(client.name) waits with marks") }
    }

    private func checkView(
        _ client: ModelClient, _ conversation: String
    ) throws(ModelFailure) {
        guard let core = client.core else { return }
        let snapshot = try reading { () throws(StoreError) in try core.snapshot(of: conversation) }
        let actual = snapshot.messages.map(SeenMessage.init)
        if client.shown[conversation] ?? [] != actual {
            throw fail("\(client.name) was not told of a change: \(actual)")
        }
        let all = cluster.nodes[0].shown(conversation, client.user)
        let expected = all.map(SeenMessage.init).suffix(
            snapshot.hasEarlier ? actual.count : all.count)
        if Array(expected) != actual { throw differ(client.name, actual, Array(expected)) }
        let pinned = all.filter { $0.pinnedBy != nil }
            .sorted { ($0.pinnedAt ?? .zero) > ($1.pinnedAt ?? .zero) }.map(\.id)
        if snapshot.pins.map(\.id) != pinned {
            throw fail("\(client.name) shows pins \(snapshot.pins.map(\.id)), not \(pinned)")
        }
        for message in snapshot.messages where message.status == .waiting {
            throw fail("\(client.name) shows \(message.id) as waiting")
        }
    }

    private func differ(
        _ name: String, _ actual: [SeenMessage], _ expected: [SeenMessage]
    ) -> ModelFailure {
        let extra = actual.filter { !expected.contains($0) }
        let missing = expected.filter { !actual.contains($0) }
        return fail("\(name) shows \(extra) instead of \(missing); \(actual.map(\.id))")
    }

    /// Whether two nodes have accepted one message: a mark reaches the place that the message had
    /// at the node where it was set, so unread messages are not compared then.
    private func hasCopies(_ conversation: String) -> Bool {
        let sent = cluster.nodes[0].log.filter {
            $0.kind == .message && $0.conversation == conversation
        }
        return Set(sent.map(\.id)).count < sent.count
    }

    /// Everything in a conversation that the user is looking at is read.
    private func checkRead(_ client: ModelClient) throws(ModelFailure) {
        guard let id = client.viewed, !hasCopies(id) else { return }
        let unread = cluster.nodes[0].unread(id, client.user)
        if unread > 0 { throw fail("\(client.name) looks at \(id), of which \(unread) are unread") }
    }

    private func checkList(_ client: ModelClient) throws(ModelFailure) {
        guard let core = client.core else { return }
        let list = try reading { () throws(StoreError) in try core.conversations() }
        let lines = list.map { line -> String in
            let unread = hasCopies(line.id) ? 0 : line.unreadCount
            return "\(line.id) “\(line.lastMessage.text)” \(unread)"
                + (line.isArchived ? " archived" : "")
        }
        let node = cluster.nodes[0]
        let expected = conversations.compactMap { id -> String? in
            guard node.isMember(client.user, of: id) else { return nil }
            let shown = node.shown(id, client.user)
            if shown.isEmpty, node.lastHiding(id, client.user) != nil { return nil }
            let last = shown.last { $0.deletedAt == nil }
            let isArchived = node.lastArchiving(id, client.user)?.kind == .archive
            let unread = hasCopies(id) ? 0 : node.unread(id, client.user)
            return "\(id) “\(last?.text ?? LastMessage.nothing.text)” \(unread)"
                + (isArchived ? " archived" : "")
        }
        if lines.sorted() != expected.sorted() {
            throw fail("\(client.name) lists \(lines) instead of \(expected)")
        }
    }

    /// Each operation was executed once, or refused.
    private func checkExecuted(
        _ client: ModelClient, _ number: UInt64, _ action: Action
    ) throws(ModelFailure) {
        let name = try reading { () throws(StoreError) in try client.operationName(number) }
        let log = cluster.nodes[0].log
        let isExecuted: Bool
        if case .create(let conversation, _, _) = action {
            isExecuted = cluster.nodes[0].creation(of: conversation) != nil
        } else if case .send(_, let message, _) = action {
            isExecuted = log.contains { $0.kind == .message && $0.id == message }
        } else {
            isExecuted = log.contains { $0.operation?.hasPrefix(name + ".") ?? false }
        }
        let isRefused = isRefused(client, number, action)
        if cluster.journal.expired(name) != nil { return }
        let hasLeft = action.conversation.map { cluster.nodes[0].hasLeft(client.user, $0) } ?? false
        // A repetition after the user has left is refused.
        if isExecuted == isRefused, !(hasLeft && isRefused) {
            throw fail("\(action) of \(client.name) is \(isExecuted ? "both" : "lost"): \(number)")
        }
    }

    /// Whether an operation was refused, or the message that it is about.
    private func isRefused(_ client: ModelClient, _ number: UInt64, _ action: Action) -> Bool {
        if client.refused.contains(number) { return true }
        guard let message = action.message, let made = sent[message] else { return false }
        return made.client === client && made.client.refused.contains(made.number)
    }
}
