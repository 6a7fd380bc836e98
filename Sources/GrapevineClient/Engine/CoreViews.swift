import Foundation

/// The messages of a conversation as the user sees them, at one moment.
public struct ConversationSnapshot: Hashable, Sendable {
    /// The messages from the earliest one that was loaded on, in order.
    public var messages: [Message] = []
    /// The pinned messages, the one that was pinned last first.
    public var pins: [Message] = []
    /// The ids of the other users who type.
    public var typingUsers: [String] = []
    /// Whether there may be messages before these.
    public var hasEarlier = false
    /// Whether the newest messages have been read from the cluster.
    public var isLoaded = false

    /// Makes an empty snapshot.
    public init() {}
}

// MARK: Views

extension Core {
    /// Milliseconds by which the time of this device is ahead of the nodes'.
    private var deviceLead: Int64 {
        clock.deviceTime - machines.time.now(elapsed: clock.elapsed)
    }

    /// Returns the messages of a conversation.
    func snapshot(of id: String) throws(StoreError) -> ConversationSnapshot {
        let overlay = try overlay(of: id, with: machines)
        let record = overlay.conversation
        var snapshot = ConversationSnapshot()
        if let laid = laid[id] {
            snapshot.messages = overlay.messages(laid)
        } else {
            snapshot.messages = overlay.messages(overlay.laid(try messages(of: record)))
        }
        snapshot.pins = try pins(under: overlay)
        snapshot.typingUsers = machines.typing.users(in: id)
        snapshot.hasEarlier = record.completeFrom.map { $0 > .zero } ?? false
        snapshot.isLoaded = record.completeFrom != nil
        return snapshot
    }

    /// Returns the pinned messages that the user sees, the one that was pinned last first.
    private func pins(under overlay: Overlay) throws(StoreError) -> [Message] {
        let id = overlay.conversation.id
        var records = try store.pins(in: id)
        var pinned = Set(records.map(\.id))
        for operation in overlay.operations {
            guard case .pin(_, let message) = operation.action, pinned.insert(message).inserted,
                let record = try store.message(message, in: id)
            else { continue }
            records.append(record)
        }
        return pinned.isEmpty ? [] : overlay.limited(to: pinned).pins(records)
    }

    private func messages(
        of conversation: ConversationRecord
    ) throws(StoreError) -> [MessageRecord] {
        try store.messages(in: conversation.id, from: conversation.completeFrom ?? .zero)
    }

    /// Returns the lines of conversations that are not as they are stored: nil for those that the
    /// list does not show.
    func changedLines(
        of ids: Set<String>, with machines: Machines
    ) throws(StoreError) -> [String: Conversation?] {
        laid = [:]
        var changed: [String: Conversation?] = [:]
        for id in ids {
            let line = try line(of: id, with: machines)
            if line != lines[id] { changed[id] = .some(line) }
        }
        return changed
    }

    /// Derives the line of a conversation in the list of chats, without names of users: without
    /// operations of the user, the store finds what it shows.
    private func line(of id: String, with machines: Machines) throws(StoreError) -> Conversation? {
        let overlay = try overlay(of: id, with: machines, isNamed: false)
        guard overlay.operations.isEmpty else {
            let records = try messages(of: overlay.conversation)
            let laid = overlay.laid(records)
            if opened.contains(id) { self.laid[id] = laid }
            return overlay.listed(overlay.tail(laid, of: records))
        }
        guard let row = overlay.conversation.row else { return nil }
        let from = overlay.conversation.completeFrom ?? .zero
        let start = max(overlay.unreadStart(row).time, from.previous)
        let unread = try store.unreadCount(in: id, after: start)
        let told = try row.last.flatMap { last throws(StoreError) in
            try store.message(last, in: id)
        }
        let last = try store.lastListed(in: id, from: from)
        return overlay.listed(
            Overlay.Tail(
                last: last.map { Overlay.Laid(record: $0) }, isEmpty: false,
                isLastKnown: told?.content != nil && told?.sent ?? .zero >= from,
                unread: { _ in unread }))
    }

    /// Derives the line from all messages of the conversation.
    func wholeLine(of id: String) throws(StoreError) -> Conversation? {
        let overlay = try overlay(of: id, with: machines, isNamed: false)
        let records = try messages(of: overlay.conversation)
        return overlay.listed(overlay.tail(overlay.laid(records), of: records))
    }

    /// Returns a conversation as the list of chats shows it; nil if the list does not.
    func listed(_ id: String) throws(StoreError) -> Conversation? {
        guard let line = lines[id] else { return nil }
        return named(line, try profiles(of: line.participantIds))
    }

