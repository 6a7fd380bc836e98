import CRDT
import Wire

/// A file of a conversation, as the conversation's participants see it.
public struct FileView: Hashable, Sendable {
    public let id: FileID
    public let owner: UserID
    public let type: String
    /// The size in bytes; nil while parts are missing.
    public let size: UInt64?
    public let message: MessageID?
    public let createdAt: HybridTimestamp
    /// A hash of the file's size and parts, which identifies the content; nil while parts are
    /// missing, and in a view for a node of an earlier version.
    public var tag: String?
}

/// A file that waits to be purged or closed.
public struct DueFile: Hashable, Sendable {
    public let conversation: ConversationID
    public let id: FileID
    public let createdAt: HybridTimestamp
    public let isClosed: Bool
    /// The parts that are not purged; if there are many, only some of them.
    public let parts: [PartID]

    public init(
        conversation: ConversationID, id: FileID, createdAt: HybridTimestamp, isClosed: Bool,
        parts: [PartID]
    ) {
        self.conversation = conversation
        self.id = id
        self.createdAt = createdAt
        self.isClosed = isClosed
        self.parts = parts
    }
}

extension File {
    /// - Returns: the view of the file; nil if the file is closed.
    public func view(as id: FileID, isTagged: Bool = true) -> FileView? {
        guard !isClosed else { return nil }
        let (upload, message) = (shown.upload, shown.firstLiving?.value)
        return FileView(
            id: id, owner: upload.owner, type: upload.type.text, size: upload.content?.size,
            message: message, createdAt: upload.begun.time,
            tag: isTagged ? upload.content?.tag : nil)
    }
}

/// The coding of a file view without its tag, which follows the view if there is one.
extension FileView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(owner)
        writer.write(type)
        writer.writeOptional(size) { $0.write(varint: $1) }
        message.encode(into: &writer)
        createdAt.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        owner = try reader.readName()
        type = try reader.readText(limit: ChatLimits.titleBytesMax)
        size = try reader.readFlag() ? try reader.readVarint() : nil
        message = try Optional(from: &reader)
        createdAt = try HybridTimestamp(from: &reader)
    }
}
