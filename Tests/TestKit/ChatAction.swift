import Chat
import Wire

/// An action on a document of a conversation, with the names of the document.
public enum ChatAction: Sendable {
    case conversation(any ConversationAction)
    case message(MessageID, any MessageAction)
    case participant(any ParticipantAction)
    case file(FileID, any FileAction)
    case part(PartID, of: FileID, any FilePartAction)

    public var action: any DocumentAction {
        switch self {
        case .conversation(let action): action
        case .message(_, let action): action
        case .participant(let action): action
        case .file(_, let action): action
        case .part(_, _, let action): action
        }
    }
}

extension Mutation {
    public convenience init(_ change: ChatAction, in conversation: ConversationID, by user: UserID)
    {
        let key: DocumentKey =
            switch change {
            case .conversation: .conversation(conversation)
            case .message(let message, _): .message(message, in: conversation)
            case .participant: .participantState(user, in: conversation)
            case .file(let file, _): .file(file, in: conversation)
            case .part(let part, let file, _): .part(part, of: file, in: conversation)
            }
        self.init(change.action, at: key, by: user)
    }
}
