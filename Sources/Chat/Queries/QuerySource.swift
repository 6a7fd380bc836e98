import CRDT
import Wire

/// A failure of a read, which can also be the refusal of the query.
public protocol QueryFailure: Error {
    static func refused(_ refusal: Refusal) -> Self
}

/// The documents of a shard that queries read, including changes that are not on disk yet.
public protocol QuerySource {
    associatedtype Failure: QueryFailure

    /// The present time in milliseconds since 1970.
    var wallMilliseconds: UInt64 { get }

    /// Whether the key belongs to a document of this shard.
    func holds(_ key: DocumentKey) -> Bool

    mutating func document(_ key: DocumentKey) throws(Failure) -> Document?

    /// Returns the document of a user's item, even if an earlier version used another key for it.
    mutating func document(of item: ItemID, of owner: UserID) throws(Failure) -> Document?

    /// Returns, in ascending order, the keys of the documents of a kind that the index lists under
    /// a term, and of all documents of the kind that are not on disk yet. The caller has to check
    /// each document.
    ///
    /// - Parameter partition: the only partition to search; nil for all partitions of the shard.
    mutating func keys(
        of kind: DocumentKey.Kind, carrying term: String, partition: String?
    ) throws(Failure) -> [DocumentKey]

    /// Returns the participant states of a conversation, each with its user.
    mutating func participantStates(
        of conversation: ConversationID
    ) throws(Failure) -> [(user: UserID, participantState: ParticipantState)]

    /// Passes the messages of a page of a conversation to `handing` until that returns false. Runs
    /// of messages of which `passing` returns true contain nothing to list, and are left out.
    mutating func messages(
        _ page: HistoryPage, of conversation: ConversationID, passing: (CountedRun) -> Bool,
        handing: (Document) -> Bool
    ) throws(Failure)

    /// Returns the unread count of a conversation, and the preview if `wantsLast` is true.
    mutating func tally(
        of conversation: ConversationID, _ chat: Conversation,
        _ participantState: ParticipantState?, for viewer: Viewer, wantsLast: Bool
    ) throws(Failure) -> Tally

    /// Whether a user has sent a message in a conversation; deleted messages count, too.
    mutating func hasSent(
        _ user: UserID, in conversation: ConversationID, _ chat: Conversation
    ) throws(Failure) -> Bool

    /// Returns the state of those messages in this shard that a device shows, and the oldest
    /// messages in this shard of which the device has to be notified.
    mutating func candidates(
        _ query: DueQuery, for viewer: Viewer
    ) throws(Failure) -> [NotificationCandidate]

    /// Returns the users whom a user has blocked.
    mutating func blocks(of user: UserID) throws(Failure) -> Blocks
}

/// The unread count and the preview of a conversation for one user.
public struct Tally: Sendable {
    public var unread = 0
    /// Whether the conversation has a message, or its placeholder, that the user has not hidden.
    public var isSeen = false
    /// The newest message that the user sees and that nobody has deleted for everyone.
    public var last: ChatView.Preview?

    public init() {}
}

extension QuerySource {
    /// Returns a conversation if the viewer is one of its participants.
    ///
    /// - Parameter refusal: the refusal of the query if the conversation does not exist.
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

    /// Returns a message, which may have been deleted.
    mutating func message(
        _ id: MessageID, in conversation: ConversationID
    ) throws(Failure) -> Message {
        guard let message = try document(.message(id, in: conversation))?.message else {
            throw .refused(.messageNotFound)
        }
        return message
    }
}
