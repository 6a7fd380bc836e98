import Chat
import Wire

/// Somebody types in a conversation, or stopped; said to every node by the one of the client.
package struct TypingFrame: Hashable, Sendable {
    package let conversation: ConversationID
    package let user: UserID
    /// Until when it is shown, in milliseconds of the receiver's clock, however long it travels;
    /// nil where it is over.
    package let until: UInt64?
    /// Who is shown it, ascending.
    package let participants: [UserID]
}

extension TypingFrame: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(conversation)
        writer.write(user)
        writer.writeOptional(until) { $0.write(varint: $1) }
        writer.write(users: participants)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.readName()
        user = try reader.readName()
        until = try reader.readFlag() ? try reader.readVarint() : nil
        participants = try reader.readUsers()
    }
}
