import CRDT
import Wire

extension File {
    /// A change of a file, or of one of its parts.
    public enum Action: Hashable, Sendable {
        /// Begins an upload of content of this type.
        case begin(type: FieldText)
        /// Ends it: these parts, which have arrived, are the content, in this order.
        case end(size: UInt64, parts: [PartID])
        /// Closes all of it, whatever messages name it.
        case close
        /// Closes what was begun before a time and not sent: by the user of the mutation or, where
        /// that is the cluster, by anybody.
        case expire(before: HybridTimestamp)
        /// Notes that the file is sent with a message.
        case attach(MessageID)
        /// Notes that a message is deleted for everyone.
        case detach(MessageID)
        /// Notes that no part is left of what is closed, and that none can arrive any more.
        case purge

        /// Whether only nodes and operators may do it.
        public var isForOperators: Bool {
            switch self {
            case .close, .expire, .purge, .attach, .detach: true
            case .begin, .end: false
            }
        }
    }
}

extension FilePart {
    public enum Action: Hashable, Sendable {
        case put([UInt8])
        case purge

        public var isForOperators: Bool { self == .purge }
    }
}

extension File.Action {
    /// Returns whether the action changes anything; throws where it is refused.
    func judge(
        _ file: File?, in conversation: Conversation?, by user: UserID
    ) throws(Refusal) -> Bool {
        switch self {
        case .close: return try file.found.closedAt == nil
        case .expire, .attach, .detach, .purge: return changes(try file.found)
        case .begin(let type):
            try conversation.requireParticipant(user, or: .conversationNotFound)
            guard let file else { return true }
            guard file.states.contains(where: { $0.owner == user }),
                file.open(of: user)?.upload.type ?? type == type
            else { throw .fileExists }
            return false
        case .end(let size, let parts):
            try conversation.requireParticipant(user, or: .fileNotFound)
            guard let content = try file.uploaded(by: user).upload.content else { return true }
            guard content.size == size, content.parts == parts else { throw .fileExists }
            return false
        }
    }

    /// Whether the action, which comes with a change of a message or of what is known of it,
    /// changes the file.
    public func changes(_ file: File?) -> Bool {
        guard let file else { return false }
        switch self {
        case .detach(let message): return file.namingMessages.contains(message)
        case .expire(let deadline): return file.isUnsent(before: deadline)
        case .purge: return file.isDue
        case .attach, .begin, .end, .close: return true
        }
    }

    func applied(to content: File?, by user: UserID, _ author: Authorship) -> File {
        if case .begin(let type) = self {
            let upload = Upload(begun: author.stamp, owner: user, type: type)
            guard var file = content else { return File(upload) }
            file.begin(upload)
            return file
        }
        guard var file = content else { preconditionFailure("judge refuses what is not there") }
        switch self {
        case .begin: break
        case .end(let size, let parts):
            let content = Upload.Content(ended: author.stamp, size: size, parts: parts)
            file.end(of: user, with: content)
        case .close: file.close(at: author.stamp.time)
        case .expire(let deadline):
            file.expire(before: deadline, of: user == Mutation.cluster ? nil : user)
        case .attach(let message): file.attach(message, of: user, at: author.stamp)
        case .detach(let message): file.detach(message)
        case .purge: file.purge()
        }
        return file
    }
}

extension FilePart.Action {
    /// - Parameter file: the file that it is a part of.
    func judge(
        _ part: FilePart?, of file: File?, in conversation: Conversation?, by user: UserID
    ) throws(Refusal) -> Bool {
        switch self {
        case .purge:
            guard let part else { throw .fileNotFound }
            return !part.isPurged
        case .put:
            try conversation.requireParticipant(user, or: .fileNotFound)
            let state = try file.uploaded(by: user)
            // The same bytes: they are what names it.
            if let part, !part.isPurged { return false }
            guard state.upload.content == nil else { throw .fileExists }
            return true
        }
    }

    func applied(to content: FilePart?, _ author: Authorship) -> FilePart {
        switch self {
        case .put(let bytes):
            guard var part = content else { return FilePart(bytes, created: author.stamp) }
            part.put(bytes)
            return part
        case .purge:
            guard var part = content else { preconditionFailure("judge refuses what is not there") }
            part.purge()
            return part
        }
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

extension File.Action: DocumentAction {
    public func stampsOverwritten(in content: File) -> [Stamp?]? {
        switch self {
        case .begin: [content.shown.upload.begun]
        case .end: [content.shown.upload.content?.ended]
        case .close, .expire, .purge, .attach, .detach: nil
        }
    }

    public func nameBytes(by user: UserID) -> Int {
        2 * nameBytesMax + ChatLimits.titleBytesMax + roughBytes
    }

    public var roughBytes: Int {
        if case .end(_, let parts) = self { parts.count * nameBytesMax } else { 0 }
    }

    public var growth: ActionGrowth {
        switch self {
        case .begin: .adds
        case .end, .attach: .settles
        case .close, .expire, .detach, .purge: .empties
        }
    }

    public var deletes: Bool {
        switch self {
        case .close, .expire, .detach, .purge: true
        case .begin, .end, .attach: false
        }
    }

    static let kind: UInt8 = 42

    public var kind: UInt8 { File.Action.kind }

    public func encodeRest(into writer: inout ByteWriter) {
        switch self {
        case .begin(let type):
            writer.write(1)
            type.encode(into: &writer)
        case .end(let size, let parts):
            writer.write(2)
            writer.write(varint: size)
            parts.encode(into: &writer)
        case .close: writer.write(3)
        case .purge: writer.write(4)
        case .attach(let message):
            writer.write(5)
            writer.write(message)
        case .detach(let message):
            writer.write(6)
            writer.write(message)
        case .expire(let deadline):
            writer.write(7)
            deadline.encode(into: &writer)
        }
    }

    init?(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        guard kind == File.Action.kind else { return nil }
        switch try reader.readByte() {
        case 1: self = .begin(type: try FieldText(from: &reader))
        case 2:
            let size = try reader.readVarint()
            self = .end(size: size, parts: try reader.readParts())
        case 3: self = .close
        case 4: self = .purge
        case 5: self = .attach(try reader.readName())
        case 6: self = .detach(try reader.readName())
        case 7: self = .expire(before: try HybridTimestamp(from: &reader))
        default: throw .unknown
        }
    }
}

extension FilePart.Action: DocumentAction {
    public typealias Content = FilePart

    public func nameBytes(by user: UserID) -> Int { 0 }

    public var growth: ActionGrowth { self == .purge ? .empties : .settles }

    public var roughBytes: Int {
        if case .put(let bytes) = self { bytes.count } else { 0 }
    }

    public var deletes: Bool { self == .purge }

    static let kind: UInt8 = 43

    public var kind: UInt8 { FilePart.Action.kind }

    public func encodeRest(into writer: inout ByteWriter) {
        switch self {
        case .put(let bytes):
            writer.write(1)
            writer.write(bytes)
        case .purge: writer.write(2)
        }
    }

    init?(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        guard kind == FilePart.Action.kind else { return nil }
        switch try reader.readByte() {
        case 1:
            let bytes = Array(try reader.readBytes())
            guard bytes.count <= FilePart.bytesMax else {
                throw .tooLong(count: UInt64(bytes.count), limit: FilePart.bytesMax)
            }
            self = .put(bytes)
        case 2: self = .purge
        default: throw .unknown
        }
    }
}
