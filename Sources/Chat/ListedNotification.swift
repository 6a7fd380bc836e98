import CRDT
import Wire

/// Where a notification stands among those of a device: by the time of the message's sending, then
/// by a hash of which message it is.
///
/// Its id says all of it, so that any node can tell what is listed before it.
public struct NotificationPlace: Hashable, Sendable {
    public let time: HybridTimestamp
    let hash: UInt64

    public init(of message: MessageID, in conversation: ConversationID, at time: HybridTimestamp) {
        self.time = time
        hash = checksum(of: message.text, seed: checksum(of: conversation.text))
    }

    /// 16 digits of the time, 16 of the hash.
    public var id: NotificationID {
        NotificationID(checked: hexadecimal(time.bits) + "-" + hexadecimal(hash))
    }
}

extension NotificationPlace: Comparable {
    public static func < (left: NotificationPlace, right: NotificationPlace) -> Bool {
        (left.time, left.hash) < (right.time, right.hash)
    }
}

/// A message of which a device was notified, until that is taken off.
public struct ListedNotification: Hashable, Sendable {
    /// The most of one device: who has that many before them gets the rest once some are taken
    /// off.
    public static let countMax = 1_000

    /// Of the message's sending.
    public let dot: Dot
    public let conversation: ConversationID
    public let message: MessageID
    public let place: NotificationPlace
    /// The seqs of the dot's replica, up to it, that were looked at when it was listed: what of
    /// them is not listed before it is not to be notified.
    ///
    /// So what is taken off stays one range a replica, and not one a message.
    public internal(set) var considered: SeqSet

    /// The most ranges of those; of more, the latest are kept, and the others may grow again by
    /// what is listed later.
    static let rangesMax = 8
    /// The most bytes of one: a dot, two long names, a time and those ranges.
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

    /// Two entries of one dot are of one sending; were they not, the lesser would win, so that the
    /// merge is a join over any bytes.
    mutating func merge(_ other: ListedNotification) {
        let seqs = considered
        if other.sortsBefore(self) { self = other }
        considered.formUnion(seqs)
        considered.formUnion(other.considered)
    }

    private func sortsBefore(_ other: ListedNotification) -> Bool {
        (place.time, conversation, message) < (other.place.time, other.conversation, other.message)
    }
}

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
