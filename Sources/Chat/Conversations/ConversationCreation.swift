import CRDT
import Wire

extension Conversation {
    /// One creation of a conversation, and the participants that resulted from later changes.
    struct Creation: Hashable, Sendable {
        private(set) var header: Header
        private(set) var participants: ObservedRemoveSet<UserID>
        /// The last invitation of every user who was ever invited, including users who have left;
        /// ascending by user.
        private(set) var invitations: [Invitation]
        /// The times at which users last left the conversation.
        private(set) var departureTimes = ChangeTimes()
        /// The latest changes of the participants: who joined and who left.
        var changes = ParticipantChanges()

        init(header: Header) {
            self.header = header
            participants = ObservedRemoveSet()
            invitations = []
            for user in header.participants { participants.insert(user, by: header.created) }
        }

        /// The user whose account created the conversation; nil if the creator had no account.
        ///
        /// All creations without an account count as one.
        var account: UserID? {
            #if PlantedBugs
                if PlantedBug.laterCreationJoins.isOn { return nil }
            #endif
            return header.isByAccount ? header.creator : nil
        }

        func lastInvitation(of user: UserID) -> Invitation? {
            let index = firstIndex(notBefore: user)
            guard index < invitations.count, invitations[index].user == user else { return nil }
            return invitations[index]
        }

        var greatestTime: HybridTimestamp {
            let times = [
                header.created.time, participants.greatestTime, departureTimes.greatest,
                changes.greatestTime,
            ]
            return invitations.reduce(times.max() ?? .zero) { max($0, $1.stamp.time) }
        }

        /// Adds `user` to the participants; a present participant keeps their present invitation.
        mutating func invite(_ user: UserID, of host: UserID, by operation: Stamp) {
            guard !operation.precedes(departureTimes.removed(user)) else {
                return participants.supersede(user, by: operation)
            }
            let isIn = participants.contains(user)
            participants.insert(user, by: operation)
            guard !isIn else { return }
            mergeInvitation(Invitation(user: user, stamp: operation, by: host))
            changes.add(
                ParticipantChange(stamp: operation, kind: .joined, user: user, by: host))
        }

        mutating func leave(_ user: UserID, by author: Authorship) {
            let isIn = participants.contains(user)
            participants.remove(user, by: author)
            departureTimes.recordChange(user, .removed, at: author.stamp.time)
            // A user who has already left may leave again, and who was invited later is still a
            // participant; that is no change of the participants.
            guard isIn, !participants.contains(user) else { return }
            changes.add(ParticipantChange(stamp: author.stamp, kind: .left, user: user, by: user))
        }

        /// Merges another creation by the same account, or another one without an account.
        mutating func merge(_ other: Creation) {
            header = min(header, other.header)
            participants.merge(other.participants)
            invitations = mergedAscending(
                invitations, other.invitations, by: \.user
            ) { mine, theirs in
                mine.isEarlier(than: theirs) ? theirs : mine
            }
            departureTimes.merge(other.departureTimes)
            changes.merge(other.changes)
        }

        /// Records an invitation; of two invitations of one user the later is kept.
        private mutating func mergeInvitation(_ invitation: Invitation) {
            let index = firstIndex(notBefore: invitation.user)
            if index < invitations.count, invitations[index].user == invitation.user {
                if invitations[index].isEarlier(than: invitation) {
                    invitations[index] = invitation
                }
            } else {
                invitations.insert(invitation, at: index)
            }
        }

        private func firstIndex(notBefore user: UserID) -> Int {
            invitations.partitioningIndex { $0.user >= user }
        }
    }
}

extension Conversation.Creation {
    private enum FieldNumber {
        static let header: UInt64 = 1
        static let participants: UInt64 = 2
        static let invitations: UInt64 = 3
        static let departureTimes: UInt64 = 4
        static let byAccount: UInt64 = 5
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.header, to: header)
        fields.set(FieldNumber.participants, to: participants)
        fields.set(FieldNumber.invitations, toList: invitations)
        if !departureTimes.isEmpty { fields.set(FieldNumber.departureTimes, to: departureTimes) }
        if header.isByAccount { fields.set(FieldNumber.byAccount) { _ in } }
    }

    init(from fields: inout Fields) throws(WireError) {
        guard let header = fields.removeField(FieldNumber.header),
            let participants = fields.removeField(FieldNumber.participants)
        else { throw .invalid("a header and participants") }
        self.header = try Conversation.Header.decode(header)
        self.participants = try ObservedRemoveSet.decode(participants)
        invitations = try fields.take(FieldNumber.invitations, orEmpty: [], "invitations")
            .ascending("invitations", by: \.user)
        departureTimes = try fields.take(
            FieldNumber.departureTimes, orEmpty: ChangeTimes(), "times of changes")
        if let bytes = fields.removeField(FieldNumber.byAccount) {
            guard bytes.isEmpty else { throw .invalid("a mark of an account") }
            self.header.isByAccount = true
        }
    }
}

/// The coding of a creation that is not the earliest of its conversation.
extension Conversation.Creation: WireValue {
    func encode(into writer: inout ByteWriter) {
        header.encode(into: &writer)
        writer.write(header.isByAccount)
        participants.encode(into: &writer)
        invitations.encode(into: &writer)
        departureTimes.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        header = try Conversation.Header(from: &reader)
        header.isByAccount = try reader.readFlag()
        participants = try ObservedRemoveSet(from: &reader)
        let invitations: [Conversation.Invitation] = try reader.readList()
        self.invitations = try invitations.ascending("invitations", by: \.user)
        departureTimes = try ChangeTimes(from: &reader)
    }
}
