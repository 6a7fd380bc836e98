import CRDT
import Wire

/// The state of one participant in a conversation: how far they have read, and what they have
/// hidden and archived.
///
/// The state is a document of its own, so that archiving a conversation of a thousand participants
/// replicates only about a hundred bytes. A participant's first change creates the document, and
/// the document stays when the user leaves.
public struct ParticipantState: Hashable, Sendable {
    /// The user's element of the set of archivers; archiving wins over concurrent unarchiving.
    public internal(set) var archivedBy: ObservedRemoveSet<UserID>
    /// The times at which the user last archived and last unarchived the conversation.
    public internal(set) var archiveTimes = ChangeTimes()
    /// The mark up to which the user has read.
    public internal(set) var read: MaxRegister<Mark>?
    /// The mark up to which messages were delivered to one of the user's devices.
    public internal(set) var delivered: MaxRegister<Mark>?
    /// The part of the conversation that the user removed from their own view.
    public private(set) var hidden: Hidden?

    init() { archivedBy = ObservedRemoveSet() }

    public var isArchived: Bool { !archivedBy.isEmpty }

    mutating func raiseRead(to mark: Mark) { read = raised(read, to: mark) }

    mutating func raiseDelivered(to mark: Mark) { delivered = raised(delivered, to: mark) }

    mutating func hide(_ part: Hidden) {
        if hidden == nil { hidden = part } else { hidden?.merge(part) }
    }

    mutating func archive(for user: UserID, by operation: Stamp) {
        guard !operation.precedes(archiveTimes.removed(user)) else {
            return archivedBy.supersede(user, by: operation)
        }
        if !isArchived { archiveTimes.recordChange(user, .added, at: operation.time) }
        archivedBy.insert(user, by: operation)
    }

    mutating func unarchive(for user: UserID, by author: Authorship) {
        archivedBy.remove(user, by: author)
        archiveTimes.recordChange(user, .removed, at: author.stamp.time)
    }

    /// Returns when `user` last archived or unarchived the conversation; nil for neither.
    func archiveChanged(by user: UserID) -> HybridTimestamp? {
        archiveTimes.lastChange(of: user, isElement: isArchived)
    }

    mutating func merge(_ other: ParticipantState) {
        if let theirs = other.hidden { hide(theirs) }
        archivedBy.merge(other.archivedBy)
        archiveTimes.merge(other.archiveTimes)
        if let theirs = other.read { raiseRead(to: theirs.value) }
        if let theirs = other.delivered { raiseDelivered(to: theirs.value) }
    }

    var greatestTime: HybridTimestamp {
        [
            archivedBy.greatestTime, archiveTimes.greatest, read?.value.at ?? .zero,
            delivered?.value.at ?? .zero, hidden?.at ?? .zero,
        ].reduce(.zero, max)
    }

    private func raised(_ register: MaxRegister<Mark>?, to mark: Mark) -> MaxRegister<Mark> {
        guard var register else { return MaxRegister(mark) }
        register.raise(to: mark)
        return register
    }
}

/// The position up to which a user has read or received messages, and the invitation under which
/// the mark was made.
///
/// A mark made under an earlier invitation does not count: for a user who is invited again all
/// messages are unread. The mark under the later invitation is the greater one whatever its
/// position, so the maximum of two marks is still a join.
public struct Mark: Hashable, Sendable {
    /// The user's last invitation when the mark was made; nil for an initial participant who was
    /// never invited.
    public let invitation: Stamp?
    /// The position of the last message that the mark includes.
    public let position: HistoryPosition
    /// The time at which the mark was set; of several marks at the same position, the earliest
    /// time.
    ///
    /// The time is zero until the mark is set.
    public let at: HybridTimestamp

    public init(
        invitation: Stamp?, position: HistoryPosition, at: HybridTimestamp = .zero
    ) {
        self.invitation = invitation
        self.position = position
        self.at = at
    }

    func set(at time: HybridTimestamp) -> Mark {
        Mark(invitation: invitation, position: position, at: time)
    }

    /// Whether `other` is made under a later invitation, or reaches a later position under the same
    /// one; the times of the marks do not matter.
    func isBehind(_ other: Mark) -> Bool {
        switch (invitation, other.invitation) {
        case (nil, _?): true
        case (_?, nil): false
        case (let mine?, let theirs?) where mine != theirs: mine < theirs
        default: position < other.position
        }
    }
}

extension Mark: Comparable {
    /// Orders marks by invitation and position; of two marks at the same position the earlier is
    /// the greater, so that a merge keeps the earliest time.
    public static func < (left: Mark, right: Mark) -> Bool {
        if left.isBehind(right) { return true }
        return !right.isBehind(left) && right.at < left.at
    }
}

extension Mark: WireValue {
    public func encode(into writer: inout ByteWriter) {
        invitation.encode(into: &writer)
        position.encode(into: &writer)
        at.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        invitation = try Optional(from: &reader)
        position = try HistoryPosition(from: &reader)
        at = try HybridTimestamp(from: &reader)
    }
}

extension ParticipantState {
    private enum FieldNumber {
        static let archivedBy: UInt64 = 1
        static let read: UInt64 = 2
        static let delivered: UInt64 = 3
        static let hidden: UInt64 = 4
        static let archiveTimes: UInt64 = 5
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        if archivedBy != ObservedRemoveSet() { fields.set(FieldNumber.archivedBy, to: archivedBy) }
        fields.set(FieldNumber.read, to: read)
        fields.set(FieldNumber.delivered, to: delivered)
        fields.set(FieldNumber.hidden, to: hidden)
        if !archiveTimes.isEmpty { fields.set(FieldNumber.archiveTimes, to: archiveTimes) }
    }

    init(from fields: inout Fields) throws(WireError) {
        self.init()
        archivedBy = try fields.take(
            FieldNumber.archivedBy, orEmpty: ObservedRemoveSet(), "who archived it")
        read = try fields.take(FieldNumber.read)
        delivered = try fields.take(FieldNumber.delivered)
        hidden = try fields.take(FieldNumber.hidden)
        archiveTimes = try fields.take(
            FieldNumber.archiveTimes, orEmpty: ChangeTimes(), "times of changes")
    }
}
