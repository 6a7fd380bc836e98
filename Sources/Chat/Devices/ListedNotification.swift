import CRDT
import Wire

/// The position of a notification in a device's list: the time of the message's sending, then a
/// hash of the message's name.
///
/// The notification's id encodes the position, so any node can determine which notifications
/// precede it.
public struct NotificationPlace: Hashable, Sendable {
    public let time: HybridTimestamp
    let hash: UInt64

    public init(of message: MessageID, in conversation: ConversationID, at time: HybridTimestamp) {
        self.time = time
        hash = checksum(of: message.text, seed: checksum(of: conversation.text))
    }

    /// The notification's id: 16 hexadecimal digits of the time, `-`, and 16 of the hash.
    public var id: NotificationID {
        NotificationID(checked: hexadecimal(time.bits) + "-" + hexadecimal(hash))
    }
}

extension NotificationPlace: Comparable {
    public static func < (left: NotificationPlace, right: NotificationPlace) -> Bool {
        (left.time, left.hash) < (right.time, right.hash)
    }
}

/// A message of which a device was notified, until the notification is acknowledged.
public struct ListedNotification: Hashable, Sendable {
    /// The most notifications listed for one device; further notifications are listed once some of
    /// these are acknowledged.
    public static let countMax = 1_000

    /// The dot of the message's sending.
    public let dot: Dot
    public let conversation: ConversationID
    public let message: MessageID
    public let place: NotificationPlace
    /// The seqs of the dot's replica id, up to the dot, that were examined when this entry was
    /// listed; an examined message without an entry needs no notification.
    ///
    /// An acknowledgement includes these seqs, so acknowledged notifications are stored as one
    /// range for each replica id and not as one for each message.
    public internal(set) var considered: SeqSet
    /// The kind in which the notification was last pushed under the id of its place; nil if no push
    /// is recorded.
    public internal(set) var pushed: PushedKind?

    /// The most ranges in `considered`; of more, the latest are kept, and later entries may add the
    /// dropped ones again.
    static let rangesMax = 8
    /// The most bytes of an entry: a dot, two names of full length, a time and the ranges.
    static let bytesMax = 24 + 2 * (nameBytesMax + 1) + 8 + rangesMax * 18

    public init(
        dot: Dot, conversation: ConversationID, message: MessageID, at time: HybridTimestamp,
        among seqs: SeqSet
    ) {
        self.dot = dot
        self.conversation = conversation
        self.message = message
        place = NotificationPlace(of: message, in: conversation, at: time)
        var considered = SeqSet(dot.seq...dot.seq)
        for range in seqs.ranges.filter({ $0.lowerBound <= dot.seq }).suffix(
            ListedNotification.rangesMax)
        {
            considered.insert(range.lowerBound...min(range.upperBound, dot.seq))
        }
        self.considered = considered
    }

    /// The document of the message; entries of several sendings of one message share it.
    public var document: DocumentKey { .message(message, in: conversation) }

    /// The entry with only its own seq in `considered`.
    ///
    /// A list that omits messages that are due consists of such entries: lower seqs may be those of
    /// omitted messages, which an acknowledgement of this entry must not include.
    public var consideringItselfOnly: ListedNotification {
        var entry = placed(at: place.time, among: SeqSet())
        entry.pushed = pushed
        return entry
    }

    /// Returns the entry without `dots` in `considered`: these are the sendings of other messages
    /// that are listed or due, which an acknowledgement of this entry must not include.
    func sparing(_ dots: Vector) -> ListedNotification {
        var entry = self
        entry.considered = considered.subtracting(dots.seqs(of: dot.replica))
        entry.considered.insert(dot.seq)
        return entry
    }

    /// Returns the entry with the place, and thus the notification id, of another sending of the
    /// same message that the device was already notified of.
    public func shown(as other: ListedNotification) -> ListedNotification {
        placed(at: other.place.time, among: considered)
    }

    private func placed(at time: HybridTimestamp, among seqs: SeqSet) -> ListedNotification {
        ListedNotification(
            dot: dot, conversation: conversation, message: message, at: time, among: seqs)
    }

    mutating func notePushed(as kind: PushedKind?) {
        pushed = [pushed, kind].compactMap(\.self).max()
    }

    /// Merges another entry of the same dot.
    ///
    /// Of two entries with different places, the one with the greater place wins, including its
    /// `considered` and `pushed`: a push under one id does not count for another id, and another
    /// replica may have forgotten the lesser place.
    mutating func merge(_ other: ListedNotification) {
        if sortsBefore(other) {
            self = other
        } else if !other.sortsBefore(self) {
            considered.formUnion(other.considered)
            notePushed(as: other.pushed)
        }
    }

    private func sortsBefore(_ other: ListedNotification) -> Bool {
        (place.time, conversation, message) < (other.place.time, other.conversation, other.message)
    }
}

/// The coding of an entry in a list, without `pushed`: the device's document stores that in another
/// field.
extension ListedNotification: WireValue {
    public func encode(into writer: inout ByteWriter) {
        dot.encode(into: &writer)
        writer.write(conversation)
        writer.write(message)
        place.time.encode(into: &writer)
        considered.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        dot = try Dot(from: &reader)
        conversation = try reader.readName()
        message = try reader.readName()
        place = NotificationPlace(
            of: message, in: conversation, at: try HybridTimestamp(from: &reader))
        considered = try SeqSet(from: &reader)
        guard considered.greatest == dot.seq, considered.ranges[0].lowerBound > 0 else {
            throw .invalid("what was considered up to it")
        }
    }
}
