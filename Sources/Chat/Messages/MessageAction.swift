import CRDT
import Wire

extension Message {
    /// A user's change of a message.
    public enum Action: Hashable, Sendable {
        case send(type: MessageType, item: ItemID?, text: String, Attachment? = nil)
        /// Sends a message of the sample data, which notifies nobody.
        case seed(text: String)
        case edit(text: String)
        /// Deletes the message for its user.
        case hide
        /// Deletes the message for everyone.
        case retract
        case restore
        case pin
        case unpin
    }
}

extension Message.Action {
    /// Returns whether the action would change anything; throws where it is refused.
    func judge(
        _ message: Message?, in conversation: Conversation?, by user: UserID, _ judge: Judge,
        sending files: [File?] = [], as id: MessageID
    ) throws(Refusal) -> Bool {
        let missing: Refusal = sentText == nil ? .messageNotFound : .conversationNotFound
        try conversation.requireParticipant(user, or: missing)
        var isDeleted = false
        if let message, let participants = conversation?.participants {
            isDeleted = message.isDeletedForEveryone(among: participants)
        }
        if let text = sentText {
            guard let header = message?.header else {
                for file in files { try file.judgeSending(with: id, by: user) }
                if attachment?.preview != nil { try files.last?.judgePreview(by: user) }
                return true
            }
            guard header.sender == user, isDeleted || haveSameBytes(header.text, text) else {
                throw .messageExists
            }
            return false
        }
        guard let message else { throw .messageNotFound }
        switch self {
        case .edit(let text):
            guard !isDeleted, message.mayEdit(user, by: judge) else { throw .editForbidden }
            guard !haveSameBytes(message.text, text) else { return false }
            guard message.versions.count < ChatLimits.editsMax else { throw .tooManyEdits }
            return true
        case .retract:
            guard message.header.sender == user else { throw .notSender }
            return true
        case .pin:
            guard !isDeleted else { throw .messageDeleted }
            return message.pin?.value.by != user
        case .unpin:
            return message.pin?.value.by != nil
        case .hide:
            // Also where the message is hidden already: the new tag wins over a restore on its way
            // from another node, which had seen only the earlier hide.
            return true
        case .restore:
            // Also where the message is not hidden: an earlier deletion of the same client may
            // still arrive.
            return true
        case .send, .seed:
            return true
        }
    }

    /// The text of a message that the action sends; nil if it changes one.
    private var sentText: String? {
        switch self {
        case .send(_, _, let text, _), .seed(let text): text
        default: nil
        }
    }

    var attachment: Attachment? {
        guard case .send(_, _, _, let attachment) = self else { return nil }
        return attachment
    }

    func applied(to message: Message?, by user: UserID, _ author: Authorship) -> Message {
        guard var message else { return sent(by: user, author) }
        switch self {
        case .edit(let text): message.edit(Message.Version(stamp: author.stamp, text: text))
        case .hide: message.hide(for: user, by: author.stamp)
        case .retract:
            message.hide(for: user, by: author.stamp)
            message.retract(at: author.stamp.time)
        case .restore: message.restore(for: user, by: author)
        case .pin: message.setPin(Pin(user: user, isOn: true), at: author.stamp)
        case .unpin: message.setPin(Pin(user: user, isOn: false), at: author.stamp)
        case .send, .seed: preconditionFailure("judge accepts a message once")
        }
        return message
    }

    private func sent(by user: UserID, _ author: Authorship) -> Message {
        let header =
            switch self {
            case .send(let type, let item, let text, let attachment):
                Message.Header(
                    sent: author.stamp, dot: author.dot, sender: user, type: type, item: item,
                    attachment: attachment, text: text)
            case .seed(let text):
                Message.Header(
                    sent: author.stamp, dot: author.dot, sender: user, type: .text, item: nil,
                    isSilent: true, text: text)
            default: preconditionFailure("judge refuses what is not there")
            }
        return Message(header)
    }
}

extension Message.Action: DocumentAction {
    public func stampsOverwritten(in content: Message) -> [Stamp?]? {
        switch self {
        case .edit: [content.header.sent, content.versions.last?.stamp]
        case .pin, .unpin: [content.pin?.stamp]
        default: nil
        }
    }

    public func standing(of operation: Stamp, by user: UserID, in content: Message) -> Standing {
        switch self {
        case .edit where content.has(operation): return .done
        case .hide: return content.deletedBy.standing(ofAdding: user, by: operation)
        case .restore: return content.deletedBy.standing(ofRemoving: user, by: operation)
        default: return standingOfWriting(operation, in: content)
        }
    }

    public func isRecorded(
        over content: Message, after time: HybridTimestamp
    ) throws(Refusal) -> Bool {
        guard stampsOverwritten(in: content) != nil, overwritesOnlyEarly(in: content, time) else {
            return false
        }
        if case .edit = self, content.versions.count >= ChatLimits.editsMax { throw .tooManyEdits }
        return true
    }

    public func nameBytes(by user: UserID) -> Int {
        switch self {
        case .hide, .retract, .restore, .pin: user.text.utf8.count
        case .send, .seed, .edit, .unpin: nameBytesMax
        }
    }

    public var growth: ActionGrowth {
        switch self {
        case .retract: .empties
        case .restore, .pin, .unpin: .settles
        case .send, .seed, .edit, .hide: .adds
        }
    }

    public var roughBytes: Int {
        if case .edit(let text) = self { return text.utf8.count }
        return sentText?.utf8.count ?? 0
    }

    public var deletes: Bool { self == .hide || self == .retract }

    public var mayBeMinted: Bool { isSending }

    public var endsTyping: Bool { isSending }

    private var isSending: Bool {
        if case .send = self { return true }
        return false
    }

    public var kind: UInt8 {
        switch self {
        case .send(_, _, _, nil): 2
        case .send: 31
        case .edit: 3
        case .hide: 4
        case .retract: 5
        case .restore: 6
        case .pin: 7
        case .unpin: 8
        case .seed: 21
        }
    }

    public func encodeRest(into writer: inout ByteWriter) {
        switch self {
        case .send(let type, let item, let text, let attachment):
            type.encode(into: &writer)
            item.encode(into: &writer)
            writer.write(text)
            attachment?.encode(into: &writer)
        case .seed(let text), .edit(let text): writer.write(text)
        case .hide, .retract, .restore, .pin, .unpin: break
        }
    }

    init?(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        switch kind {
        case 2:
            self = .send(
                type: try MessageType(from: &reader), item: try Optional(from: &reader),
                text: try reader.readText(limit: ChatLimits.textBytesMax))
        case 31:
            self = .send(
                type: try MessageType(from: &reader), item: try Optional(from: &reader),
                text: try reader.readText(limit: ChatLimits.textBytesMax),
                try Attachment(from: &reader))
        case 3: self = .edit(text: try reader.readText(limit: ChatLimits.textBytesMax))
        case 4: self = .hide
        case 5: self = .retract
        case 6: self = .restore
        case 7: self = .pin
        case 8: self = .unpin
        case 21: self = .seed(text: try reader.readText(limit: ChatLimits.textBytesMax))
        default: return nil
        }
    }

    /// The kinds of these actions; the message follows them.
    static let kinds: Set<UInt8> = [2, 3, 4, 5, 6, 7, 8, 21, 31]
}

extension Message {
    /// Whether `edit` is the stamp of one of the message's edits.
    public func has(_ edit: Stamp) -> Bool { versions.contains { $0.stamp == edit } }
}
