import CRDT
import Wire

/// A user's change of a message.
///
/// Each action is a type, with its entry in `Message.actions`.
public protocol MessageAction: DocumentAction where Content == Message {
    /// The text that the action brings into the message; nil if none.
    var newText: String? { get }
}

extension MessageAction {
    public var newText: String? { nil }
    public var roughBytes: Int { newText?.utf8.count ?? 0 }
}

/// An action whose only parameter is the text of a message.
public protocol MessageTextAction: MessageAction {
    var text: String { get }

    init(text: String)
}

extension MessageTextAction {
    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        self.init(text: try reader.readText(limit: ChatLimits.textBytesMax))
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(text) }

    public var newText: String? { text }
}

extension Mutation {
    public convenience init(
        _ action: some MessageAction, of message: MessageID, in conversation: ConversationID,
        by user: UserID
    ) {
        self.init(action, at: .message(message, in: conversation), by: user)
    }
}

extension Message {
    static let actions: [any DocumentAction.Type] = [
        SendMessage.self, EditMessage.self, HideMessage.self, RetractMessage.self,
        RestoreMessage.self, PinMessage.self, UnpinMessage.self, SeedMessage.self,
    ]

    /// Whether `edit` is the stamp of one of the message's edits.
    public func has(_ edit: Stamp) -> Bool { versions.contains { $0.stamp == edit } }
}

// MARK: Sending

/// An action that sends a message.
public protocol MessageSending: MessageAction {
    var attachment: Attachment? { get }

    func header(by user: UserID, _ author: Authorship) -> Message.Header
}

extension MessageSending {
    public func judge(
        _ message: Message?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        let conversation = circumstances.conversation
        try conversation.requireParticipant(user, or: .conversationNotFound)
        guard let message else {
            try judgeFiles(by: user, in: circumstances)
            return true
        }
        let isDeleted = conversation.map {
            message.isDeletedForEveryone(among: $0.participants)
        }
        guard message.header.sender == user,
            isDeleted ?? false || haveSameBytes(message.header.text, newText)
        else { throw .messageExists }
        return false
    }

    private func judgeFiles(
        by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) {
        let files = circumstances.files
        guard !files.isEmpty else { return }
        let message = MessageID(checked: circumstances.key.id)
        for file in files { try file.judgeSending(with: message, by: user) }
        if attachment?.preview != nil { try files.last?.judgePreview(by: user) }
    }

    public func applied(
        to message: Message?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Message {
        precondition(message == nil, "judge accepts a message once")
        return Message(header(by: user, author))
    }
}

/// An action that sends a message of a user's.
public struct SendMessage: MessageSending {
    public static let codes: [ActionCode] = [2, 31]

    public let type: MessageType
    public let item: ItemID?
    public let text: String
    public let attachment: Attachment?

    public init(type: MessageType, item: ItemID?, text: String, _ attachment: Attachment? = nil) {
        self.type = type
        self.item = item
        self.text = text
        self.attachment = attachment
    }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        type = try MessageType(from: &reader)
        item = try Optional(from: &reader)
        text = try reader.readText(limit: ChatLimits.textBytesMax)
        attachment = code == 31 ? try Attachment(from: &reader) : nil
    }

    public var code: ActionCode { attachment == nil ? 2 : 31 }

    public func encodeRest(into writer: inout ByteWriter) {
        type.encode(into: &writer)
        item.encode(into: &writer)
        writer.write(text)
        attachment?.encode(into: &writer)
    }

    public var newText: String? { text }
    /// What the system says is taken for true.
    public var isForOperators: Bool { type == .system }

    public func files(besides document: Document?, at key: DocumentKey) -> [FileID] {
        attachment?.files ?? []
    }

    public func changeOfFiles(of message: MessageID) -> (any FileAction)? { AttachFile(message) }

    public func makesName(
        at key: DocumentKey, by user: UserID, where condition: (String) -> Bool
    ) -> Bool {
        condition(key.id)
    }

    public func header(by user: UserID, _ author: Authorship) -> Message.Header {
        Message.Header(
            sent: author.stamp, dot: author.dot, sender: user, type: type, item: item,
            attachment: attachment, text: text)
    }

    public var mayBeMinted: Bool { true }
    public var endsTyping: Bool { true }
}

