import Wire

/// A query for what a device is to be notified of, and for the state of what it was shown.
public struct DueQuery: Hashable, Sendable {
    /// A message that the device was shown.
    public struct Shown: Hashable, Comparable, Sendable {
        public let conversation: ConversationID
        public let message: MessageID

        public static func < (left: Shown, right: Shown) -> Bool {
            (left.conversation, left.message) < (right.conversation, right.message)
        }
    }

    public let rule: NotificationRule
    /// The messages shown on the device, at most `shownMax`.
    public let shown: [Shown]
    /// How many more messages the device may be shown.
    public let countMax: Int

    /// The limit for two sides of a network partition, each with a full list.
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
    /// 21 was one whose rule had a single vector of what was acknowledged.
    public static let codes: [UInt8] = [32]
    public static let showsMessages = true
    /// Of a conversation that has not arrived in a shard, no notification is withdrawn there.
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
