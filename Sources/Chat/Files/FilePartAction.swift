import CRDT
import Wire

/// A change of a part of a file.
///
/// Each action is a type, with its entry in `FilePart.actions`.
public protocol FilePartAction: DocumentAction where Content == FilePart {}

extension FilePart {
    static let actions: [any DocumentAction.Type] = [PutFilePart.self, PurgeFilePart.self]
}

extension Mutation {
    public convenience init(
        _ action: some FilePartAction, on part: PartID, of file: FileID,
        in conversation: ConversationID, by user: UserID
    ) {
        self.init(action, at: .part(part, of: file, in: conversation), by: user)
    }
}

extension FilePartAction {
    public func files(besides document: Document?, at key: DocumentKey) -> [FileID] {
        key.partOfFile.map { [$0.file] } ?? []
    }

    public func nameBytes(by user: UserID) -> Int { 0 }
}

/// An action that stores the bytes of a part, whose hash is the part's name.
public struct PutFilePart: FilePartAction {
    public static let codes = [ActionCode(43, 1)]

    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        bytes = Array(try reader.readBytes())
        guard bytes.count <= FilePart.bytesMax else {
            throw .tooLong(count: UInt64(bytes.count), limit: FilePart.bytesMax)
        }
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(bytes) }

    public func judge(
        _ part: FilePart?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        try circumstances.conversation.requireParticipant(user, or: .fileNotFound)
        let state = try (circumstances.files.first ?? nil).uploaded(by: user)
        // The same bytes: they are what names it.
        if let part, !part.isPurged { return false }
        guard state.upload.content == nil else { throw .fileExists }
        return true
    }

    public func applied(
        to content: FilePart?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> FilePart {
        guard var part = content else { return FilePart(bytes, created: author.stamp) }
        part.put(bytes)
        return part
    }

    public var roughBytes: Int { bytes.count }
    public var growth: ActionGrowth { .settles }
}

/// An action that deletes the bytes of a part, which only nodes and operators do.
public struct PurgeFilePart: FilePartAction, PlainAction {
    public static let codes = [ActionCode(43, 2)]

    public init() {}

    public func judge(
        _ part: FilePart?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        guard let part else { throw .fileNotFound }
        return !part.isPurged
    }

    public func applied(
        to content: FilePart?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> FilePart {
        guard var part = content else { preconditionFailure("judge refuses what is not there") }
        part.purge()
        return part
    }

    public var growth: ActionGrowth { .empties }
    public var deletes: Bool { true }
    public var isForOperators: Bool { true }
}
