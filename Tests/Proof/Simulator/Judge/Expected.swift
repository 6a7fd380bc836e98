import CRDT
import Chat
import Node
import Wire

/// The views of one conversation that its users must be shown, derived from the changes on a disk.
///
/// As naive as `Model`, on which it builds: it reads everything each time and caches nothing.
struct Expected {
    let id: ConversationID
    private let conversation: Model
    /// The messages in the order in which they were sent.
    private let messages: [(position: HistoryPosition, model: Model)]
    private let participantStates: [UserID: Model]

    /// Nil if the disk has no such conversation.
    init?(_ id: ConversationID, on disk: ShardDisk, in ledger: Ledger) {
        var conversation: Model?
        var messages: [(position: HistoryPosition, model: Model)] = []
        var participantStates: [UserID: Model] = [:]
        for key in disk.keys where key.partition == id.text {
            guard let stored = disk.documents[key] else { continue }
            let model = Model(of: key, changedBy: stored.changedBy, in: ledger)
            switch key.kind {
            case .conversation: conversation = model
            case .participantState: participantStates[UserID(checked: key.id)] = model
            default:
                let message = MessageID(checked: key.id)
                messages.append((HistoryPosition(time: stored.time, id: message), model))
            }
        }
        guard let conversation else { return nil }
        self.id = id
        self.conversation = conversation
        self.messages = messages.sorted { $0.position < $1.position }
        self.participantStates = participantStates
    }

    var participants: [UserID] { conversation.participants }

    /// Returns the messages that `user` sees, oldest first, including those deleted for everyone.
    func shown(to user: UserID) -> [(position: HistoryPosition, model: Model)] {
        let hidden = hiddenVector(of: user)
        return messages.filter { message in
            guard message.model.header != nil, !message.model.hiddenBy.contains(user) else {
                return false
            }
            return !message.model.sendings.contains { hidden?.contains($0) ?? false }
        }
    }

    /// Whether the conversation is in `user`'s chat list.
    func isListed(for user: UserID) -> Bool {
        participants.contains(user) && (hiddenVector(of: user) == nil || !shown(to: user).isEmpty)
    }

    private func hiddenVector(of user: UserID) -> Vector? {
        guard let hidden = participantStates[user]?.hidden,
            hidden.invitation == conversation.invitation(of: user)
        else { return nil }
        return hidden.vector
    }

    func isArchived(by user: UserID) -> Bool { participantStates[user]?.isArchived ?? false }

    private func reached(_ user: UserID, _ verb: String) -> HistoryPosition? {
        guard let mark = participantStates[user]?.greatestMark(of: verb),
            mark.invitation == conversation.invitation(of: user)
        else { return nil }
        return mark.position
    }

    func readers(of position: HistoryPosition, from sender: UserID?) -> [UserID] {
        participants.filter { user in
            user != sender && reached(user, "read").map { position <= $0 } ?? false
        }
    }

    func receivers(of position: HistoryPosition, from sender: UserID?) -> [UserID] {
        participants.filter { user in
            user != sender
                && ["read", "deliver"].contains { verb in
                    reached(user, verb).map { position <= $0 } ?? false
                }
        }
    }

    func unread(for user: UserID) -> Int {
        let read = reached(user, "read")
        return shown(to: user).count { position, model in
            !model.isRetracted && model.author != user && read.map { $0 < position } ?? true
        }
    }

    /// The newest message that the user sees and that is not deleted for everyone.
    func last(for user: UserID) -> (id: MessageID, text: String?)? {
        shown(to: user).last { !$0.model.isRetracted }.map { ($0.position.id, $0.model.lastText) }
    }

    /// The pinned messages, in descending order of their pins' stamps.
    func pinned(for user: UserID) -> [MessageID] {
        shown(to: user).compactMap { position, model in
            model.isRetracted ? nil : model.pinnedAt.map { ($0, position.id) }
        }.sorted { $0.0 > $1.0 }.map(\.1)
    }
}
