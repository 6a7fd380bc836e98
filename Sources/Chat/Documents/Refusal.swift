/// The reason why a request is refused: a rule of chat, not a failure; the numbers are on the wire.
public enum Refusal: UInt8, Error, CaseIterable, Hashable, Sendable {
    case conversationNotFound = 1
    case messageNotFound = 2
    case notParticipant = 3
    /// The user is not the sender, or the message is deleted or was sent too long ago.
    case editForbidden = 4
    case notSender = 5
    /// The conversation was created with another creator, set of users or title.
    case conversationExists = 6
    /// The message was sent by another user or with another text.
    case messageExists = 7
    /// A message that is deleted for everyone cannot be pinned.
    case messageDeleted = 8
    case tooManyEdits = 9
    case tooManyParticipants = 10
    /// The user never set a profile.
    case profileNotFound = 11
    /// The item does not exist or is deleted.
    case itemNotFound = 12
    case notOwner = 13
    /// The user has added an item under this id with other content.
    case itemExists = 14
    /// The device was never added, or is removed.
    case deviceNotFound = 20
    case tooManyDevices = 21
    /// The document, which keeps all users who were ever in the conversation, has reached its
    /// limit.
    case conversationFull = 22
    /// The device's document, which keeps what it was notified of, has reached its limit.
    case deviceFull = 23
    case documentFull = 24
    /// Too many processes have written to the shard for another one to begin.
    case shardFull = 25
    /// Another account signs in with this e-mail address.
    case emailInUse = 30
    /// There is no such account, or it is removed.
    case accountNotFound = 31
    case accountDisabled = 32
    case signInEnded = 33
    /// The refresh token was replaced by another one.
    case refreshTokenUsed = 36
    /// The refresh token was issued after what this replica knows of the sign-in.
    case signInBehind = 37
    /// Newer sign-ins of the account have taken the place of this one.
    case signInDisplaced = 39
    /// The password by which the sign-in was judged was changed, or its account removed.
    case signInSuperseded = 40
    /// The password that was compared is not the one that this replica has.
    case passwordUnsettled = 41
    /// As many sign-ins have ended within ten minutes as nodes keep.
    case tooManyRevocations = 42
    /// The file does not exist, is not whole yet, or is closed.
    case fileNotFound = 34
    /// The file was uploaded by another user or with other content, or belongs to another message.
    case fileExists = 35
    /// The file that is sent as the preview of another has more bytes than a preview may have.
    case previewTooLarge = 38
    /// The user has blocked as many others as one may.
    case tooManyBlocked = 43
    /// A user who was to be added has blocked the one who adds them.
    case blockedByUser = 44
    /// Nobody can block themselves.
    case userThemselves = 45
    /// A user who was to be added has no account.
    case userNotFound = 46
    /// A user who was to be added does not know the one who adds them, and has not answered as many
    /// conversations as strangers may add a user to.
    case tooManyStrangers = 47
    /// The user has uploaded as many bytes that are not sent as one may.
    case tooManyUnsentBytes = 48
}
