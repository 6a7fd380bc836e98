import Chat
import Wire

/// Somebody types in a conversation, or stopped; said to every node by the one of the client.
package struct TypingFrame: Hashable, Sendable {
    package let conversation: ConversationID
    package let user: UserID
    package let isOn: Bool
    /// Who is shown it, ascending.
    package let participants: [UserID]
}

extension TypingFrame: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(conversation)
        writer.write(user)
        writer.write(isOn)
        writer.write(users: participants)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.readName()
        user = try reader.readName()
        isOn = try reader.readFlag()
        participants = try reader.readUsers()
    }
}
