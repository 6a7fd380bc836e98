import CRDT
import Wire

/// How far each participant of a conversation has read it, and how far it came to them.
///
/// Derived from the participant states: only marks count that were made under a participant's last
/// invitation.
public struct Progress: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        let user: UserID
        let read: HistoryPosition?
        /// What was read was delivered.
        let delivered: HistoryPosition?
    }

    /// Ascending by user, those without any mark left out.
    private let entries: [Entry]

    public init() { entries = [] }

    /// - Parameter participantStates: of this conversation, in any order; some may be missing.
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

    /// Who has read the message at `position`, its sender left out; ascending.
    public func readers(of position: HistoryPosition, from sender: UserID) -> [UserID] {
        users(past: position, without: sender, by: \.read)
    }

    /// To whom the message at `position` was delivered, its sender left out; ascending.
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
    /// Up to where `user` has read, as their participant state says; nil where nothing counts.
    public func readPosition(of user: UserID, in participantState: ParticipantState?)
        -> HistoryPosition?
    {
        position(of: participantState?.read, of: user)
    }

    /// The mark that `user` is to set at `position`.
    public func mark(of user: UserID, at position: HistoryPosition) -> Mark {
        Mark(invitation: invitation(of: user), position: position)
    }

    /// How far `user` has come, as their participant state says; nil where nothing counts.
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
