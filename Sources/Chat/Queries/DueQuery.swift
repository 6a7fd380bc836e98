import Wire

/// A query for the messages of which a device has to be notified, and for the state of the messages
/// that the device shows.
public struct DueQuery: Hashable, Sendable {
    /// A message that the device shows as a notification.
    public struct Shown: Hashable, Comparable, Sendable {
        public let conversation: ConversationID
        public let message: MessageID

        public static func < (left: Shown, right: Shown) -> Bool {
            (left.conversation, left.message) < (right.conversation, right.message)
        }
    }

    public let rule: NotificationRule
    /// The messages that the device shows as notifications, at most `shownMax`.
    public let shown: [Shown]
    /// The number of further messages that the device may show.
    public let countMax: Int

    /// The most messages of `shown`: two sides of a network partition can each fill a list.
    public static let shownMax = 2 * ListedNotification.countMax

    public init?(for device: Device, of user: UserID) {
        guard let rule = NotificationRule(for: device, of: user) else { return nil }
        self.rule = rule
        let listed = Set(
            device.listed.map { Shown(conversation: $0.conversation, message: $0.message) })
        shown = Array(listed.sorted().prefix(DueQuery.shownMax))
        countMax = max(0, ListedNotification.countMax - device.listed.count)
    }
}

extension DueQuery: Query {
    public typealias Answer = [NotificationCandidate]
    /// The code 21 meant a form of this query whose rule had one vector of acknowledged messages.
    public static let codes: [UInt8] = [32]
    public static let showsMessages = true
    /// A shard that a conversation has not reached withdraws no notification of the conversation.
    public static let nothing: Answer? = []

    public func encode(into writer: inout ByteWriter) {
        rule.encode(into: &writer)
        shown.encode(into: &writer)
        writer.write(count: countMax)
    }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        rule = try NotificationRule(from: &reader)
        shown = try reader.readList(limit: DueQuery.shownMax)
        countMax = try reader.readNumber()
        guard countMax <= ListedNotification.countMax else {
            throw .tooLong(count: UInt64(countMax), limit: ListedNotification.countMax)
        }
    }

    public var partition: String? { nil }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [NotificationCandidate] {
        try source.candidates(self, for: viewer)
    }
}

extension DueQuery.Shown: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(conversation)
        writer.write(message)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.readName()
        message = try reader.readName()
    }
}
