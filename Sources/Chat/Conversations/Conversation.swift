import CRDT
import Wire

/// A conversation: its creation, its participants and their invitations.
///
/// During a network partition, one conversation id may be created several times. Creations by one
/// account are merged, and so are all creations without an account. Creations by different accounts
/// are kept apart, and the earliest of them determines the participants: nobody becomes a
/// participant of a conversation by creating its id again. Later creations, and the changes made to
/// them, stay in the document, but no user sees them.
public struct Conversation: Hashable, Sendable {
    /// The immutable part of a conversation, set when it is created.
    ///
    /// Of two headers that were created on two sides of a network partition, the earlier wins.
    public struct Header: Hashable, Sendable {
        public let created: Stamp
        /// The dot of the conversation's creation.
        public let dot: Dot
        public let creator: UserID
        /// The initial participants, ascending, including the creator.
        public let participants: [UserID]
        public let title: String?
        /// Whether the creator had signed in to an account.
        var isByAccount = false
    }

    /// The last invitation of a user: its time and its author.
    public struct Invitation: Hashable, Sendable {
        public let user: UserID
        public let stamp: Stamp
        public let by: UserID

        /// Whether this invitation precedes `other`, an invitation of the same user.
        ///
        /// Stamps are equal only for equal invitations; `by` makes the order total over any decoded
        /// bytes.
        func isEarlier(than other: Invitation) -> Bool {
            (stamp, by) < (other.stamp, other.by)
        }
    }

    /// The earliest creation, which users see.
    private var shown: Creation
    /// The later creations, by other accounts, ascending by header; users do not see them.
    private(set) var others: [Creation] = []

    init(header: Header) { shown = Creation(header: header) }

    public var header: Header { shown.header }

    public var participants: ObservedRemoveSet<UserID> { shown.participants }

    /// The last invitation of every user who was ever invited, including users who have left;
    /// ascending by user.
    public var invitations: [Invitation] { shown.invitations }

    /// The times at which users last left the conversation.
    public var departureTimes: ChangeTimes { shown.departureTimes }

    /// The latest changes of the participants: who joined and who left.
    public var changes: ParticipantChanges { shown.changes }

    /// Returns the stamp of the last invitation of `user`; nil if they were never invited.
    public func invitation(of user: UserID) -> Stamp? { lastInvitation(of: user)?.stamp }

    /// Returns when `user` last became a participant or left; nil if that is unknown.
    ///
    /// As in `ChangeTimes.lastChange`, no change to the contrary has a later time.
    func participationChanged(of user: UserID) -> HybridTimestamp? {
        let left = departureTimes.removed(user)
        guard participants.contains(user) else { return left }
        let joined = invitation(of: user)?.time ?? header.created.time
        return max(joined, left ?? .zero)
    }

    func lastInvitation(of user: UserID) -> Invitation? { shown.lastInvitation(of: user) }

    var greatestTime: HybridTimestamp {
        others.reduce(shown.greatestTime) { max($0, $1.greatestTime) }
    }

    mutating func invite(_ user: UserID, of host: UserID, by operation: Stamp) {
        shown.invite(user, of: host, by: operation)
    }

    mutating func leave(_ user: UserID, by author: Authorship) {
        shown.leave(user, by: author)
    }

    mutating func merge(_ other: Conversation) {
        let creations = mergedByKey(
            [shown] + others, [other.shown] + other.others, \.account, orderedBy: \.header
        ) { $0.merge($1) }
        (shown, others) = (creations[0], Array(creations.dropFirst()))
    }
}

extension Conversation.Header: Comparable {
    public static func == (left: Self, right: Self) -> Bool {
        left.created == right.created && left.creator == right.creator
            && left.participants == right.participants && haveSameBytes(left.title, right.title)
            && left.dot == right.dot && left.isByAccount == right.isByAccount
    }

    /// Orders the headers of one conversation by stamp.
    ///
    /// Equal stamps mean that several nodes executed one operation; then the least dot wins.
    ///
    /// The comparisons of the other fields make the order total over any decoded bytes.
    public static func < (left: Self, right: Self) -> Bool {
        guard left.created == right.created else { return left.created < right.created }
        guard left.creator == right.creator else { return left.creator < right.creator }
        guard haveSameBytes(left.title, right.title) else {
            return precedesInBytes(left.title, right.title)
        }
        guard left.participants == right.participants else {
            return left.participants.lexicographicallyPrecedes(right.participants)
        }
        guard left.dot == right.dot else { return left.dot < right.dot }
        return right.isByAccount && !left.isByAccount
    }
}

/// The stored fields of a conversation: the earliest creation has fields of its own, and the field
/// `others` contains the later creations if there are any.
extension Conversation {
    private enum FieldNumber {
        static let others: UInt64 = 6
        static let changes: UInt64 = 7
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        shown.write(to: &fields)
        fields.set(FieldNumber.others, toList: others)
        let changed = ([shown] + others).filter { !$0.changes.isEmpty }
        fields.set(
            FieldNumber.changes,
            toList: changed.map { ChangesOfCreation(created: $0.header.created, $0.changes) })
    }

    init(from fields: inout Fields) throws(WireError) {
        shown = try Creation(from: &fields)
        others = try fields.take(FieldNumber.others, orEmpty: [], "other creations")
        let changes: [ChangesOfCreation] = try fields.take(
            FieldNumber.changes, orEmpty: [], "changes of participants")
        for part in changes { take(part) }
        let creations = [shown] + others
        let isInOrder = zip(creations, others).allSatisfy { $0.header < $1.header }
        guard isInOrder, Set(creations.map(\.account)).count == creations.count else {
            throw .invalid("the creations of a conversation")
        }
    }

    /// Adds decoded participant changes to the creation with the same stamp.
    ///
    /// Changes without a matching creation are ignored: a node of an earlier version may have
    /// stored the changes of a creation without the creation.
    private mutating func take(_ part: ChangesOfCreation) {
        func isOwn(_ creation: Creation) -> Bool {
            creation.header.created == part.created && creation.changes.isEmpty
        }
        if isOwn(shown) {
            shown.changes = part.changes
        } else if let index = others.firstIndex(where: isOwn) {
            others[index].changes = part.changes
        }
    }
}

/// The latest participant changes of one creation of a conversation.
private struct ChangesOfCreation: Hashable, WireValue {
    let created: Stamp
    let changes: ParticipantChanges

    init(created: Stamp, _ changes: ParticipantChanges) {
        self.created = created
        self.changes = changes
    }

    func encode(into writer: inout ByteWriter) {
        created.encode(into: &writer)
        changes.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        created = try Stamp(from: &reader)
        changes = try ParticipantChanges(from: &reader)
        guard !changes.isEmpty else { throw .invalid("changes of participants") }
    }
}

extension Conversation.Invitation: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(user)
        stamp.encode(into: &writer)
        writer.write(by)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        stamp = try Stamp(from: &reader)
        by = try reader.readName()
    }
}

extension Conversation.Header: WireValue {
    public func encode(into writer: inout ByteWriter) {
        created.encode(into: &writer)
        dot.encode(into: &writer)
        writer.write(creator)
        participants.encode(into: &writer)
        writer.write(title)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        created = try Stamp(from: &reader)
        dot = try Dot(from: &reader)
        creator = try reader.readName()
        participants = try reader.readUsers()
        title = try reader.readOptionalText()
    }
}
