import CRDT
import Wire

/// A conversation: its creation, its participants and their invitations.
public struct Conversation: Hashable, Sendable {
    /// The immutable part of a conversation, set when it is created.
    ///
    /// Of two headers, created on two sides of a network partition, the earlier wins.
    public struct Header: Hashable, Sendable {
        public let created: Stamp
        /// The dot of the creation.
        public let dot: Dot
        public let creator: UserID
        /// Ascending; includes the creator.
        public let participants: [UserID]
        public let title: String?
    }

    /// The last invitation of a user: its time and its author.
    public struct Invitation: Hashable, Sendable {
        public let user: UserID
        public let stamp: Stamp
        public let by: UserID

        /// Whether this invitation precedes `other`, which is of the same user.
        ///
        /// Stamps are equal only for equal invitations; `by` makes the order total over any decoded
        /// bytes.
        func isEarlier(than other: Invitation) -> Bool {
            (stamp, by) < (other.stamp, other.by)
        }
    }

    public private(set) var header: Header
    public private(set) var participants: ObservedRemoveSet<UserID>
    /// The last invitation of every user who was ever invited, still in or not; ascending by user.
    public private(set) var invitations: [Invitation]
    /// The times at which participants last left.
    public private(set) var departureTimes = ChangeTimes()

    init(header: Header) {
        self.header = header
        participants = ObservedRemoveSet()
        invitations = []
        for user in header.participants { participants.insert(user, by: header.created) }
    }

    /// The stamp of the last invitation of `user`; nil where there was none.
    public func invitation(of user: UserID) -> Stamp? { lastInvitation(of: user)?.stamp }

    func lastInvitation(of user: UserID) -> Invitation? {
        let index = firstIndex(notBefore: user)
        guard index < invitations.count, invitations[index].user == user else { return nil }
        return invitations[index]
    }

    var greatestTime: HybridTimestamp {
        let times = [header.created.time, participants.greatestTime, departureTimes.greatest]
        return invitations.reduce(times.max() ?? .zero) {
            max($0, $1.stamp.time)
        }
    }

    /// Adds `user`; a user who is already in keeps their present invitation.
    mutating func invite(_ user: UserID, of host: UserID, by operation: Stamp) {
        let isIn = participants.contains(user)
        participants.insert(user, by: operation)
        if !isIn { mergeInvitation(Invitation(user: user, stamp: operation, by: host)) }
    }

    mutating func leave(_ user: UserID, by author: Authorship) {
        participants.remove(user, by: author)
        departureTimes.recordChange(user, .removed, at: author.stamp.time)
    }

    mutating func merge(_ other: Conversation) {
        header = min(header, other.header)
        participants.merge(other.participants)
        invitations = mergedAscending(invitations, other.invitations, by: \.user) { mine, theirs in
            mine.isEarlier(than: theirs) ? theirs : mine
        }
        departureTimes.merge(other.departureTimes)
    }

    /// Records an invitation; of two invitations of one user the later stays.
    private mutating func mergeInvitation(_ invitation: Invitation) {
        let index = firstIndex(notBefore: invitation.user)
        if index < invitations.count, invitations[index].user == invitation.user {
            if invitations[index].isEarlier(than: invitation) { invitations[index] = invitation }
        } else {
            invitations.insert(invitation, at: index)
        }
    }

    private func firstIndex(notBefore user: UserID) -> Int {
        var low = 0
        var high = invitations.count
        while low < high {
            let middle = (low + high) / 2
            if invitations[middle].user < user { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension Conversation.Header: Comparable {
    public static func == (left: Self, right: Self) -> Bool {
        left.created == right.created && left.creator == right.creator
            && left.participants == right.participants && haveSameBytes(left.title, right.title)
            && left.dot == right.dot
    }

    /// Orders headers by stamp; equal stamps mean one operation that several nodes executed, of
    /// which the least dot wins.
    ///
    /// The other comparisons make the order total over any decoded bytes.
    public static func < (left: Self, right: Self) -> Bool {
        guard left.created == right.created else { return left.created < right.created }
        guard left.creator == right.creator else { return left.creator < right.creator }
        guard haveSameBytes(left.title, right.title) else {
            return precedesInBytes(left.title, right.title)
        }
        guard left.participants == right.participants else {
            return left.participants.lexicographicallyPrecedes(right.participants)
        }
        return left.dot < right.dot
    }
}

extension Conversation {
    private enum FieldNumber {
        static let header: UInt64 = 1
        static let participants: UInt64 = 2
        static let invitations: UInt64 = 3
        static let departureTimes: UInt64 = 4
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.header, to: header)
        fields.set(FieldNumber.participants, to: participants)
        fields.set(FieldNumber.invitations, toList: invitations)
        if !departureTimes.isEmpty { fields.set(FieldNumber.departureTimes, to: departureTimes) }
    }

    init(from fields: inout Fields) throws(WireError) {
        guard let header = fields.removeField(FieldNumber.header),
            let participants = fields.removeField(FieldNumber.participants)
        else { throw .invalid("a header and participants") }
        self.header = try Header.decode(header)
        self.participants = try ObservedRemoveSet.decode(participants)
        invitations = try fields.take(FieldNumber.invitations, orEmpty: [], "invitations")
            .ascending("invitations", by: \.user)
        departureTimes = try fields.take(
            FieldNumber.departureTimes, orEmpty: ChangeTimes(), "times of changes")
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
