import CRDT
import Wire

extension File {
    /// A change of a file, or of one of its parts.
    public enum Action: Hashable, Sendable {
        /// Begins an upload of content of this type.
        case begin(type: FieldText)
        /// Ends it: these parts, which have arrived, are the content, in this order.
        case end(size: UInt64, parts: [PartID])
        case close
        /// Notes that the file is sent with a message.
        case attach(MessageID)
        /// Notes that all parts of a closed file are purged.
        case purge

        /// Whether only nodes and operators may do it.
        public var isForOperators: Bool {
            switch self {
            case .close, .purge, .attach: true
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
        case .close: return !(try file.found.isClosed)
        case .purge: return !(try file.found.isPurged)
        case .attach(let message): return try file.found.message != message
        case .begin(let type):
            try conversation.requireParticipant(user, or: .conversationNotFound)
            guard let file else { return true }
            guard file.owner == user, file.isClosed || file.type == type.text else {
                throw .fileExists
            }
            return false
        case .end(let size, let parts):
            try conversation.requireParticipant(user, or: .fileNotFound)
            let file = try file.uploaded(by: user)
            guard file.ended != nil else { return true }
            guard file.size == size, file.parts == parts else { throw .fileExists }
            return false
        }
    }

    /// Whether the action, which comes with a change of the file's message, changes the file.
    public func changes(_ file: File?) -> Bool {
        switch self {
        case .close: file.map { !$0.isClosed } ?? true
        case .attach(let message): file.map { $0.message != message } ?? false
        case .begin, .end, .purge: false
        }
    }

    func applied(to content: File?, by user: UserID, _ author: Authorship) -> File {
        if case .begin(let type) = self {
            return File(Upload(begun: author.stamp, owner: user, type: type))
        }
        // A file that is closed before it has arrived.
        let unknown = Upload(begun: author.stamp, owner: user, type: FieldText(""))
        var file = content ?? File(unknown)
        switch self {
        case .begin: break
        case .end(let size, let parts):
            file.end(with: Upload.Content(ended: author.stamp, size: size, parts: parts))
        case .close: file.close(at: author.stamp.time)
        case .attach(let message): file.setMessage(message, at: author.stamp)
        case .purge: file.purge(at: author.stamp.time)
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
            let file = try file.uploaded(by: user)
            // The same bytes: they are what names it.
            guard part == nil else { return false }
            guard file.ended == nil else { throw .fileExists }
            return true
        }
    }

    func applied(to content: FilePart?, _ author: Authorship) -> FilePart {
        switch self {
        case .put(let bytes): return FilePart(bytes, created: author.stamp)
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

    /// Returns a file that the user has uploaded and may go on with.
    func uploaded(by user: UserID) throws(Refusal) -> File {
        let file = try found
        guard !file.isClosed else { throw .fileNotFound }
        guard file.owner == user else { throw .notOwner }
        return file
    }

    /// Throws where the user may not send the file with a message.
    func judgeSending(with message: MessageID, by user: UserID) throws(Refusal) {
        let file = try uploaded(by: user)
        guard file.ended != nil else { throw .fileNotFound }
        guard file.message == nil || file.message == message else { throw .fileExists }
    }

    /// Throws where the file is too large for a preview of another.
    func judgePreview() throws(Refusal) {
        guard try found.size ?? 0 <= Attachment.previewBytesMax else { throw .previewTooLarge }
    }
}

extension File.Action: DocumentAction {
    func stampsOverwritten(in content: File) -> [Stamp?]? {
        switch self {
        case .begin: [content.created]
        case .end: [content.ended]
        case .close, .purge, .attach: nil
        }
    }

    func nameBytes(by user: UserID) -> Int {
        2 * nameBytesMax + ChatLimits.titleBytesMax + roughBytes
    }

    var roughBytes: Int {
        if case .end(_, let parts) = self { parts.count * nameBytesMax } else { 0 }
    }

    var growth: ActionGrowth {
        switch self {
        case .begin: .adds
        case .end, .close, .attach: .settles
        case .purge: .empties
        }
    }

    var deletes: Bool { self == .close || self == .purge }

    static let kind: UInt8 = 42

    var kind: UInt8 { File.Action.kind }

    func encodeRest(into writer: inout ByteWriter) {
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
        default: throw .unknown
        }
    }
}

extension FilePart.Action: DocumentAction {
    typealias Content = FilePart

    func nameBytes(by user: UserID) -> Int { 0 }

    var growth: ActionGrowth { self == .purge ? .empties : .settles }

    var roughBytes: Int {
        if case .put(let bytes) = self { bytes.count } else { 0 }
    }

    var deletes: Bool { self == .purge }

    static let kind: UInt8 = 43

    var kind: UInt8 { FilePart.Action.kind }

    func encodeRest(into writer: inout ByteWriter) {
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
