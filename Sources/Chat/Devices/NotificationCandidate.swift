import CRDT
import Wire

/// A message of which a device is to be notified, as the conversation's shard reports it.
public struct NotificationCandidate: Hashable, Sendable {
    /// The most bytes of texts in one list, so that the reply stays in memory.
    ///
    /// The oldest come first, and there is always at least one.
    public static let bytesMax = 4 << 20

    public let conversation: ConversationID
    public let message: MessageID
    public let from: UserID
    /// Nil if the user must not see the message any more.
    public let text: String?
    /// The entry to list for the message, by the sending that the shard knows.
    ///
    /// A node of an earlier version states nil for a message that is on the device's list.
    public let entry: ListedNotification?

    public var document: DocumentKey { .message(message, in: conversation) }
    /// The approximate size in memory, in bytes.
    public var bytes: Int { 256 + (text?.utf8.count ?? 0) }
}

extension NotificationCandidate {
    /// - Parameters:
    ///   - isShown: whether the user may see the message.
    ///   - entry: the entry to list for the message.
    public init(of message: Message, isShown: Bool, entry: ListedNotification) {
        self.init(
            conversation: entry.conversation, message: entry.message,
            from: message.header.sender, text: isShown ? message.text : nil, entry: entry)
    }

    /// The candidate as one of a list that leaves others out.
    public var consideringItselfOnly: NotificationCandidate {
        NotificationCandidate(
            conversation: conversation, message: message, from: from, text: text,
            entry: entry?.consideringItselfOnly)
    }

    /// The candidate whose entry passes over none of the sendings of messages that are listed or
    /// due.
    public func sparing(_ dots: Vector) -> NotificationCandidate {
        NotificationCandidate(
            conversation: conversation, message: message, from: from, text: text,
            entry: entry?.sparing(dots))
    }

    /// Returns the oldest messages that the device has not been shown, up to a number and to
    /// `bytesMax` of texts.
    public static func oldest(
        of due: [NotificationCandidate], _ countMax: Int
    ) -> [NotificationCandidate] {
        let sorted = due.sorted { left, right in
            guard let mine = left.entry, let theirs = right.entry else { return false }
            return mine.place < theirs.place
        }
        return prefix(of: sorted.prefix(countMax)) { $0.bytes }
    }

    /// Returns the values at the start whose texts are together at most `bytesMax`; at least one.
    public static func prefix<Value>(
        of values: some Sequence<Value>, bytes: (Value) -> Int
    ) -> [Value] {
        var sum = 0
        return values.prefix { value in
            let isFirst = sum == 0
            sum += bytes(value)
            return isFirst || sum <= bytesMax
        }
    }
}

/// A notification as its device sees it.
public struct NotificationView: Hashable, Sendable {
    public let id: NotificationID
    public let conversation: ConversationID
    public let message: MessageID
    public let from: UserID
    /// The name that the sender goes by; nil if there is none, or no node could be asked for it.
    public var fromName: String?
    /// Nil if the message was deleted since it was shown.
    public let text: String?
    /// Whether it was pushed as what it is.
    public var isPushed = false
}

extension NotificationView {
    /// What a device is told: of the message, or that it was deleted.
    public var kind: PushedKind { text == nil ? .withdrawn : .message }

    /// - Parameter entry: the entry by which the device lists the message.
    public init(of candidate: NotificationCandidate, listedAs entry: ListedNotification) {
        self.init(
            id: entry.place.id, conversation: entry.conversation, message: entry.message,
            from: candidate.from, text: candidate.text,
            isPushed: entry.pushed.map { $0 >= (candidate.text == nil ? .withdrawn : .message) }
                ?? false)
    }
}

extension NotificationCandidate: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(conversation)
        writer.write(message)
        writer.write(from)
        writer.write(text)
        entry.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.readName()
        message = try reader.readName()
        from = try reader.readName()
        text = try reader.readOptionalText(limit: ChatLimits.textBytesMax)
        entry = try Optional(from: &reader)
    }
}

extension NotificationView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(conversation)
        writer.write(message)
        writer.write(from)
        writer.write(fromName)
        writer.write(text)
        writer.write(isPushed)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        conversation = try reader.readName()
        message = try reader.readName()
        from = try reader.readName()
        fromName =
            try reader.readOptionalText(limit: ChatLimits.titleBytesMax)
        text = try reader.readOptionalText(limit: ChatLimits.textBytesMax)
        isPushed = try reader.readFlag()
    }
}
