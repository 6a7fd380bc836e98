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

    /// Notes that the view of a conversation may have changed.
    mutating func touch(_ id: String) {
        touched.insert(id)
    }

    /// Merges the consequence of an operation that a node has accepted.
    ///
    /// A hiding of which an event has told clears nothing that was read since.
    ///
    /// - Parameters:
    ///   - epoch: the epoch of the conversation in which the user acted.
    ///   - token: the token of the node's answer.
    /// - Returns: what is to be read again.
    mutating func accept(
        _ consequence: Update, of epoch: Int? = nil, token: String? = nil
    ) throws(StoreError) -> [Reads.Target] {
        if case .cleared(let time, let through, _, let id) = consequence,
            let known = try conversation(id).cleared, known >= time
        {
            try removeMessages(of: id, through: through ?? .zero)
            return [.history(id)]
        }
        // A message from before the user's last hiding is shown only if a node shows it.
        if case .message(let record, let id) = consequence,
            try conversation(id).isCleared(record.sent)
        {
            return [.history(id)]
        }
        if case .message(let record, let id) = consequence {
            _ = try merge(record, in: id, epoch: epoch)
            return try note(token: token, of: record.id, in: id) ? [.history(id)] : []
        }
        try merge(consequence)
        switch consequence {
        case .created(_, let id), .cleared(_, _, hasLeft: true, let id):
            return try note(token: token, in: id)
        default: return []
        }
    }

    /// Notes the token of an accepted creation or leaving, without which a node may answer as if
    /// nothing had happened.
    private mutating func note(
        token: String?, in id: String
    ) throws(StoreError) -> [Reads.Target] {
        var record = try conversation(id)
        record.written = token
        set(record)
        return [.row(id)]
    }

    /// Notes the token of an accepted operation on a message, until an event tells of the message.
    ///
    /// - Returns: whether the message may be gone, so that the messages are to be read again.
    private mutating func note(
        token: String?, of message: String, in id: String
    ) throws(StoreError) -> Bool {
        let conversation = try conversation(id)
        guard var record = try self.message(message, in: id), record.content != nil else {
            return false
        }
        record.written = token
        put(record, in: id)
        return record.epoch < conversation.epoch && conversation.completeFrom != nil
    }

    /// Whether nodes have told of a consequence, or of something later that has overtaken it: then
    /// an operation that no node executes any more is over.
    mutating func includes(_ consequence: Update) throws(StoreError) -> Bool {
        switch consequence {
        case .message(let record, let conversation):
            return try message(record.id, in: conversation)?.includes(record) ?? false
        case .archived(let flag, let id): return try conversation(id).archived.includes(flag)
        case .cleared(let time, _, _, let id):
            return try conversation(id).cleared.map { $0 >= time } ?? false
        case .item(let record): return try item(record.id)?.includes(record) ?? false
        case .profile(let record): return try profile(of: record.user)?.includes(record) ?? false
        case .created(_, let id): return try conversation(id).row != nil
        case .mark, .membership: return false
        }
    }

    /// Removes the messages up to a time of sending, but for deletions.
    private mutating func removeMessages(
        of id: String, through time: ExactTime
    ) throws(StoreError) {
        let before = try known(in: id, store.messages(in: id, through: time))
        let gone = before.filter { $0.sent.map { $0 <= time } ?? false }
        messages = messages.filter { key, record in
            key.conversation != id || record.sent.map { $0 > time } ?? true
        }
        cleared[id] = max(cleared[id] ?? .zero, time)
        touched.insert(id)
        changes.append(.deleteMessages(conversation: id, through: time))
        for deletion in gone.compactMap(\.deletion) { put(deletion, in: id) }
    }

    /// Merges the messages of an answer that has all messages of the user from a time on, or all
    /// before another: known ones that it lacks, and that were last told in an earlier epoch, are
    /// gone.
    ///
    /// - Parameters:
    ///   - isSure: whether the answer includes all that events have told; if not, its messages are
    ///     merged as those of an earlier epoch, and none is removed.
    ///   - first: the time of its first message, or zero if there are none before.
    ///   - end: the time before which it has all messages; nil if there is no such end.
    ///   - kept: the ids of messages that are not removed.
    /// - Returns: the ids of own messages that the answer may lack because its node does.
    mutating func merge(
        answer: [MessageRecord], in id: String, isSure: Bool, from first: ExactTime,
        to end: ExactTime? = nil, keeping kept: Set<String> = []
    ) throws(StoreError) -> [String] {
        let conversation = try merge(told: answer, in: id, isSure: isSure)
        guard isSure else { return [] }
        var doubtful: [String] = []
        for record in try known(in: id, store.messages(in: id, from: first))
        where record.epoch < conversation.epoch && isGone(record, unless: kept) {
            let sent = record.sent ?? .zero
            guard sent >= first, end.map({ sent < $0 }) ?? true else { continue }
            if record.written != nil, !conversation.isCleared(sent) {
                doubtful.append(record.id)
            } else {
                remove(record, in: id)
            }
        }
        return doubtful
    }

    /// Notes that the cluster does not know the token of an accepted operation on a message.
    mutating func forgetWritten(_ message: String, in id: String) throws(StoreError) {
        guard var record = try self.message(message, in: id) else { return }
        record.written = nil
        put(record, in: id)
    }

    /// Removes a conversation that nodes do not show to the user, but for deletions.
    mutating func remove(conversation id: String) throws(StoreError) {
        var record = try conversation(id)
        record.row = nil
        record.isStale = false
        record.completeFrom = nil
        set(record)
        try removeMessages(of: id, through: .distantFuture)
    }

    /// Removes an own message that a node which has it does not show.
    mutating func remove(_ message: String, in id: String) throws(StoreError) {
        guard let record = try self.message(message, in: id) else { return }
        remove(record, in: id)
    }

    /// Merges the list of all pinned messages: known ones that it lacks, and that were last told in
    /// an earlier epoch, are gone.
    mutating func merge(
        pins: [MessageRecord], in id: String, isSure: Bool, keeping kept: Set<String> = []
    ) throws(StoreError) {
        let conversation = try merge(told: pins, in: id, isSure: isSure)
        guard isSure else { return }
        for record in try known(in: id, store.pins(in: id))
        where record.epoch < conversation.epoch && isGone(record, unless: kept) {
            if record.pinnedBy != nil, record.written == nil { remove(record, in: id) }
        }
    }

    /// Merges the messages of an answer.
    ///
    /// One that may be older than the user's last hiding or leaving does not bring back what is
    /// hidden.
    private mutating func merge(
        told answer: [MessageRecord], in id: String, isSure: Bool
    ) throws(StoreError) -> ConversationRecord {
        let conversation = try conversation(id)
        for record in answer where isSure || !conversation.isCleared(record.sent) {
            _ = try merge(record, in: id, epoch: conversation.epoch - (isSure ? 0 : 1))
        }
        return conversation
    }

    /// Whether a message that an answer lacks is gone.
    ///
    /// An answer never has what the user has deleted.
    private func isGone(_ record: MessageRecord, unless kept: Set<String>) -> Bool {
        record.content != nil && !record.isHidden(for: user) && !kept.contains(record.id)
    }

    /// Removes a message, but for its deletion.
    private mutating func remove(_ record: MessageRecord, in id: String) {
        touched.insert(id)
        let left = record.deletion ?? MessageRecord(id: record.id, sent: record.sent)
        put(left, in: id)
        guard record.deletion == nil else { return }
        changes.append(.deleteMessage(id: record.id, conversation: id))
    }

    private mutating func put(_ record: MessageRecord, in id: String) {
        messages[Key(conversation: id, id: record.id)] = record
        changes.append(.message(record, conversation: id))
    }

    /// Returns stored messages of a conversation as this turn has changed them, and those that are
    /// new in it.
    private func known(in id: String, _ stored: [MessageRecord]) -> [MessageRecord] {
        let changed = messages.filter { $0.key.conversation == id }.map(\.value)
        let time = cleared[id] ?? .zero
        let kept = stored.filter { record in
            messages[Key(conversation: id, id: record.id)] == nil
                && record.sent.map { $0 > time } ?? true
        }
        return kept + changed
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
        case .cleared(let time, let through, let hasLeft, let id):
            var record = try conversation(id)
            let isLoaded = record.completeFrom != nil
            let epoch = record.epoch
            guard record.clear(at: time, hasLeft: hasLeft) else { return false }
            set(record)
            // It says nothing of the messages that were sent after it.
            for var later in try known(in: id, store.messages(in: id, from: time.next))
            where later.epoch == epoch && later.sent.map({ $0 > time }) ?? false {
                later.epoch = record.epoch
                put(later, in: id)
            }
            // What the node that hid the conversation may have lacked stays in view until an answer
            // tells.
            try removeMessages(of: id, through: hasLeft || !isLoaded ? time : through ?? .zero)
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
        _ told: MessageRecord, in conversation: String, epoch: Int? = nil
    ) throws(StoreError) -> Bool {
        var told = told
        let present = try self.conversation(conversation).epoch
        told.epoch = epoch ?? present
        let known = try message(told.id, in: conversation)
        var merged = known ?? told
        merged.merge(told)
        if epoch == nil { merged.written = nil }
        touched.insert(conversation)
        guard merged != known else { return false }
        put(merged, in: conversation)
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

    /// Returns the mark of a user.
    func mark(of user: String, in conversation: String) throws(StoreError) -> MarkRecord? {
        try marks[Key(conversation: conversation, id: user)].or { () throws(StoreError) in
            try store.mark(of: user, in: conversation)
        }
    }

    private mutating func merge(
        _ told: MarkRecord, in conversation: String
    ) throws(StoreError) {
        let key = Key(conversation: conversation, id: told.user)
        var merged = told
        if let known = try mark(of: told.user, in: conversation) {
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
    ///
    /// - Parameter more: returns what follows from the changes, which the store shows already.
    consuming func commit(
        _ more: () throws(StoreError) -> [StoreChange] = { [] }
    ) throws(StoreError) {
        try store.commit(changes, more)
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
