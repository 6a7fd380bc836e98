import CRDT
import Chat
import Wire

/// A message of which a device is to be notified, as the conversation's shard reports it.
package struct NotificationCandidate: Hashable, Sendable {
    /// The most bytes of texts in one list, so that the reply stays in memory.
    ///
    /// The oldest come first, and there is always at least one.
    static let bytesMax = 4 << 20

    let conversation: ConversationID
    let message: MessageID
    let from: UserID
    /// Nil if the user must not see the message any more.
    let text: String?
    /// The entry to list for the message, by the sending that the shard knows.
    ///
    /// A node of an earlier version states nil for a message that is on the device's list.
    let entry: ListedNotification?

    var document: DocumentKey { .message(message, in: conversation) }
    var bytes: Int { 256 + (text?.utf8.count ?? 0) }
}

/// A notification as its device sees it.
package struct NotificationView: Hashable, Sendable {
    package let id: NotificationID
    package let conversation: ConversationID
    package let message: MessageID
    package let from: UserID
    /// The name that the sender goes by; nil if there is none, or no node could be asked for it.
    package var fromName: String?
    /// Nil if the message was deleted since it was shown.
    package let text: String?
}

extension NotificationCandidate: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(conversation)
        writer.write(message)
        writer.write(from)
        writer.write(text)
        entry.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.readName()
        message = try reader.readName()
        from = try reader.readName()
        text = try reader.readOptionalText(limit: ChatLimits.textBytesMax)
        entry = try Optional(from: &reader)
    }
}

extension NotificationView: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(conversation)
        writer.write(message)
        writer.write(from)
        writer.write(fromName)
        writer.write(text)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        conversation = try reader.readName()
        message = try reader.readName()
        from = try reader.readName()
        fromName =
            try reader.readOptionalText(limit: ChatLimits.titleBytesMax)
        text = try reader.readOptionalText(limit: ChatLimits.textBytesMax)
    }
}
