import Chat
import Wire

/// A notice from a client's node to all others: a user is typing in a conversation, or has stopped.
package struct TypingFrame: Hashable, Sendable {
    package let conversation: ConversationID
    package let user: UserID
    /// When the notice ends, in milliseconds of the receiver's monotonic clock, however long it was
    /// on its way; nil if typing has ended.
    ///
    /// It is an estimate of the sender's. The receiver's clock may have stood still since, so that
    /// `at` counts, too.
    package let until: UInt64?
    /// Whether typing has ended for all nodes: the user has sent the message, or has left.
    package let isEnded: Bool
    /// When the client gave notice, in milliseconds since 1970 by the clock of its node.
    package let at: UInt64
    /// The users who are shown it, ascending.
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
