import CRDT
import Wire

/// The progress of the participants of a conversation: how far each has read it, and up to where
/// it was delivered to them.
///
/// Derived from the participant states; only marks made under a participant's last invitation
/// count.
public struct Progress: Hashable, Sendable {
    /// The marks of one kind, at most one of each user.
    private struct Marks: Hashable, Sendable {
        /// Ascending.
        private var users: [UserID] = []
        /// The position of each user.
        private var positions: [HistoryPosition] = []
        /// The least and the greatest position; nil without marks.
        private var range: ClosedRange<HistoryPosition>?

        mutating func append(_ position: HistoryPosition, of user: UserID) {
            users.append(user)
            positions.append(position)
            range =
                min(
                    range?.lowerBound ?? position, position)...max(
                    range?.upperBound ?? position, position)
        }

        /// Returns the users whose marks are at `position` or behind it, without one; ascending.
        func users(past position: HistoryPosition, without other: UserID) -> [UserID] {
            guard let range, position <= range.upperBound else { return [] }
            var left = users.partitioningIndex { $0 >= other }
            if left < users.count, users[left] != other { left = users.count }
            // All have come past nearly every message of a long history: the array is shared.
            guard range.lowerBound < position else {
                guard left < users.count else { return users }
                return Array(users[..<left] + users[(left + 1)...])
            }
            // 1,000 messages times 1,000 participants: a million comparisons, so times come first.
            func isPast(_ index: Int) -> Bool {
                let time = positions[index].time
                return time == position.time
                    ? position <= positions[index] : position.time < time
            }
            var found: [UserID] = []
            // Exactly: a page holds two arrays for each of its messages.
            found.reserveCapacity(users.indices.count { $0 != left && isPast($0) })
            for index in users.indices where index != left && isPast(index) {
                found.append(users[index])
            }
            return found
        }
    }

    private var read = Marks()
    /// At least those of `read`: a message that was read was delivered.
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

    /// Returns the users who have read the message at `position`, without its sender; ascending.
    public func readers(of position: HistoryPosition, from sender: UserID) -> [UserID] {
        read.users(past: position, without: sender)
    }

    /// Returns the users to whom the message at `position` was delivered, without its sender;
    /// ascending.
    public func receivers(of position: HistoryPosition, from sender: UserID) -> [UserID] {
        delivered.users(past: position, without: sender)
    }
}

extension Conversation {
    /// Returns the position up to which `user` has read; nil where no mark counts.
    public func readPosition(of user: UserID, in participantState: ParticipantState?)
        -> HistoryPosition?
    {
        position(of: participantState?.read, of: user)
    }

    /// Returns a mark of `user` at `position`, under their last invitation.
    public func mark(of user: UserID, at position: HistoryPosition) -> Mark {
        Mark(invitation: invitation(of: user), position: position)
    }

    /// Returns the mark of `user` in `register`; nil where there is none under their last
    /// invitation.
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
