import Chat
import Wire

/// Somebody types in a conversation, or stopped; said to every node by the one of the client.
package struct TypingFrame: Hashable, Sendable {
    package let conversation: ConversationID
    package let user: UserID
    /// Until when it is shown, in milliseconds of the receiver's monotonic clock, however long it
    /// travels; nil where it is over.
    ///
    /// It is what the sender believes of that clock, which may have stood still since: `at` counts,
    /// too.
    package let until: UInt64?
    /// Whether it is over whoever said it: the user has sent what they typed, or left.
    package let isEnded: Bool
    /// When the client said so, in milliseconds since 1970 by the clock of its node.
    package let at: UInt64
    /// Who is shown it, ascending.
    package let participants: [UserID]
}

extension TypingFrame: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(conversation)
        writer.write(user)
        writer.writeOptional(until) { $0.write(varint: $1) }
        writer.write(isEnded)
        writer.write(varint: at)
        writer.write(users: participants)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.readName()
        user = try reader.readName()
        until = try reader.readFlag() ? try reader.readVarint() : nil
        isEnded = try reader.readFlag()
        at = try reader.readVarint()
        guard !isEnded || until == nil else { throw .invalid("typing that is over") }
        guard at >> 48 == 0 else { throw .invalid("a time of 48 bits") }
        participants = try reader.readUsers()
    }
}