/// An action that sends a message of the sample data, which notifies nobody.
public struct SeedMessage: MessageSending, MessageTextAction {
    public static let codes: [ActionCode] = [21]

    public let text: String

    public init(text: String) { self.text = text }

    public var attachment: Attachment? { nil }

    public func header(by user: UserID, _ author: Authorship) -> Message.Header {
        Message.Header(
            sent: author.stamp, dot: author.dot, sender: user, type: .text, item: nil,
            isSilent: true, text: text)
    }
}

// MARK: Changes

/// An action that changes a message that was sent.
public protocol MessageChange: MessageAction {
    /// Returns whether the action would change anything; throws where it is refused.
    ///
    /// - Parameter isDeleted: whether the message is deleted for everyone.
    func judge(
        _ message: Message, isDeleted: Bool, by user: UserID, _ judge: Judge
    ) throws(Refusal) -> Bool

    func apply(to message: inout Message, by user: UserID, _ author: Authorship)
}

extension MessageChange {
    public func judge(
        _ message: Message?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        let conversation = circumstances.conversation
        try conversation.requireParticipant(user, or: .messageNotFound)
        guard let message else { throw .messageNotFound }
        let isDeleted = conversation.map {
            message.isDeletedForEveryone(among: $0.participants)
        }
        return try judge(
            message, isDeleted: isDeleted ?? false, by: user, circumstances.judge)
    }

    public func applied(
        to message: Message?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Message {
        guard var message else { preconditionFailure("judge refuses what is not there") }
        apply(to: &message, by: user, author)
        return message
    }
}

/// An action that replaces the text of a message.
public struct EditMessage: MessageChange, MessageTextAction {
    public static let codes: [ActionCode] = [3]

    public let text: String

    public init(text: String) { self.text = text }

    public func judge(
        _ message: Message, isDeleted: Bool, by user: UserID, _ judge: Judge
    ) throws(Refusal) -> Bool {
        guard !isDeleted, message.mayEdit(user, by: judge) else { throw .editForbidden }
        guard !haveSameBytes(message.text, text) else { return false }
        guard message.versions.count < ChatLimits.editsMax else { throw .tooManyEdits }
        return true
    }

    public func apply(to message: inout Message, by user: UserID, _ author: Authorship) {
        message.edit(Message.Version(stamp: author.stamp, text: text))
    }

    /// Returns the stamp of the last edit.
    ///
    /// An edit counts over the first text whatever their times: where two nodes have executed one
    /// sending, the time of the message goes back when the two are merged, and an edit that was
    /// earlier than the message on one of them is not earlier any more.
    public func stampsOverwritten(in content: Message) -> [Stamp?]? {
        #if PlantedBugs
            if PlantedBug.editJudgedBySending.isOn {
                return [content.header.sent, content.versions.last?.stamp]
            }
        #endif
        return [content.versions.last?.stamp]
    }

    public func standing(of operation: Stamp, by user: UserID, in content: Message) -> Standing {
        content.has(operation) ? .done : standingOfWriting(operation, in: content)
    }

    public func isRecorded(
        over content: Message, after time: HybridTimestamp
    ) throws(Refusal) -> Bool {
        guard overwritesOnlyEarly(in: content, time) else { return false }
        if content.versions.count >= ChatLimits.editsMax { throw .tooManyEdits }
        return true
    }

    /// A late edit is one of the message's texts, although not the last one.
    public func isAppliedLate(_ operation: Stamp, to content: Message) -> Bool {
        #if PlantedBugs
            if PlantedBug.editJudgedBySending.isOn {
                return content.header.sent.time < operation.time
            }
        #endif
        return true
    }
}

/// An action that deletes a message for its user.
public struct HideMessage: MessageChange, PlainAction {
    public static let codes: [ActionCode] = [4]

    public init() {}

    /// Also where the message is hidden already: the new tag wins over a restore on its way from
    /// another node, which had seen only the earlier hide.
    public func judge(
        _ message: Message, isDeleted: Bool, by user: UserID, _ judge: Judge
    ) throws(Refusal) -> Bool { true }

    public func apply(to message: inout Message, by user: UserID, _ author: Authorship) {
        message.hide(for: user, by: author.stamp)
    }

    public func standing(of operation: Stamp, by user: UserID, in content: Message) -> Standing {
        content.deletedBy.standing(ofAdding: user, by: operation)
            .unless(operation, precedes: content.deletionTimes.removed(user))
    }

