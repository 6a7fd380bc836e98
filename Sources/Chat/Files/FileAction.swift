import CRDT
import Wire

/// A change of a file.
///
/// Each action is a type, with its entry in `File.actions`.
public protocol FileAction: DocumentAction where Content == File {
    /// Whether the change precedes that of the message with which it comes.
    var precedesMessage: Bool { get }

    /// Whether the action, which comes with a change of a message or of what is known of it,
    /// changes the file.
    func changes(_ file: File) -> Bool

    func apply(to file: inout File, by user: UserID, _ author: Authorship)
}

extension File {
    static let actions: [any DocumentAction.Type] = [
        BeginUpload.self, EndUpload.self, CloseFile.self, PurgeFile.self, AttachFile.self,
        DetachFile.self, ExpireUpload.self,
    ]
}

extension Mutation {
    public convenience init(
        _ action: some FileAction, of file: FileID, in conversation: ConversationID, by user: UserID
    ) {
        self.init(action, at: .file(file, in: conversation), by: user)
    }
}

extension FileAction {
    public var precedesMessage: Bool { false }
    public func changes(_ file: File) -> Bool { true }

    public func applied(
        to content: File?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> File {
        guard var file = content else { preconditionFailure("judge refuses what is not there") }
        apply(to: &file, by: user, author)
        return file
    }

    public func nameBytes(by user: UserID) -> Int {
        2 * nameBytesMax + ChatLimits.titleBytesMax + roughBytes
    }
}

extension File? {
    var found: File {
        get throws(Refusal) {
            guard let file = self else { throw .fileNotFound }
            return file
        }
    }

    /// Returns what the user has uploaded and may go on with.
    func uploaded(by user: UserID) throws(Refusal) -> File.OwnerState {
        let file = try found
        if let state = file.open(of: user) { return state }
        throw file.isClosed || file.states.contains { $0.owner == user } ? .fileNotFound : .notOwner
    }

    /// Throws where the user may not send the file with a message.
    func judgeSending(with message: MessageID, by user: UserID) throws(Refusal) {
        let state = try uploaded(by: user)
        guard state.upload.content != nil else { throw .fileNotFound }
        guard state.sendings.allSatisfy({ $0.message == message }) else { throw .fileExists }
    }

    /// Throws where what the user has uploaded is too large for a preview of another file.
    func judgePreview(by user: UserID) throws(Refusal) {
        let size = try uploaded(by: user).upload.content?.size ?? 0
        guard size <= Attachment.previewBytesMax else { throw .previewTooLarge }
    }
}

// MARK: Uploads

/// An action that begins an upload.
public struct BeginUpload: FileAction {
    public static let codes = [ActionCode(42, 1)]

    /// The media type of the content.
    public let type: FieldText

    public init(type: FieldText) { self.type = type }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        type = try FieldText(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) { type.encode(into: &writer) }

    public func judge(
        _ file: File?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        try circumstances.conversation.requireParticipant(user, or: .conversationNotFound)
        guard let file else { return true }
        guard file.states.contains(where: { $0.owner == user }),
            file.open(of: user)?.upload.type ?? type == type
        else { throw .fileExists }
        return false
    }

    public func applied(
        to content: File?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> File {
        guard var file = content else { return File(upload(by: user, author)) }
        apply(to: &file, by: user, author)
        return file
    }

    public func apply(to file: inout File, by user: UserID, _ author: Authorship) {
        file.begin(upload(by: user, author))
    }

    private func upload(by user: UserID, _ author: Authorship) -> Upload {
        Upload(begun: author.stamp, owner: user, type: type)
    }

    public func stampsOverwritten(in content: File) -> [Stamp?]? { [content.shown.upload.begun] }

    public var beginsUpload: Bool { true }

    public func makesName(
        at key: DocumentKey, by user: UserID, where condition: (String) -> Bool
    ) -> Bool {
        condition(key.id)
    }
}

/// An action that ends an upload: these parts, which have arrived, are the content, in this order.
public struct EndUpload: FileAction {
    public static let codes = [ActionCode(42, 2)]