    /// Returns all conversations of the user, the one with the last message first.
    func conversations() throws(StoreError) -> [Conversation] {
        let profiles = Dictionary(
            try store.profiles().map { ($0.user, $0) }, uniquingKeysWith: { first, _ in first })
        return lines.values.map { named($0, profiles) }
            .sorted { ($1.updatedAt, $0.id) < ($0.updatedAt, $1.id) }
    }

    private func named(
        _ line: Conversation, _ profiles: [String: ProfileRecord]
    ) -> Conversation {
        var line = line
        for user in line.participantIds {
            line.participantNames[user] = profiles[user]?.name.value.text
            line.participantPhotos[user] = profiles[user]?.photo.value.text
        }
        return line
    }

    private func profiles(
        of users: [String]
    ) throws(StoreError) -> [String: ProfileRecord] {
        var profiles: [String: ProfileRecord] = [:]
        for user in users { profiles[user] = try store.profile(of: user) }
        return profiles
    }

    /// Returns the action items of the user; those that are to be done first are first.
    func items() throws(StoreError) -> [ActionItem] {
        var laid = Dictionary(
            try store.items().map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var waiting: Set<String> = []
        for operation in machines.outbox.operations where operation.action.lane == .items {
            guard let id = operation.action.item else { continue }
            var record = laid[id] ?? ItemRecord(id: id)
            let shown = shown(operation, over: record.lastChange)
            if case .item(let change) = shown { record.merge(change) }
            laid[id] = record
            waiting.insert(id)
        }
        let shown = laid.values.filter { !$0.isDeleted && $0.title.time != nil }
        return shown.map { ActionItem($0, isSynced: !waiting.contains($0.id)) }
            .sorted {
                ($0.dueDate ?? .distantFuture, $0.id) < ($1.dueDate ?? .distantFuture, $1.id)
            }
    }

    private func shown(_ operation: Operation, over lastChange: ExactTime) -> Update {
        operation.shown(over: lastChange, user: user, deviceLead: deviceLead)
    }

    /// Returns what is known of a user.
    func profile(of other: String) throws(StoreError) -> UserProfile {
        var record = try store.profile(of: other) ?? ProfileRecord(user: other)
        let operations = machines.outbox.operations.filter { $0.action.lane == .profile }
        for operation in operations where other == user {
            let shown = shown(operation, over: record.lastChange)
            if case .profile(let change) = shown { record.merge(change) }
        }
        return UserProfile(record)
    }

    /// Returns a message as the user sees it; nil if the user sees none.
    func message(_ id: String, in conversation: String) throws(StoreError) -> Message? {
        let record = try store.message(id, in: conversation)
        let overlay = try overlay(of: conversation, with: machines).limited(to: [id])
        return overlay.messages(overlay.laid([record].compactMap(\.self))).first { $0.id == id }
    }

    /// Returns the message of an action as the user sees it; nil if the user sees none.
    func visible(_ action: Action) throws(GrapevineError) -> Message? {
        guard let id = action.message, let conversation = action.conversation else { return nil }
        do {
            return try message(id, in: conversation)
        } catch {
            throw .notStored(error)
        }
    }

    private func overlay(
        of id: String, with machines: Machines, isNamed: Bool = true
    ) throws(StoreError) -> Overlay {
        let record = try store.conversation(id) ?? ConversationRecord(id: id)
        var overlay = Overlay(
            user: user, conversation: record, marks: try store.marks(in: id),
            operations: machines.outbox.operations.filter { $0.action.conversation == id })
        if isNamed { overlay.profiles = try profiles(of: record.row?.participants ?? []) }
        overlay.ownMark = machines.marks[id, .read]?.sent
        overlay.deviceLead = clock.deviceTime - machines.time.now(elapsed: clock.elapsed)
        overlay.editWindow = editWindow
        return overlay
    }

    /// Returns the messages of a conversation that are known without a gap to the newest one, in
    /// order.
    func stretch(of id: String) throws(StoreError) -> [MessageRecord] {
        guard let from = try store.conversation(id)?.completeFrom else { return [] }
        return try store.messages(in: id, from: from).filter {
            $0.content != nil && $0.sent != nil
        }
    }
}

extension ActionItem {
    init(_ record: ItemRecord, isSynced: Bool) {
        self.init(
            id: record.id, title: record.title.value, isCompleted: record.done.value.isSet,
            dueDate: record.due.value.text.flatMap(Date.init(rfc3339:)),
            priority: record.priority.value.text.flatMap(Priority.init), chatId: record.chat,
            messageId: record.message, isSynced: isSynced)
    }
}

extension UserProfile {
    init(_ record: ProfileRecord) {
        self.init(
            id: record.user, displayName: record.name.value.text ?? "",
            email: record.email.value.text, photoURL: record.photo.value.text,
            createdAt: record.created.map { Date($0) })
    }
}
