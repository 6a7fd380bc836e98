import CRDT
import Wire

/// The rule that decides, from a device's document, of which messages the device is notified.
///
/// A device is notified of every message that another participant sent after the device was added,
/// while the device was not showing that conversation, and that its user may see. No other code
/// decides whether a device is notified.
///
/// Stamps determine the order of these events. Stamps of one node follow the order in which it
/// accepted the changes, in all shards. Stamps of two nodes follow that order if one node had
/// received the other's earlier stamp; otherwise they follow it only as far as the nodes' clocks
/// agree.
public struct NotificationRule: Hashable, Sendable {
    /// The milliseconds by which a message may precede the latest acknowledged one and still cause
    /// a notification: one day.
    ///
    /// A message that arrives later than that, after a longer network partition, is in the history
    /// and counts as unread, but no device is notified of it. To list a device's notifications, a
    /// shard therefore needs only the messages since one day before the latest acknowledged
    /// message.
    static let latenessMilliseconds: UInt64 = 86_400_000

    public let user: UserID
    /// The time at which the device was added, or the device's `floor` if that is later; the device
    /// is notified only of later messages.
    let added: HybridTimestamp
    /// The viewings without leases, ascending; the end of a lease is a viewing of its own.
    let viewings: [Viewing]
    public let acknowledged: AcknowledgedNotifications
    let latestAcknowledged: HybridTimestamp

    /// Creates the rule of a device; nil if the device is removed.
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

    /// Returns the time up to which messages are too late for a notification once a message of
    /// `time` was acknowledged.
    static func earliest(before time: HybridTimestamp) -> HybridTimestamp {
        let milliseconds = time.milliseconds
        return HybridTimestamp(
            milliseconds: milliseconds - min(milliseconds, latenessMilliseconds))
    }

    /// Returns whether the device has to be notified of a message; false if the notification was
    /// acknowledged.
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

    /// Returns whether the notification of a message was acknowledged or skipped; `dots` are its
    /// sendings, and `time` is that of the first.
    ///
    /// The times of the other sendings are unknown, so all of them are judged by the time of the
    /// first.
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
