import CRDT
import Wire

/// The rule that decides, from a device's document, of which messages the device is notified.
///
/// A device is notified of every message that another participant sent after the device was added,
/// while the device was not showing that conversation, and that its user may see. No other code
/// decides this.
///
/// The order of events is taken from their stamps. Stamps of one node follow the order in which it
/// accepted the changes, in all shards. Stamps of two nodes do so as far as one had received the
/// other's, and otherwise as far as their clocks agree.
public struct NotificationRule: Hashable, Sendable {
    /// The milliseconds by which a message may precede the latest acknowledged one and still cause
    /// a notification: one day.
    ///
    /// A message that arrives later than that, from the other side of a longer network partition,
    /// is in the history and counts as unread, but no device is notified of it. A list therefore
    /// needs only the messages since a day before the latest acknowledged one, however old the
    /// device is.
    static let latenessMilliseconds: UInt64 = 86_400_000

    public let user: UserID
    /// The time at which the device was added, or up to which what was sent is forgotten.
    let added: HybridTimestamp
    /// Ascending, with the ends of those that nobody renewed.
    let viewings: [Viewing]
    public let acknowledged: AcknowledgedNotifications
    let latestAcknowledged: HybridTimestamp

    /// Creates the rule; nil where the device is removed.
    public init?(for device: Device, of user: UserID) {
        guard let added = device.added else { return nil }
        self.user = user
        self.added = max(added.time, device.floor)
        viewings = device.viewings.withEnds
        acknowledged = device.acknowledged.untimed
        latestAcknowledged = device.latestAcknowledged
    }

    /// Returns the time up to which messages of the conversation cause no notification.
    public func minimum(in chat: Conversation) -> HybridTimestamp {
        let late = NotificationRule.earliest(before: latestAcknowledged)
        return max(added, late, chat.invitation(of: user)?.time ?? .zero)
    }

    /// Returns the time up to which messages are late where one of `time` was acknowledged.
    static func earliest(before time: HybridTimestamp) -> HybridTimestamp {
        let milliseconds = time.milliseconds
        return HybridTimestamp(
            milliseconds: milliseconds - min(milliseconds, latenessMilliseconds))
    }

    /// Whether the device is to be notified of a message; false where it was acknowledged.
    ///
    /// - Parameter dots: the dots of the message's sendings.
    public func notifies(
        of message: Message, sentBy dots: [Dot], in conversation: ConversationID,
        _ chat: Conversation
    ) -> Bool {
        let time = message.header.sent.time
        return message.header.sender != user && !message.header.isSilent && time > minimum(in: chat)
            && message.isShown(to: user, among: chat.participants)
            && !viewings.shows(conversation, at: time) && !isDone(with: dots, sentAt: time)
    }

    /// Whether the message that `dots` sent, the first at a time, was acknowledged or passed over.
    ///
    /// The times of the others are not known; it is that time by which all of them are judged.
    public func isDone(with dots: [Dot], sentAt time: HybridTimestamp) -> Bool {
        #if PlantedBugs
            if PlantedBug.notificationSentTwice.isOn { return false }
        #endif
        return dots.contains { acknowledged.contains($0, sentAt: time) }
    }
}

extension NotificationRule: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(user)
        added.encode(into: &writer)
        viewings.encode(into: &writer)
        acknowledged.encode(into: &writer)
        latestAcknowledged.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        added = try HybridTimestamp(from: &reader)
        viewings = try reader.readList()
        guard viewings.count <= Viewing.countMax,
            zip(viewings, viewings.dropFirst()).allSatisfy(<)
        else { throw .invalid("viewings that ascend") }
        acknowledged = try AcknowledgedNotifications(from: &reader)
        latestAcknowledged = try HybridTimestamp(from: &reader)
    }
}
