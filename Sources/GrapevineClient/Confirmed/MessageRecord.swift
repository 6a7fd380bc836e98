/// What nodes have told of a message, and what accepted operations of the user have changed in it:
/// each value with the time of its last change.
///
/// Two records of a message are joined in any order, and twice, with the same result.
struct MessageRecord: Equatable, Codable, Sendable {
    /// What is set with the message, and never changes.
    struct Content: Equatable, Codable, Sendable {
        var sender: String
        var kind: MessageType = .text
        var item: String?
        var blob: String?
        var preview: String?
    }

    let id: String
    /// The time at which the message was accepted, its place; nil if it is not known.
    var sent: ExactTime?
    /// Nil for a message of which only a part is known, such as its pin.
    var content: Content?
    /// The text; the time of a text that was never edited is zero, so that an edit counts over it
    /// also where the message seems to have been sent later than that.
    var text = Register("")
    /// The user who has pinned the message.
    var pin = Register(Maybe())
    /// Whether the user has deleted the message for themselves.
    var hidden = Register(Flag.no)
    /// The time of the deletion for everyone, which holds against all else.
    private(set) var deleted: ExactTime?
    /// The epoch of the conversation in which the message was last told: if it is an earlier one
    /// than the present, the message may be hidden or deleted without an event that tells of it.
    var epoch = 0
    /// The token of the answer that has accepted an operation of the user's, until an event tells
    /// of the message: an answer without the token may lack the message.
    var written: String?

    init(id: String, sent: ExactTime? = nil, content: Content? = nil) {
        self.id = id
        self.sent = sent
        self.content = content
    }

    /// Deletes the message for everyone: of text and files nothing is kept.
    mutating func delete(at time: ExactTime?) {
        deleted = later(deleted, time)
        guard deleted != nil else { return }
        content = content.map { Content(sender: $0.sender) }
        text = Register("")
        pin = Register(Maybe())
    }

    /// What is known of the deletion of the message; nil if it was not deleted.
    ///
    /// It is kept when the user hides the conversation: an answer of a node that has not received
    /// the deletion yet does not bring the message back.
    var deletion: MessageRecord? {
        guard deleted != nil || hidden.time != nil else { return nil }
        var part = MessageRecord(id: id, sent: sent)
        part.hidden = hidden
        part.delete(at: deleted)
        return part
    }

    mutating func merge(_ other: MessageRecord) {
        // A part, such as a pin, does not tell that the user sees the message.
        let (isPart, isPartToo) = (content == nil, other.content == nil)
        epoch = isPart == isPartToo ? max(epoch, other.epoch) : isPart ? other.epoch : epoch
        // Where two nodes have accepted one message, the earlier acceptance is its place.
        if let theirs = other.sent { sent = min(sent ?? theirs, theirs) }
        if content == nil { content = other.content }
        text.merge(other.text)
        pin.merge(other.pin)
        hidden.merge(other.hidden)
        delete(at: later(deleted, other.deleted))
    }
}

extension MessageRecord {
    /// The user who has pinned the message.
    var pinnedBy: String? { pin.value.text }

    /// Whether nodes have told, of each value of the other record, a change at its time or later.
    ///
    /// An operation with these values was executed then, or something later has overtaken it.
    func includes(_ other: MessageRecord) -> Bool {
        // A user can still hide what is left of a message that is deleted for everyone.
        guard deleted == nil else { return hidden.includes(other.hidden) }
        return other.deleted == nil && text.includes(other.text) && pin.includes(other.pin)
            && hidden.includes(other.hidden)
    }

    /// The time of the last change of any value.
    var lastChange: ExactTime {
        [sent, text.time, pin.time, hidden.time].compactMap { $0 }.max() ?? .zero
    }

    /// The time of the last change of the text; nil if it was never changed.
    var editedAt: ExactTime? {
        text.time.flatMap { $0 > .zero ? $0 : nil }
    }

    /// Whether a user sees the message, and it was not deleted for everyone.
    func isListed(to user: String) -> Bool {
        content != nil && sent != nil && deleted == nil && !isHidden(for: user)
    }

    /// Whether a user sees nothing of the message: because the user has deleted it, or has sent it
    /// and deleted it for everyone.
    func isHidden(for user: String) -> Bool {
        hidden.value.isSet || (deleted != nil && content?.sender == user)
    }
}