    public func isAppliedLate(_ operation: Stamp, to content: Message) -> Bool { true }

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }
    public var deletes: Bool { true }

    public func changeTime(
        in content: Message, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.deletedBy.contains(user) ? content.deletionChanged(by: user) : operation.time
    }
}

/// An action that deletes a message for everyone.
public struct RetractMessage: MessageChange, PlainAction {
    public static let codes: [ActionCode] = [5]

    public init() {}

    public func files(besides document: Document?, at key: DocumentKey) -> [FileID] {
        document?.message?.files ?? []
    }

    public func changeOfFiles(of message: MessageID) -> (any FileAction)? { DetachFile(message) }

    public func judge(
        _ message: Message, isDeleted: Bool, by user: UserID, _ judge: Judge
    ) throws(Refusal) -> Bool {
        guard message.header.sender == user else { throw .notSender }
        return true
    }

    public func apply(to message: inout Message, by user: UserID, _ author: Authorship) {
        message.hide(for: user, by: author.stamp)
        message.retract(at: author.stamp.time)
    }

    /// Done if the message is deleted for everyone and nothing is left to record of the operation.
    public func standing(of operation: Stamp, by user: UserID, in content: Message) -> Standing {
        guard content.isRetracted, content.header.sender == user else { return .new }
        return content.deletedBy.standing(ofAdding: user, by: operation) == .new ? .new : .done
    }

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }
    public var growth: ActionGrowth { .empties }
    public var deletes: Bool { true }

    public func changeTime(
        in content: Message, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.retractedAt
    }
}

/// An action that shows its user again a message that they deleted for themselves.
public struct RestoreMessage: MessageChange, PlainAction {
    public static let codes: [ActionCode] = [6]

    public init() {}

    /// Also where the message is not hidden: an earlier deletion of the same client may still
    /// arrive.
    public func judge(
        _ message: Message, isDeleted: Bool, by user: UserID, _ judge: Judge
    ) throws(Refusal) -> Bool { true }

    public func apply(to message: inout Message, by user: UserID, _ author: Authorship) {
        message.restore(for: user, by: author)
    }

    public func standing(of operation: Stamp, by user: UserID, in content: Message) -> Standing {
        content.deletedBy.standing(ofRemoving: user, by: operation)
    }

    public func isAppliedLate(_ operation: Stamp, to content: Message) -> Bool { true }

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }
    public var growth: ActionGrowth { .settles }

    public func changeTime(
        in content: Message, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.deletedBy.contains(user) ? operation.time : content.deletionChanged(by: user)
    }
}

/// An action that pins a message for everyone.
public struct PinMessage: MessageChange, PlainAction {
    public static let codes: [ActionCode] = [7]

    public init() {}

    public func judge(
        _ message: Message, isDeleted: Bool, by user: UserID, _ judge: Judge
    ) throws(Refusal) -> Bool {
        guard !isDeleted else { throw .messageDeleted }
        return message.pin?.value.by != user
    }

    public func apply(to message: inout Message, by user: UserID, _ author: Authorship) {
        message.setPin(Pin(user: user, isOn: true), at: author.stamp)
    }

    public func stampsOverwritten(in content: Message) -> [Stamp?]? { [content.pin?.stamp] }

    public func isRecorded(over content: Message, after time: HybridTimestamp) -> Bool {
        overwritesOnlyEarly(in: content, time)
    }

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }
    public var growth: ActionGrowth { .settles }
}

/// An action that takes the pin off a message, whoever pinned it.
public struct UnpinMessage: MessageChange, PlainAction {
    public static let codes: [ActionCode] = [8]

    public init() {}

    public func judge(
        _ message: Message, isDeleted: Bool, by user: UserID, _ judge: Judge
    ) throws(Refusal) -> Bool {
        message.pin?.value.by != nil
    }

    public func apply(to message: inout Message, by user: UserID, _ author: Authorship) {
        message.setPin(Pin(user: user, isOn: false), at: author.stamp)
    }

    public func stampsOverwritten(in content: Message) -> [Stamp?]? { [content.pin?.stamp] }

    public func isRecorded(over content: Message, after time: HybridTimestamp) -> Bool {
        overwritesOnlyEarly(in: content, time)
    }

    public var growth: ActionGrowth { .settles }
}
