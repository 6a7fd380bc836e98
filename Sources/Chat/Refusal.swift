/// Why a request is not carried out: a rule of chat, not a failure; the numbers are on wires.
public enum Refusal: UInt8, Error, CaseIterable, Hashable, Sendable {
    case conversationNotFound = 1
    case messageNotFound = 2
    case notParticipant = 3
    /// Not the sender, deleted, or sent too long ago.
    case editForbidden = 4
    case notSender = 5
    /// Created before with another creator, set of users or title.
    case conversationExists = 6
    /// Sent before by another sender or with another text.
    case messageExists = 7
    /// Pinning what is deleted for everyone.
    case messageDeleted = 8
    case tooManyEdits = 9
    case tooManyParticipants = 10
    /// Of a user who never set any of it.
    case profileNotFound = 11
    /// Also of one that is deleted.
    case itemNotFound = 12
    case notOwner = 13
    /// Added before by another owner, or as something else.
    case itemExists = 14
    /// Of a device that was never added, or is removed.
    case deviceNotFound = 20
    case tooManyDevices = 21
    /// It keeps all who were ever in it, and can keep no more.
    case conversationFull = 22
    /// The same of what a device was notified of.
    case deviceFull = 23
    case documentFull = 24
    /// Too many processes have written to its shard for another to begin.
    case shardFull = 25
}
