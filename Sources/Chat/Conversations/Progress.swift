import CRDT
import Wire

/// The progress of a conversation's participants: the last message that each of them has read, and
/// the last one that was delivered to them.
///
/// The progress is computed from the participant states; marks under earlier invitations do not
/// count.
public struct Progress: Hashable, Sendable {
    /// The marks of one kind, at most one of each user.
    private struct Marks: Hashable, Sendable {
        /// The users that have a mark, ascending.
        private var users: [UserID] = []
        /// The marked position of each user, in the order of `users`.
        private var positions: [HistoryPosition] = []
        /// The least and the greatest of `positions`; nil if there are no marks.
        private var range: ClosedRange<HistoryPosition>?

        mutating func append(_ position: HistoryPosition, of user: UserID) {
            users.append(user)
            positions.append(position)
            range =
                min(
                    range?.lowerBound ?? position, position)...max(
                    range?.upperBound ?? position, position)
        }

        /// Returns the users, except `other`, whose marks are at `position` or later; ascending.
        func users(past position: HistoryPosition, without other: UserID) -> [UserID] {
            guard let range, position <= range.upperBound else { return [] }
            var left = users.partitioningIndex { $0 >= other }
            if left < users.count, users[left] != other { left = users.count }
            // Every user has read nearly all messages of a long history: for those messages the
            // array `users` is returned without a copy.
            guard range.lowerBound < position else {
                guard left < users.count else { return users }
                return Array(users[..<left] + users[(left + 1)...])
            }
            // A page of 1,000 messages in a conversation of 1,000 participants needs a million
            // comparisons, so the cheap comparison of times comes first.
            func isPast(_ index: Int) -> Bool {
                let time = positions[index].time
                return time == position.time
                    ? position <= positions[index] : position.time < time
            }
            var found: [UserID] = []
            // The exact capacity saves memory: a page has two arrays for each of its messages.
            found.reserveCapacity(users.indices.count { $0 != left && isPast($0) })
            for index in users.indices where index != left && isPast(index) {
                found.append(users[index])
            }
            return found
        }
    }

    private var read = Marks()
    /// The marks of delivery; a user's position is never before their position in `read`, since a
    /// message that was read was delivered.
    private var delivered = Marks()

    public init() {}

    /// - Parameter participantStates: the states of this conversation's participants, in any order;
    ///   some may be missing.
    public init(
        of participantStates: [(user: UserID, participantState: ParticipantState)],
        in conversation: Conversation
    ) {
        let ascending = participantStates.filter { conversation.participants.contains($0.user) }
            .sorted { $0.user < $1.user }
        for (user, state) in ascending {
            let read = conversation.position(of: state.read, of: user)
            let delivered = conversation.position(of: state.delivered, of: user)
            if let read { self.read.append(read, of: user) }
            if let reached = [read, delivered].greatest {
                self.delivered.append(reached, of: user)
            }
        }
    }

    /// Returns the users, except the sender, who have read the message at `position`; ascending.
    public func readers(of position: HistoryPosition, from sender: UserID) -> [UserID] {
        read.users(past: position, without: sender)
    }

    /// Returns the users, except the sender, to whom the message at `position` was delivered;
    /// ascending.
    public func receivers(of position: HistoryPosition, from sender: UserID) -> [UserID] {
        delivered.users(past: position, without: sender)
    }
}

extension Conversation {
    /// Returns the position up to which `user` has read; nil if the user has no mark under their
    /// last invitation.
    public func readPosition(of user: UserID, in participantState: ParticipantState?)
        -> HistoryPosition?
    {
        position(of: participantState?.read, of: user)
    }

    /// Returns a mark of `user` at `position`, under their last invitation.
    public func mark(of user: UserID, at position: HistoryPosition) -> Mark {
        Mark(invitation: invitation(of: user), position: position)
    }

    /// Returns the mark of `user` in `register`; nil if the register has no mark under the user's
    /// last invitation.
    public func mark(of user: UserID, in register: MaxRegister<Mark>?) -> Mark? {
        guard let mark = register?.value, mark.invitation == invitation(of: user) else {
            return nil
        }
        return mark
    }

    func position(of register: MaxRegister<Mark>?, of user: UserID) -> HistoryPosition? {
        mark(of: user, in: register)?.position
    }
}

extension [HistoryPosition?] {
    var greatest: HistoryPosition? { compactMap(\.self).max() }
}
