/// The members of an event or of an object in an answer that the client reads, with exact times.
///
/// The fields have the names of the protocol, so that `JSONDecoder` reads them as they are. An
/// unknown member is ignored, and a missing one is nil.
struct Fields: Decodable, Sendable {
    var kind: String?
    var conversation: String?
    var by: String?
    var at: ExactTime?
    var token: String?
    var `for`: String?
    var on: Bool?
    var deleted: Bool?
    var user: String?
    var change: String?
    var id: String?
    var sent: ExactTime?
    var from: String?
    var type: String?
    var text: String?
    var item: String?
    var blob: String?
    var preview: String?
    var edited: ExactTime?
    var pinnedBy: String?
    var pinnedAt: ExactTime?
    var unpinnedAt: ExactTime?
    var hiddenAt: ExactTime?
    var restoredAt: ExactTime?
    var deletedAt: ExactTime?
    var hidden: Bool?
    var title: String?
    var titleChanged: ExactTime?
    var due: String?
    var dueChanged: ExactTime?
    var priority: String?
    var priorityChanged: ExactTime?
    var done: Bool?
    var doneChanged: ExactTime?
    var chat: String?
    var message: String?
    var name: String?
    var nameChanged: ExactTime?
    var email: String?
    var emailChanged: ExactTime?
    var photo: String?
    var photoChanged: ExactTime?
    var createdAt: ExactTime?
    var createdBy: String?
    var participants: [String]?
    var participantCount: Int?
    var last: String?
    var lastFrom: String?
    var lastAt: ExactTime?
    var lastText: String?
    var unread: Int?
    var archivedAt: ExactTime?
    var unarchivedAt: ExactTime?
    var read: String?
    var readAt: ExactTime?
    var readSent: ExactTime?
    var delivered: String?
    var deliveredAt: ExactTime?
    var deliveredSent: ExactTime?
}

extension Fields {
    /// Returns what an event tells of the user's conversations, items and profiles: nil if it tells
    /// nothing of them, or lacks what it should have.
    ///
    /// - Parameter me: the user whose event stream it is.
    func update(for me: String) -> Update? {
        switch kind {
        case "action": return itemRecord.map(Update.item)
        case "profile": return profileRecord.map(Update.profile)
        default: break
        }
        guard let conversation else { return nil }
        switch kind {
        case "archive", "unarchive":
            let flag: Flag = kind == "archive" ? .yes : .no
            return .archived(Register(flag, at: at), conversation: conversation)
        case "hide":
            return at.map { clearing($0, hasLeft: false, conversation) }
        case "member":
            guard change == "left", user == me else {
                return .membership(conversation: conversation)
            }
            return at.map { clearing($0, hasLeft: true, conversation) }
        case "read", "delivered":
            return eventMark.map { .mark($0, conversation: conversation) }
        default:
            return eventMessage.map { .message($0, conversation: conversation) }
        }
    }

    private func clearing(_ time: ExactTime, hasLeft: Bool, _ conversation: String) -> Update {
        .cleared(
            time, through: hasLeft ? time : nil, hasLeft: hasLeft, conversation: conversation)
    }

    /// The mark of an event.
    private var eventMark: MarkRecord? {
        guard let by, let id, let sent else { return nil }
        let position = MarkRecord.Position(message: id, sent: sent, at: at)
        return kind == "read"
            ? MarkRecord(user: by, read: position) : MarkRecord(user: by, delivered: position)
    }

    /// What an event tells of a message.
    private var eventMessage: MessageRecord? {
        guard let id else { return nil }
        var part = MessageRecord(id: id, sent: sent)
        switch kind {
        case "message": return messageRecord
        case "edit":
            guard var whole = messageRecord else { return nil }
            whole.text = Register(text ?? "", at: edited ?? at)
            return whole
        case "restore":
            guard var whole = messageRecord else { return nil }
            whole.hidden = Register(.no, at: at)
            return whole
        case "delete" where self.for == "me": part.hidden = Register(.yes, at: at)
        case "delete":
            // Only its sender deletes a message for everyone.
            part.content = by.map { MessageRecord.Content(sender: $0) }
            part.delete(at: at)
        case "pin": part.pin = Register(Maybe(by), at: at)
        case "unpin": part.pin = Register(Maybe(), at: at)
        default: return nil
        }
        return part
    }

    /// The message of an answer, or of an event with the whole message.
    var messageRecord: MessageRecord? {
        guard let id, let from, let sent = sent ?? at else { return nil }
        var record = MessageRecord(id: id, sent: sent)
        record.content = MessageRecord.Content(
            sender: from, kind: MessageType(rawValue: type ?? "text"), item: item, blob: blob,
            preview: preview)
        record.text = Register(text ?? "", at: edited ?? .zero)
        record.pin.merge(Register(Maybe(pinnedBy), at: pinnedAt))
        record.pin.merge(Register(Maybe(), at: unpinnedAt))
        record.hidden.merge(Register(.yes, at: hiddenAt))
        record.hidden.merge(Register(.no, at: restoredAt))
        record.delete(at: deletedAt)
        return record
    }

    /// The mark of an answer.
    var markRecord: MarkRecord? {
        guard let user else { return nil }
        func position(_ message: String?, _ sent: ExactTime?, _ at: ExactTime?)
            -> MarkRecord.Position?
        {
            guard let message, let sent else { return nil }
            return MarkRecord.Position(message: message, sent: sent, at: at)
        }
        return MarkRecord(
            user: user, read: position(read, readSent, readAt),
            delivered: position(delivered, deliveredSent, deliveredAt))
    }

    var itemRecord: ItemRecord? {
        guard let id else { return nil }
        var record = ItemRecord(id: id)
        record.title = Register(title ?? "", at: titleChanged)
        record.due = Register(Maybe(due), at: dueChanged)
        record.priority = Register(Maybe(priority), at: priorityChanged)
        record.done = Register(done == true ? .yes : .no, at: doneChanged)
        record.chat = chat
        record.message = message
        if deleted == true { record.delete() }
        return record
    }

    var profileRecord: ProfileRecord? {
        guard let user else { return nil }
        var record = ProfileRecord(user: user)
        record.name = Register(Maybe(name), at: nameChanged)
        record.email = Register(Maybe(email), at: emailChanged)
        record.photo = Register(Maybe(photo), at: photoChanged)
        record.created = createdAt
        return record
    }

    /// The row of a list of chats; nil if the list does not show the conversation.
    var row: ConversationRecord.Row? {
        guard let createdAt, hidden != true else { return nil }
        return ConversationRecord.Row(
            title: title, participants: participants ?? [], participantCount: participantCount,
            createdBy: createdBy, created: createdAt, last: last, lastFrom: lastFrom,
            lastSent: lastAt, lastText: lastText, unread: unread ?? 0)
    }
}
