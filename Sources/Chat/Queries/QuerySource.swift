import CRDT
import Wire

/// A failure of a read that may be the refusal of what was asked.
public protocol QueryFailure: Error {
    static func refused(_ refusal: Refusal) -> Self
}

/// The documents of a shard for queries, with changes that are not on disk yet.
public protocol QuerySource {
    associatedtype Failure: QueryFailure

    /// The time in milliseconds since 1970.
    var wallMilliseconds: UInt64 { get }

    /// Whether the key is one of the shard's.
    func holds(_ key: DocumentKey) -> Bool

    mutating func document(_ key: DocumentKey) throws(Failure) -> Document?

    /// Returns the document of a user's item, which earlier versions kept under another key.
    mutating func document(of item: ItemID, of owner: UserID) throws(Failure) -> Document?

    /// Returns the keys of the documents of a kind under a term of the index, and of all documents
    /// of the kind that are not on disk yet, ascending: the caller has to look at each.
    ///
    /// - Parameter partition: the only partition looked at; nil for all of the shard.
    mutating func keys(
        of kind: DocumentKey.Kind, carrying term: String, partition: String?
    ) throws(Failure) -> [DocumentKey]

    /// Returns the participant states of a conversation.
    mutating func participantStates(
        of conversation: ConversationID
    ) throws(Failure) -> [(user: UserID, participantState: ParticipantState)]

    /// Hands out the messages of a page of a conversation, without those of runs that contain
    /// nothing to be listed, until `handing` returns false.
    mutating func messages(
        _ page: HistoryPage, of conversation: ConversationID, passing: (CountedRun) -> Bool,
        handing: (Document) -> Bool
    ) throws(Failure)

    /// Returns the unread count, and the preview if it is wanted, of a conversation.
    mutating func tally(
        of conversation: ConversationID, _ chat: Conversation,
        _ participantState: ParticipantState?, for viewer: Viewer, wantsLast: Bool
    ) throws(Failure) -> Tally

    /// Whether a user has sent a message in a conversation, deleted or not.
    mutating func hasSent(
        _ user: UserID, in conversation: ConversationID, _ chat: Conversation
    ) throws(Failure) -> Bool

    /// Returns the state of the messages in this shard that a device was shown, and the oldest
    /// messages in it of which the device is to be notified.
    mutating func candidates(
        _ query: DueQuery, for viewer: Viewer
    ) throws(Failure) -> [NotificationCandidate]

    /// Returns whom a user has blocked.
    mutating func blocks(of user: UserID) throws(Failure) -> Blocks
}

/// The unread count and the preview of a conversation for one user.
public struct Tally: Sendable {
    public var unread = 0
    /// Whether there is a message that the user has not hidden, placeholders included.
    public var isSeen = false
    /// The newest message that the user sees and that is not deleted for everyone.
    public var last: ChatView.Preview?

    public init() {}
}

extension QuerySource {
    /// Returns a conversation for one of its participants.
    ///
    /// - Parameter refusal: why the query is refused where there is no such conversation.
    mutating func conversation(
        _ id: ConversationID, for viewer: Viewer,
        orRefusing refusal: Refusal = .conversationNotFound
    ) throws(Failure) -> Conversation {
        guard let chat = try document(.conversation(id))?.conversation else {
            throw .refused(refusal)
        }
        guard chat.participants.contains(viewer.user) else { throw .refused(.notParticipant) }
        return chat
    }

    /// Returns a message, deleted or not.
    mutating func message(
        _ id: MessageID, in conversation: ConversationID
    ) throws(Failure) -> Message {
        guard let message = try document(.message(id, in: conversation))?.message else {
            throw .refused(.messageNotFound)
        }
        return message
    }
}
