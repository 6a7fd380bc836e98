/// The changes of one turn of the client: records are read from the store when they are first
/// needed, merged in memory, and stored together.
struct Turn {
    private struct Key: Hashable {
        let conversation: String
        let id: String
    }

    let store: Store
    let user: String
    private var messages: [Key: MessageRecord] = [:]
    private var marks: [Key: MarkRecord] = [:]
    private var conversations: [String: ConversationRecord] = [:]
    private var items: [String: ItemRecord] = [:]
    private var profiles: [String: ProfileRecord] = [:]
    /// The times at which conversations were cleared in this turn: what the store still has of
    /// before is gone.
    private var cleared: [String: ExactTime] = [:]
    private var changes: [StoreChange] = []
    /// The conversations whose view may have changed.
    private(set) var touched: Set<String> = []

    init(store: Store, user: String) {
        self.store = store
        self.user = user
    }

    mutating func conversation(_ id: String) throws(StoreError) -> ConversationRecord {
        if let known = conversations[id] { return known }
        let record = try store.conversation(id) ?? ConversationRecord(id: id)
        conversations[id] = record
        return record
    }

    /// Stores a conversation at the end of the turn.
    mutating func set(_ record: ConversationRecord) {
        conversations[record.id] = record
        touched.insert(record.id)
        changes.append(.conversation(record))
    }

    /// Merges the consequence of an operation that a node has accepted.
    ///
    /// A hiding of which an event has told clears nothing that was read since.
    mutating func accept(_ consequence: Update) throws(StoreError) {
        if case .cleared(let time, _, let id) = consequence {
            let known = try conversation(id).cleared
            if let known, known >= time { return }
        }
        // A message from before the user's last hiding is shown only if a node shows it.
        if case .message(let record, let id) = consequence,
            try conversation(id).isCleared(record.sent)
        {
            return
        }
        try merge(consequence)
    }

    /// Whether nodes have told of a consequence, or of something later that has overtaken it: then
    /// an operation that no node executes any more is over.
    mutating func includes(_ consequence: Update) throws(StoreError) -> Bool {
        switch consequence {
        case .message(let record, let conversation):
            return try message(record.id, in: conversation)?.includes(record) ?? false
        case .archived(let flag, let id): return try conversation(id).archived.includes(flag)
        case .cleared(let time, _, let id):
            return try conversation(id).cleared.map { $0 >= time } ?? false
        case .item(let record): return try item(record.id)?.includes(record) ?? false
        case .profile(let record): return try profile(of: record.user)?.includes(record) ?? false
        case .created(_, let id): return try conversation(id).row != nil
        case .mark, .membership: return false
        }
    }

    /// Adds a change that is stored at the end of the turn.
    mutating func add(_ change: StoreChange) {
        changes.append(change)
    }

    /// Merges what an event, an answer or an accepted operation tells.
    ///
    /// - Returns: whether a message is new.
    @discardableResult
    mutating func merge(_ update: Update) throws(StoreError) -> Bool {
        switch update {
        case .message(let record, let conversation):
            return try merge(record, in: conversation)
        case .mark(let record, let conversation): try merge(record, in: conversation)
        case .archived(let flag, let id):
            var record = try conversation(id)
            record.archived.merge(flag)
            set(record)
        case .cleared(let time, let hasLeft, let id):
            var record = try conversation(id)
            guard record.clear(at: time, hasLeft: hasLeft) else { return false }
            set(record)
            let before = try store.messages(in: id).filter { $0.sent.map { $0 <= time } ?? false }
            let known = before.filter { messages[Key(conversation: id, id: $0.id)] == nil }
            let changed = messages.filter { $0.key.conversation == id }.map(\.value)
            let left = (known + changed).filter { $0.sent.map { $0 <= time } ?? false }
                .compactMap(\.deletion)
            messages = messages.filter { key, record in
                key.conversation != id || record.sent.map { $0 > time } ?? true
            }
            cleared[id] = time
            changes.append(.deleteMessages(conversation: id, through: time))
            for deletion in left {
                messages[Key(conversation: id, id: deletion.id)] = deletion
                changes.append(.message(deletion, conversation: id))
            }
        case .created(let row, let id):
            var record = try conversation(id)
            record.row = record.row ?? row
            set(record)
        case .membership: break
        case .item(let record): try merge(record)
        case .profile(let record): try merge(record)
        }
        return false
    }

    private mutating func merge(
        _ told: MessageRecord, in conversation: String
    ) throws(StoreError) -> Bool {
        let known = try message(told.id, in: conversation)
        var merged = known ?? told
        merged.merge(told)
        touched.insert(conversation)
        guard merged != known else { return false }
        messages[Key(conversation: conversation, id: told.id)] = merged
        changes.append(.message(merged, conversation: conversation))
        return known?.content == nil && merged.content != nil && merged.deleted == nil
    }

    /// Returns what is known of a message.
    func message(_ id: String, in conversation: String) throws(StoreError) -> MessageRecord? {
        if let known = messages[Key(conversation: conversation, id: id)] { return known }
        let stored = try store.message(id, in: conversation)
        guard let time = cleared[conversation], let sent = stored?.sent, sent <= time else {
            return stored
        }
        return nil
    }

    private mutating func merge(
        _ told: MarkRecord, in conversation: String
    ) throws(StoreError) {
        let key = Key(conversation: conversation, id: told.user)
        var merged = told
        if let known = try marks[key].or({ () throws(StoreError) in
            try store.mark(of: told.user, in: conversation)
        }) {
            merged = known
            merged.merge(told)
            if merged == known { return }
        }
        touched.insert(conversation)
        marks[key] = merged
        changes.append(.mark(merged, conversation: conversation))
    }

    private func item(_ id: String) throws(StoreError) -> ItemRecord? {
        try items[id].or { () throws(StoreError) in try store.item(id) }
    }

    private func profile(of user: String) throws(StoreError) -> ProfileRecord? {
        try profiles[user].or { () throws(StoreError) in try store.profile(of: user) }
    }

    private mutating func merge(_ told: ItemRecord) throws(StoreError) {
        var merged = told
        if let known = try item(told.id) {
            merged = known
            merged.merge(told)
            if merged == known { return }
        }
        items[told.id] = merged
        changes.append(.item(merged))
    }

    private mutating func merge(_ told: ProfileRecord) throws(StoreError) {
        var merged = told
        if let known = try profile(of: told.user) {
            merged = known
            merged.merge(told)
            if merged == known { return }
        }
        profiles[told.user] = merged
        changes.append(.profile(merged))
    }

    /// Stores everything as one, or nothing.
    consuming func commit() throws(StoreError) {
        try store.commit(changes)
    }
}

extension Optional {
    /// The value, or that of the closure where there is none.
    func or<Failure: Error>(
        _ other: () throws(Failure) -> Wrapped?
    ) throws(Failure) -> Wrapped? {
        if let self { return self }
        return try other()
    }
}
