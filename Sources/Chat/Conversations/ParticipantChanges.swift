import CRDT
import Wire

/// One change of the participants of a conversation: a user joined or left.
public struct ParticipantChange: Hashable, Sendable {
    public enum Kind: UInt8, Hashable, Sendable {
        case joined = 1
        case left = 2
    }

    /// The operation that made the change; its time is the time of the change.
    public let stamp: Stamp
    public let kind: Kind
    public let user: UserID
    /// The user who invited `user`, or `user` if they left.
    public let by: UserID

    public init(stamp: Stamp, kind: Kind, user: UserID, by: UserID) {
        self.stamp = stamp
        self.kind = kind
        self.user = user
        self.by = by
    }
}

/// The latest changes of the participants of a conversation, at most `countMax`.
///
/// An operation that two nodes executed counts as one change, since both executions have the same
/// stamp. A merge takes the union and keeps the `countMax` greatest changes. The merge is a join:
/// `countMax` kept changes are greater than a dropped change, so no later union would keep the
/// dropped change.
///
/// The initial participants are in the conversation's header and are not recorded as changes.
public struct ParticipantChanges: Hashable, Sendable {
    /// The most changes that are kept: about 20 KB with the longest names.
    public static let countMax = 100

    /// The changes, ascending by stamp; each occurs once.
    private var ascending: [ParticipantChange] = []

    init() {}

    /// The changes of the participants, beginning with the latest.
    public var latest: ReversedCollection<[ParticipantChange]> { ascending.reversed() }

    var isEmpty: Bool { ascending.isEmpty }

    var greatestTime: HybridTimestamp { ascending.last?.stamp.time ?? .zero }

    mutating func add(_ change: ParticipantChange) {
        merge(ParticipantChanges(ascending: [change]))
    }

    mutating func merge(_ other: ParticipantChanges) {
        guard self != other else { return }
        let union = mergedAscending(ascending, other.ascending, by: \.self) { mine, _ in mine }
        ascending = Array(union.suffix(ParticipantChanges.countMax))
    }

    private init(ascending: [ParticipantChange]) { self.ascending = ascending }
}

extension Conversation {
    /// Returns the changes that `user` sees, the latest first: the changes after the user hid the
    /// conversation.
    ///
    /// A hiding under an earlier invitation does not count.
    ///
    /// A hiding selects changes by time, but messages by vector: a change made on the other side of
    /// a network partition before the user hid the conversation stays hidden if it arrives later.
    public func changes(
        shownTo user: UserID, in participantState: ParticipantState?
    ) -> [ParticipantChange] {
        let hiddenAt = hidden(by: user, in: participantState)?.at ?? .zero
        return changes.latest.filter { $0.stamp.time > hiddenAt }
    }
}

extension ParticipantChange: Comparable {
    /// Orders changes by stamp; the comparisons of the other fields make the order total over any
    /// decoded bytes.
    public static func < (left: Self, right: Self) -> Bool {
        (left.stamp, left.kind.rawValue, left.user, left.by)
            < (right.stamp, right.kind.rawValue, right.user, right.by)
    }
}

extension ParticipantChange: WireValue {
    public func encode(into writer: inout ByteWriter) {
        stamp.encode(into: &writer)
        writer.write(kind.rawValue)
        writer.write(user)
        writer.write(by)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        stamp = try Stamp(from: &reader)
        guard let kind = Kind(rawValue: try reader.readByte()) else {
            throw .invalid("a kind of a change")
        }
        self.kind = kind
        user = try reader.readName()
        by = try reader.readName()
    }
}

extension ParticipantChanges: WireValue {
    public func encode(into writer: inout ByteWriter) { ascending.encode(into: &writer) }

    public init(from reader: inout ByteReader) throws(WireError) {
        ascending = try reader.readList(limit: ParticipantChanges.countMax)
        guard zip(ascending, ascending.dropFirst()).allSatisfy(<) else {
            throw .invalid("changes that ascend")
        }
    }
}
