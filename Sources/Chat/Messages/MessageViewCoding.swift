import CRDT
import Wire

/// The coding of a message view between the node that made it and the node that requested it.
extension MessageView: WireValue {
    /// The bit in the byte of the message type that is set if an attachment follows.
    private static let attachmentBit: UInt8 = 0x80

    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(from)
        sentAt.encode(into: &writer)
        // A view without an attachment has the form that nodes of earlier versions read.
        writer.write(type.number | (attachment == nil ? 0 : MessageView.attachmentBit))
        attachment?.encode(into: &writer)
        writer.write(text)
        item.encode(into: &writer)
        editedAt.encode(into: &writer)
        pinnedBy.encode(into: &writer)
        pinnedAt.encode(into: &writer)
        writer.write(isDeletedForEveryone)
        for users in [deletedBy, deliveredTo, readBy] { users.encode(into: &writer) }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        from = try reader.readName()
        sentAt = try HybridTimestamp(from: &reader)
        let kind = try reader.readByte()
        guard
            let type = MessageType.allCases.first(where: {
                $0.number == kind & ~MessageView.attachmentBit
            })
        else { throw .invalid(MessageType.noun) }
        self.type = type
        let hasAttachment = kind & MessageView.attachmentBit != 0
        attachment = hasAttachment ? try Attachment(from: &reader) : nil
        text = try reader.readText(limit: ChatLimits.textBytesMax)
        item = try Optional(from: &reader)
        editedAt = try Optional(from: &reader)
        pinnedBy = try Optional(from: &reader)
        pinnedAt = try Optional(from: &reader)
        isDeletedForEveryone = try reader.readFlag()
        deletedBy = try reader.readUsers()
        deliveredTo = try reader.readUsers()
        readBy = try reader.readUsers()
        lastChanges = nil
    }
}

extension Refusal: WireValue {
    public func encode(into writer: inout ByteWriter) { writer.write(rawValue) }

    public init(from reader: inout ByteReader) throws(WireError) {
        guard let refusal = Refusal(rawValue: try reader.readByte()) else {
            throw .invalid("a refusal")
        }
        self = refusal
    }
}

extension ByteReader {
    /// Reads a list of users, which must ascend.
    ///
    /// Only the number of remaining bytes limits the count: the users who ever deleted a message
    /// may outnumber the participants of its conversation.
    public mutating func readUsers() throws(WireError) -> [UserID] {
        try readList().ascending("users", by: \.self)
    }
}
