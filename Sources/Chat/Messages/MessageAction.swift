import CRDT
import Wire

/// A user's change of a message.
///
/// Each action is a type, with its entry in `Message.actions`.
public protocol MessageAction: DocumentAction where Content == Message {
    /// The numbers of the action on the wire: one, or one for each form.
    static var kinds: [UInt8] { get }

    /// Reads what follows the kind.
    init(kind: UInt8, from reader: inout ByteReader) throws(WireError)

    /// The text that the action brings into the message; nil if none.
    var newText: String? { get }
    /// Whether only nodes and operators may do it, whoever the user is.
    var isForOperators: Bool { get }

    /// Returns the files of the message that the action concerns.
    ///
    /// - Parameter message: the message as it is; nil where it is sent.
    func files(of message: Message?) -> [FileID]

    /// Returns the change of the files that comes with the action, in one commit; nil for none.
    func changeOfFiles(of message: MessageID) -> File.Action?

    /// Returns whether the action would change anything; throws where it is refused.
    ///
    /// - Parameter files: those that a message is sent with, nil for those that are not there.
    func judge(
        _ message: Message?, in conversation: Conversation?, by user: UserID, _ judge: Judge,
        sending files: [File?], as id: MessageID
    ) throws(Refusal) -> Bool

    func applied(to message: Message?, by user: UserID, _ author: Authorship) -> Message
}

extension MessageAction {
    public var kind: UInt8 { Self.kinds[0] }
    public var newText: String? { nil }
    public var isForOperators: Bool { false }
    public func files(of message: Message?) -> [FileID] { [] }
    public func changeOfFiles(of message: MessageID) -> File.Action? { nil }
    public var roughBytes: Int { newText?.utf8.count ?? 0 }
}

extension Message {
    private static let actions: [any MessageAction.Type] = [
        SendMessage.self, EditMessage.self, HideMessage.self, RetractMessage.self,
        RestoreMessage.self, PinMessage.self, UnpinMessage.self, SeedMessage.self,
    ]

    /// The kinds of these actions; the message follows them.
    static let actionKinds = Set(actions.flatMap { $0.kinds })

    /// Reads the action of a kind.
    static func action(
        kind: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> any MessageAction {
        for type in actions where type.kinds.contains(kind) {
            return try type.init(kind: kind, from: &reader)
        }
        throw .unknown
    }

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
        _ message: Message?, in conversation: Conversation?, by user: UserID, _ judge: Judge,
        sending files: [File?], as id: MessageID
    ) throws(Refusal) -> Bool {
        try conversation.requireParticipant(user, or: .conversationNotFound)
        guard let message else {
            for file in files { try file.judgeSending(with: id, by: user) }
            if attachment?.preview != nil { try files.last?.judgePreview(by: user) }
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

    public func applied(to message: Message?, by user: UserID, _ author: Authorship) -> Message {
        precondition(message == nil, "judge accepts a message once")
        return Message(header(by: user, author))
    }
}

/// An action that sends a message of a user's.
public struct SendMessage: MessageSending {
    public static let kinds: [UInt8] = [2, 31]

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

    public init(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        type = try MessageType(from: &reader)
        item = try Optional(from: &reader)
        text = try reader.readText(limit: ChatLimits.textBytesMax)
        attachment = kind == 31 ? try Attachment(from: &reader) : nil
    }

    public var kind: UInt8 { attachment == nil ? 2 : 31 }

    public func encodeRest(into writer: inout ByteWriter) {
        type.encode(into: &writer)
        item.encode(into: &writer)
        writer.write(text)
        attachment?.encode(into: &writer)
    }

    public var newText: String? { text }
    /// What the system says is taken for true.
    public var isForOperators: Bool { type == .system }
    public func files(of message: Message?) -> [FileID] { attachment?.files ?? [] }
    public func changeOfFiles(of message: MessageID) -> File.Action? { .attach(message) }

    public func header(by user: UserID, _ author: Authorship) -> Message.Header {
        Message.Header(
            sent: author.stamp, dot: author.dot, sender: user, type: type, item: item,
            attachment: attachment, text: text)
    }

    public var mayBeMinted: Bool { true }
    public var endsTyping: Bool { true }
}

/// An action that sends a message of the sample data, which notifies nobody.
public struct SeedMessage: MessageSending {
    public static let kinds: [UInt8] = [21]

    public let text: String

    public init(text: String) { self.text = text }

    public init(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        text = try reader.readText(limit: ChatLimits.textBytesMax)
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(text) }

    public var newText: String? { text }

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
        _ message: Message?, in conversation: Conversation?, by user: UserID, _ judge: Judge,
        sending files: [File?], as id: MessageID
    ) throws(Refusal) -> Bool {
        try conversation.requireParticipant(user, or: .messageNotFound)
        guard let message else { throw .messageNotFound }
        let isDeleted = conversation.map {
            message.isDeletedForEveryone(among: $0.participants)
        }
        return try self.judge(message, isDeleted: isDeleted ?? false, by: user, judge)
    }

    public func applied(to message: Message?, by user: UserID, _ author: Authorship) -> Message {
        guard var message else { preconditionFailure("judge refuses what is not there") }
        apply(to: &message, by: user, author)
        return message
    }
}

/// An action that replaces the text of a message.
public struct EditMessage: MessageChange {
    public static let kinds: [UInt8] = [3]

    public let text: String

    public init(text: String) { self.text = text }

    public init(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        text = try reader.readText(limit: ChatLimits.textBytesMax)
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(text) }

    public var newText: String? { text }

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

    public func stampsOverwritten(in content: Message) -> [Stamp?]? {
        [content.header.sent, content.versions.last?.stamp]
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
}

/// An action that deletes a message for its user.
public struct HideMessage: MessageChange {
    public static let kinds: [UInt8] = [4]

    public init() {}

    public init(kind: UInt8, from reader: inout ByteReader) throws(WireError) {}

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
    }

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }
    public var deletes: Bool { true }
}

/// An action that deletes a message for everyone.
public struct RetractMessage: MessageChange {
    public static let kinds: [UInt8] = [5]

    public init() {}

    public init(kind: UInt8, from reader: inout ByteReader) throws(WireError) {}

    public func files(of message: Message?) -> [FileID] { message?.files ?? [] }
    public func changeOfFiles(of message: MessageID) -> File.Action? { .detach(message) }

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

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }
    public var growth: ActionGrowth { .empties }
    public var deletes: Bool { true }
}

/// An action that shows its user again a message that they deleted for themselves.
public struct RestoreMessage: MessageChange {
    public static let kinds: [UInt8] = [6]

    public init() {}

    public init(kind: UInt8, from reader: inout ByteReader) throws(WireError) {}

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

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }
    public var growth: ActionGrowth { .settles }
}

/// An action that pins a message for everyone.
public struct PinMessage: MessageChange {
    public static let kinds: [UInt8] = [7]

    public init() {}

    public init(kind: UInt8, from reader: inout ByteReader) throws(WireError) {}

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
public struct UnpinMessage: MessageChange {
    public static let kinds: [UInt8] = [8]

    public init() {}

    public init(kind: UInt8, from reader: inout ByteReader) throws(WireError) {}

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
