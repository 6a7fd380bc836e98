import CRDT
import Wire

/// One user's place in one conversation: what is theirs alone.
///
/// A document of its own, so that archiving in a conversation of a thousand re-sends a hundred
/// bytes. It exists from the first change on, and stays when its user leaves.
public struct ParticipantState: Hashable, Sendable {
    /// The user's element of the conversation's archivers: an archiving wins over an unarchiving
    /// that did not know of it.
    public internal(set) var archivedBy: ObservedRemoveSet<UserID>
    /// When they last archived it, and when they last took that back.
    public internal(set) var archiveTimes = ChangeTimes()
    /// Up to where they have read.
    public internal(set) var read: MaxRegister<Mark>?
    /// Up to where it came to one of their devices.
    public internal(set) var delivered: MaxRegister<Mark>?
    /// What they removed from their own view.
    public private(set) var hidden: Hidden?

    init() { archivedBy = ObservedRemoveSet() }

    public var isArchived: Bool { !archivedBy.isEmpty }

    mutating func raiseRead(to mark: Mark) { read = raised(read, to: mark) }

    mutating func raiseDelivered(to mark: Mark) { delivered = raised(delivered, to: mark) }

    mutating func hide(_ part: Hidden) {
        if hidden == nil { hidden = part } else { hidden?.merge(part) }
    }

    mutating func archive(for user: UserID, by operation: Stamp) {
        if !isArchived { archiveTimes.note(user, .added, at: operation.time) }
        archivedBy.insert(user, by: operation)
    }

    mutating func unarchive(for user: UserID, by author: Authorship) {
        archivedBy.remove(user, by: author)
        archiveTimes.note(user, .removed, at: author.stamp.time)
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

/// How far somebody came in a conversation, and under which invitation.
///
/// A mark of an earlier participation counts for nothing: who is invited again finds all unread.
/// Since a later invitation makes the greater mark whatever its position, the greatest is still
/// a join.
public struct Mark: Hashable, Sendable {
    /// The user's last invitation when the mark was made; nil for who was never invited but there
    /// from the beginning.
    public let invitation: Stamp?
    /// The last message that is behind them.
    public let position: HistoryPosition
    /// When it was set: of several that reach equally far, the first; zero before it is.
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

    /// Whether `other` reaches further, whenever either was set.
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
    /// Of two that reach equally far the earlier is the greater, so that the greatest is a join.
    public static func < (left: Mark, right: Mark) -> Bool {
        if left.isBehind(right) { return true }
        return !right.isBehind(left) && right.at < left.at
    }
}

extension Mark: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(invitation != nil)
        invitation?.encode(into: &writer)
        position.encode(into: &writer)
        at.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        invitation = try reader.readFlag() ? try Stamp(from: &reader) : nil
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
        if let read { fields.set(FieldNumber.read, to: read) }
        if let delivered { fields.set(FieldNumber.delivered, to: delivered) }
        if let hidden { fields.set(FieldNumber.hidden, to: hidden) }
        if !archiveTimes.isEmpty { fields.set(FieldNumber.archiveTimes, to: archiveTimes) }
    }

    init(from fields: inout Fields) throws(WireError) {
        self.init()
        if let bytes = fields.take(FieldNumber.archivedBy) {
            archivedBy = try ObservedRemoveSet.decode(bytes)
            guard archivedBy != ObservedRemoveSet() else { throw .invalid("who archived it") }
        }
        if let bytes = fields.take(FieldNumber.read) { read = try MaxRegister.decode(bytes) }
        if let bytes = fields.take(FieldNumber.delivered) {
            delivered = try MaxRegister.decode(bytes)
        }
        if let bytes = fields.take(FieldNumber.hidden) { hidden = try Hidden.decode(bytes) }
        if let bytes = fields.take(FieldNumber.archiveTimes) {
            archiveTimes = try ChangeTimes.decodeSome(bytes)
        }
    }
}
