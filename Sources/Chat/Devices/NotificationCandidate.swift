import CRDT
import Wire

/// A message of which a device has to be notified, as the conversation's shard reports it.
public struct NotificationCandidate: Hashable, Sendable {
    /// The most bytes of texts in one list of candidates, a limit for the memory of the reply.
    ///
    /// A longer list is cut after its oldest candidates, of which at least one is kept.
    public static let bytesMax = 4 << 20

    public let conversation: ConversationID
    public let message: MessageID
    public let from: UserID
    /// The message's text; nil if the user must not see the message any more.
    public let text: String?
    /// The entry to add to the device's list for the message; it names the sending that the shard
    /// knows.
    ///
    /// Nodes of earlier versions send nil for a message that is already on the device's list.
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

    /// The candidate for a list from which other candidates are omitted.
    public var consideringItselfOnly: NotificationCandidate {
        NotificationCandidate(
            conversation: conversation, message: message, from: from, text: text,
            entry: entry?.consideringItselfOnly)
    }

    /// Returns the candidate with an entry whose acknowledgement does not also acknowledge the
    /// sendings in `dots`, which are of messages that are listed or due.
    public func sparing(_ dots: Vector) -> NotificationCandidate {
        NotificationCandidate(
            conversation: conversation, message: message, from: from, text: text,
            entry: entry?.sparing(dots))
    }

    /// Returns the oldest of the candidates `due`: at most `countMax`, with at most `bytesMax`
    /// bytes of texts.
    public static func oldest(
        of due: [NotificationCandidate], _ countMax: Int
    ) -> [NotificationCandidate] {
        let sorted = due.sorted { left, right in
            guard let mine = left.entry, let theirs = right.entry else { return false }
            return mine.place < theirs.place
        }
        return prefix(of: sorted.prefix(countMax)) { $0.bytes }
    }

    /// Returns the longest prefix of `values` whose total size is at most `bytesMax`, or the first
    /// value alone if it is larger.
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

/// A notification as its device receives it in a list.
public struct NotificationView: Hashable, Sendable {
    public let id: NotificationID
    public let conversation: ConversationID
    public let message: MessageID
    public let from: UserID
    /// The name in the sender's profile; nil if there is none, or if no node that has the profile
    /// answered.
    public var fromName: String?
    /// The message's text; nil if the message was deleted after the device was notified of it.
    public let text: String?
    /// Whether the present `kind` of the notification has already been pushed to the device.
    public var isPushed = false
}

extension NotificationView {
    /// The kind of the notification: a message, or the withdrawal of a message that was deleted.
    public var kind: PushedKind { text == nil ? .withdrawn : .message }

    /// - Parameter entry: the entry of the message in the device's list.
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
