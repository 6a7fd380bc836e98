extension Action {
    /// Returns what the action changes: it is laid over the view while the action waits, and merged
    /// into the confirmed state when a node has accepted it.
    ///
    /// - Parameters:
    ///   - time: the action's time at nodes.
    ///   - user: the user whose action it is.
    func consequence(at time: ExactTime, user: String) -> Update {
        switch self {
        case .create(let conversation, let title, _):
            let row = ConversationRecord.Row(
                title: title.isEmpty ? nil : title, participants: [user], createdBy: user,
                created: time, unread: 0)
            return .created(row, conversation: conversation)
        case .archive(let conversation):
            return .archived(Register(.yes, at: time), conversation: conversation)
        case .unarchive(let conversation):
            return .archived(Register(.no, at: time), conversation: conversation)
        case .hide(let conversation, let through):
            return .cleared(
                time, through: through, hasLeft: false, conversation: conversation)
        case .leave(let conversation):
            return .cleared(time, through: time, hasLeft: true, conversation: conversation)
        case .send, .edit, .delete, .deleteForEveryone, .restore, .pin, .unpin:
            let record = messageConsequence(at: time, user: user)
            return .message(record, conversation: conversation ?? "")
        case .addItem, .editItem, .completeItem, .deleteItem:
            return .item(itemConsequence(at: time))
        case .setProfile(let name, let photo):
            var record = ProfileRecord(user: user)
            if let name { record.name = Register(Maybe(name.isEmpty ? nil : name), at: time) }
            if let photo { record.photo = Register(Maybe(photo.isEmpty ? nil : photo), at: time) }
            return .profile(record)
        }
    }

    private func messageConsequence(at time: ExactTime, user: String) -> MessageRecord {
        var record = MessageRecord(id: message ?? "")
        switch self {
        case .send(_, _, let draft):
            record.sent = time
            record.content = MessageRecord.Content(
                sender: user, kind: draft.kind, blob: draft.blob, preview: draft.preview)
            record.text = Register(draft.text, at: .zero)
        case .edit(_, _, let text): record.text = Register(text, at: time)
        case .delete: record.hidden = Register(.yes, at: time)
        case .restore: record.hidden = Register(.no, at: time)
        case .pin: record.pin = Register(Maybe(user), at: time)
        case .unpin: record.pin = Register(Maybe(), at: time)
        case .deleteForEveryone:
            record.content = MessageRecord.Content(sender: user)
            record.delete(at: time)
        default: break
        }
        return record
    }

    private func itemConsequence(at time: ExactTime) -> ItemRecord {
        switch self {
        case .addItem(let draft):
            var record = ItemRecord(id: draft.id)
            record.title = Register(draft.title, at: time)
            record.due = Register(Maybe(draft.due), at: time)
            record.priority = Register(Maybe(draft.priority), at: time)
            record.done = Register(.no, at: time)
            record.chat = draft.chat
            record.message = draft.message
            return record
        case .editItem(let item, let changes):
            var record = ItemRecord(id: item)
            if let title = changes.title { record.title = Register(title, at: time) }
            if let due = changes.due { record.due = Register(due, at: time) }
            if let priority = changes.priority { record.priority = Register(priority, at: time) }
            return record
        case .completeItem(let item, let isDone):
            var record = ItemRecord(id: item)
            record.done = Register(isDone ? .yes : .no, at: time)
            return record
        case .deleteItem(let item):
            var record = ItemRecord(id: item)
            record.delete()
            return record
        default: return ItemRecord(id: "")
        }
    }
}
