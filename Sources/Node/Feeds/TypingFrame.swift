import Chat
import Wire

/// A notice from a client's node to all other nodes: a user is typing in a conversation, or has
/// stopped.
package struct TypingFrame: Hashable, Sendable {
    package let conversation: ConversationID
    package let user: UserID
    /// The end of the notice, in milliseconds of the receiver's monotonic clock, so that a delay of
    /// the frame does not matter; nil if typing has ended.
    ///
    /// The sender estimates the receiver's clock. That clock may have stopped since, so the
    /// receiver also checks `at`.
    package let until: UInt64?
    /// Whether typing has ended for all nodes, because the user has sent the message or has left.
    package let isEnded: Bool
    /// When the client gave the notice, in milliseconds since 1970 by the clock of its node.
    package let at: UInt64
    /// The users to whom the notice is shown, ascending.
    package let participants: [UserID]
}

extension TypingFrame: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(conversation)
        writer.write(user)
        writer.writeOptional(until) { $0.write(varint: $1) }
        writer.write(isEnded)
        writer.write(varint: at)
        participants.encode(into: &writer)
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