    /// In bytes.
    public let size: UInt64
    public let parts: [PartID]

    public init(size: UInt64, parts: [PartID]) {
        self.size = size
        self.parts = parts
    }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        size = try reader.readVarint()
        parts = try reader.readParts()
    }

    public func encodeRest(into writer: inout ByteWriter) {
        writer.write(varint: size)
        parts.encode(into: &writer)
    }

    public func judge(
        _ file: File?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        try circumstances.conversation.requireParticipant(user, or: .fileNotFound)
        guard let content = try file.uploaded(by: user).upload.content else { return true }
        guard content.size == size, content.parts == parts else { throw .fileExists }
        return false
    }

    public func apply(to file: inout File, by user: UserID, _ author: Authorship) {
        let content = Upload.Content(ended: author.stamp, size: size, parts: parts)
        file.end(of: user, with: content)
    }

    public func stampsOverwritten(in content: File) -> [Stamp?]? {
        [content.shown.upload.content?.ended]
    }

    public var roughBytes: Int { parts.count * nameBytesMax }
    public var growth: ActionGrowth { .settles }
}

// MARK: Nodes and operators

/// A change of a file that only nodes and operators make.
public protocol FileSettlement: FileAction {}

extension FileSettlement {
    public func judge(
        _ file: File?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        changes(try file.found)
    }

    // All but an attachment leave little or nothing of the file.
    public var growth: ActionGrowth { .empties }
    public var deletes: Bool { true }
    public var isForOperators: Bool { true }
}

/// An action whose only parameter is a message with which the file is sent.
public protocol FileMessageAction: FileAction {
    var message: MessageID { get }

    init(_ message: MessageID)
}

extension FileMessageAction {
    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        self.init(try reader.readName())
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(message) }
}

/// An action that closes a file, whatever messages name it.
public struct CloseFile: FileSettlement, PlainAction {
    public static let codes = [ActionCode(42, 3)]

    public init() {}

    public func judge(
        _ file: File?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        try file.found.closedAt == nil
    }

    public func apply(to file: inout File, by user: UserID, _ author: Authorship) {
        file.close(at: author.stamp.time)
    }
}

/// An action that closes the uploads of a file that began before a time and were not sent: those of
/// the user or, where the user is the cluster, all.
public struct ExpireUpload: FileSettlement {
    public static let codes = [ActionCode(42, 7)]

    public let deadline: HybridTimestamp

    public init(before deadline: HybridTimestamp) { self.deadline = deadline }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        deadline = try HybridTimestamp(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) { deadline.encode(into: &writer) }

    public func changes(_ file: File) -> Bool { file.isUnsent(before: deadline) }

    public func apply(to file: inout File, by user: UserID, _ author: Authorship) {
        file.expire(before: deadline, of: user == Mutation.cluster ? nil : user)
    }
}

/// An action that records that a file is sent with a message.
public struct AttachFile: FileSettlement, FileMessageAction {
    public static let codes = [ActionCode(42, 5)]

    public let message: MessageID

    public init(_ message: MessageID) { self.message = message }

    public var precedesMessage: Bool { true }

    public func apply(to file: inout File, by user: UserID, _ author: Authorship) {
        file.attach(message, of: user, at: author.stamp)
    }

    public var growth: ActionGrowth { .settles }
    public var deletes: Bool { false }
}

/// An action that records that a message that names the file is deleted for everyone.
public struct DetachFile: FileSettlement, FileMessageAction {
    public static let codes = [ActionCode(42, 6)]

    public let message: MessageID

    public init(_ message: MessageID) { self.message = message }

    public func changes(_ file: File) -> Bool { file.namingMessages.contains(message) }

    public func apply(to file: inout File, by user: UserID, _ author: Authorship) {
        file.detach(message)
    }
}

/// An action that records that no part is left of a closed file, and that none can arrive any more.
public struct PurgeFile: FileSettlement, PlainAction {
    public static let codes = [ActionCode(42, 4)]

    public init() {}

    public func changes(_ file: File) -> Bool { file.isDue }

    public func apply(to file: inout File, by user: UserID, _ author: Authorship) { file.purge() }
}
