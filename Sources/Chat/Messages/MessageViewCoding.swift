import CRDT
import Wire

/// The form in which a view is sent from the node that made it to the node that requested it.
extension MessageView: WireValue {
    /// The bit of the type's number that says that an attachment follows.
    private static let attachmentBit: UInt8 = 0x80

    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(from)
        sentAt.encode(into: &writer)
        // Nodes of earlier versions read a view without an attachment.
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
    /// Reads a set of users, ascending.
    ///
    /// Only the bytes limit the count: the users who ever deleted a message may outnumber the
    /// participants of its conversation.
    public mutating func readUsers() throws(WireError) -> [UserID] {
        try readList().ascending("users", by: \.self)
    }
}
