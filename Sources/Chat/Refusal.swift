/// Why a request is not carried out: a rule of chat, not a failure.
public enum Refusal: Error, Hashable, Sendable {
    case conversationNotFound
    case messageNotFound
    case notParticipant
    /// Not the sender, deleted, or sent too long ago.
    case editForbidden
    case notSender
    /// Created before with another creator, set of users or title.
    case conversationExists
    /// Sent before by another sender or with another text.
    case messageExists
    /// Pinning what is deleted for everyone.
    case messageDeleted
    case tooManyEdits
}
