import CRDT
import Wire

/// The progress of the participants of a conversation: how far each has read it, and up to where
/// it was delivered to them.
///
/// Derived from the participant states; only marks made under a participant's last invitation
/// count.
public struct Progress: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        let user: UserID
        let read: HistoryPosition?
        /// At least `read`: a message that was read was delivered.
        let delivered: HistoryPosition?
    }

    /// Ascending by user, without users that have no mark.
    private let entries: [Entry]

    public init() { entries = [] }

    /// - Parameter participantStates: the states of this conversation's participants, in any order;
    ///   some may be missing.
    public init(
        of participantStates: [(user: UserID, participantState: ParticipantState)],
        in conversation: Conversation
    ) {
        entries = participantStates.filter { conversation.participants.contains($0.user) }
            .map { user, participantState in
                let read = conversation.position(of: participantState.read, of: user)
                let delivered = conversation.position(of: participantState.delivered, of: user)
                return Entry(user: user, read: read, delivered: [read, delivered].greatest)
            }
            .filter { $0.delivered != nil }
            .sorted { $0.user < $1.user }
    }

    /// Returns the users who have read the message at `position`, without its sender; ascending.
    public func readers(of position: HistoryPosition, from sender: UserID) -> [UserID] {
        users(past: position, without: sender, by: \.read)
    }

    /// Returns the users to whom the message at `position` was delivered, without its sender;
    /// ascending.
    public func receivers(of position: HistoryPosition, from sender: UserID) -> [UserID] {
        users(past: position, without: sender, by: \.delivered)
    }

    private func users(
        past position: HistoryPosition, without sender: UserID,
        by mark: (Entry) -> HistoryPosition?
    ) -> [UserID] {
        entries.filter { entry in
            guard let reached = mark(entry) else { return false }
            return position <= reached && entry.user != sender
        }.map(\.user)
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
