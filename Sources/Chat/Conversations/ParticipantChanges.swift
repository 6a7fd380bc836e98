import CRDT
import Wire

/// One change of who the participants of a conversation are.
public struct ParticipantChange: Hashable, Sendable {
    public enum Kind: UInt8, Hashable, Sendable {
        case joined = 1
        case left = 2
    }

    /// The operation that made the change; its time is the time of the change.
    public let stamp: Stamp
    public let kind: Kind
    public let user: UserID
    /// The user who invited, or who left.
    public let by: UserID

    public init(stamp: Stamp, kind: Kind, user: UserID, by: UserID) {
        self.stamp = stamp
        self.kind = kind
        self.user = user
        self.by = by
    }
}

/// The latest changes of who the participants of a conversation are, at most `countMax`.
///
/// An operation that two nodes executed is one change, by its stamp. A merge takes the union and
/// keeps the `countMax` greatest changes. That is a join: a dropped change is less than `countMax`
/// kept ones, so no later union would keep it.
///
/// The initial participants are in the header and are not recorded as changes.
public struct ParticipantChanges: Hashable, Sendable {
    /// About 20 KB with the longest names.
    public static let countMax = 100

    /// Ascending, each once.
    private var ascending: [ParticipantChange] = []

    init() {}

    /// The latest first.
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
    /// Returns the changes that `user` sees, the latest first: those after the user hid the
    /// conversation, where that was under their last invitation.
    ///
    /// Hiding cuts changes by time, and messages by vector: a change made on the other side of a
    /// network partition before the user hid the conversation is not shown.
    public func changes(
        shownTo user: UserID, in participantState: ParticipantState?
    ) -> [ParticipantChange] {
        let hiddenAt = hidden(by: user, in: participantState)?.at ?? .zero
        return changes.latest.filter { $0.stamp.time > hiddenAt }
    }
}

extension ParticipantChange: Comparable {
    /// Orders changes by stamp; the other comparisons make the order total over any decoded bytes.
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
