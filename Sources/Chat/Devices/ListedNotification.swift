import CRDT
import Wire

/// The position of a notification among those of a device: the time of the message's sending, then
/// a hash of the message's name.
///
/// The notification's id encodes the position, so any node can tell what is listed before it.
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
    /// The most notifications listed for one device; the rest are listed once some are
    /// acknowledged.
    public static let countMax = 1_000

    /// The dot of the message's sending.
    public let dot: Dot
    public let conversation: ConversationID
    public let message: MessageID
    public let place: NotificationPlace
    /// The seqs of the dot's replica, up to the dot, that were examined when this was listed; of
    /// these, a message that is not listed needs no notification.
    ///
    /// Acknowledged notifications thus stay one range for each replica, and not one for each
    /// message.
    public internal(set) var considered: SeqSet
    /// As what it was pushed, under the id of its place; nil where nothing says that it was.
    public internal(set) var pushed: PushedKind?

    /// The most ranges in `considered`; of more, the latest are kept, and later entries may add the
    /// others again.
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

    /// The entry with its own seq alone in `considered`.
    ///
    /// A list that leaves out messages that are due consists of such entries: the lower seqs may be
    /// those of the messages left out, which an acknowledgement must not pass over.
    public var consideringItselfOnly: ListedNotification {
        var entry = placed(at: place.time, among: SeqSet())
        entry.pushed = pushed
        return entry
    }

    /// The entry without the other sendings of messages that are listed or due: who acknowledges
    /// this one passes over none of those.
    func sparing(_ dots: Vector) -> ListedNotification {
        var entry = self
        entry.considered = considered.subtracting(dots.seqs(of: dot.replica))
        entry.considered.insert(dot.seq)
        return entry
    }

    /// The entry at the place, and so with the id, of another sending of the same message that the
    /// device was shown.
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
    /// Of two places the greater wins, with what was considered and pushed there: a device that was
    /// told another id knows nothing of this one. The lesser one may have been forgotten elsewhere.
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

/// The form of an entry in a list, in which what was pushed of it is not: the device has that.
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
