import Wire

/// The number of messages of a conversation that a user has not read; never 0.
public struct UnreadCount: Hashable, Sendable {
    public let conversation: ConversationID
    public let count: Int

    public init(conversation: ConversationID, count: Int) {
        self.conversation = conversation
        self.count = count
    }
}

extension UnreadCount: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(conversation)
        writer.write(count: count)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.readName()
        count = try reader.readNumber()
        // The limit keeps the sum over all of a user's conversations from overflowing.
        guard count <= Int(Int32.max) else { throw .invalid("a count") }
        guard count > 0 else { throw .invalid("something unread") }
    }
}
