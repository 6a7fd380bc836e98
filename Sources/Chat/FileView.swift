import CRDT
import Wire

/// A file of a conversation as its participants see it.
public struct FileView: Hashable, Sendable {
    public let id: FileID
    public let owner: UserID
    public let type: String
    /// In bytes; nil while parts are missing.
    public let size: UInt64?
    public let message: MessageID?
    public let createdAt: HybridTimestamp
}

/// A file that somebody has to look after.
public struct DueFile: Hashable, Sendable {
    public let conversation: ConversationID
    public let id: FileID
    public let createdAt: HybridTimestamp
    public let isClosed: Bool
    /// The parts that are not purged; some of them where there are many.
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
    /// - Returns: nil for a closed file.
    public func view(as id: FileID) -> FileView? {
        guard !isClosed else { return nil }
        return FileView(
            id: id, owner: owner, type: type, size: size, message: message,
            createdAt: created.time)
    }
}

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
