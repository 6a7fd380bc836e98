import CRDT
import Wire

/// Of which messages a device is to be notified, as its document says.
///
/// The one place that decides it: every message that another participant sent, since the device was
/// added and while it was not showing that conversation, that its user may see.
///
/// What was first is told from the stamps. Those of one node are in the order in which it accepted,
/// whatever the shards; between two nodes that is so as far as one had heard of the other's, else
/// as far as their clocks agree.
public struct NotificationRule: Hashable, Sendable {
    /// How far behind the latest message that was taken off one is still notified, in milliseconds:
    /// a day.
    ///
    /// What comes later than that, from the other side of a longer cut, is in the history and
    /// counts as unread, but no device rings for it. So a list is made from a day of messages,
    /// however old the device is.
    static let latenessMilliseconds: UInt64 = 86_400_000

    public let user: UserID
    /// When the device was added.
    let added: HybridTimestamp
    /// Ascending.
    let viewings: [Viewing]
    public let acknowledged: Vector
    let latestAcknowledged: HybridTimestamp

    /// Nil where the device is removed.
    public init?(for device: Device, of user: UserID) {
        guard let added = device.added else { return nil }
        self.user = user
        self.added = added.time
        viewings = device.viewings
        acknowledged = device.acknowledged
        latestAcknowledged = device.latestAcknowledged
    }

    /// Nothing sent before it is notified.
    public func minimum(in room: Conversation) -> HybridTimestamp {
        let lateness = NotificationRule.latenessMilliseconds
        let latest = latestAcknowledged.milliseconds
        let late = HybridTimestamp(milliseconds: latest - min(latest, lateness))
        return max(added, late, room.invitation(of: user)?.time ?? .zero)
    }

    /// Whether the device is to be notified of it, and was not.
    ///
    /// - Parameter dots: of its sendings.
    public func notifies(
        of message: Message, sentBy dots: [Dot], in conversation: ConversationID,
        _ room: Conversation
    ) -> Bool {
        let time = message.header.sent.time
        return message.header.sender != user && !message.header.isSilent && time > minimum(in: room)
            && message.isShown(to: user, among: room.participants)
            && !viewings.shows(conversation, at: time) && !isDone(with: dots)
    }

    /// Whether the message sent by any of these was taken off.
    public func isDone(with dots: [Dot]) -> Bool {
        #if PlantedBugs
            if PlantedBug.notificationSentTwice.isOn { return false }
        #endif
        return dots.contains(where: acknowledged.contains)
    }
}

extension NotificationRule: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(user)
        added.encode(into: &writer)
        WireList(viewings).encode(into: &writer)
        acknowledged.encode(into: &writer)
        latestAcknowledged.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        added = try HybridTimestamp(from: &reader)
        viewings = try WireList(from: &reader).values
        guard viewings.count <= Viewing.countMax,
            zip(viewings, viewings.dropFirst()).allSatisfy(<)
        else { throw .invalid("viewings that ascend") }
        acknowledged = try Vector(from: &reader)
        latestAcknowledged = try HybridTimestamp(from: &reader)
    }
}
