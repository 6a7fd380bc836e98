import CRDT
import Wire

/// A request that changes nothing.
public enum Query: Hashable, Sendable {
    public enum Place: Hashable, Sendable {
        case newest
        case before(MessageID)
        case after(MessageID)
    }

    /// The conversations that a list contains.
    public enum Shown: String, CaseIterable, Hashable, Sendable {
        case active
        case archived
        case all
    }

    /// A page of messages as the user sees them, oldest first; it may end once the messages have
    /// more than `bytesMax` bytes, which is no part of the query's own encoding.
    case history(ConversationID, place: Place, limit: Int, bytesMax: Int? = nil)
    /// A message as the user sees it.
    case message(MessageID, in: ConversationID)
    /// The texts of a message, oldest first.
    case edits(MessageID, in: ConversationID)
    /// The pinned messages that the user sees, newest pin first.
    case pinned(ConversationID)
    /// The participants of a conversation.
    case participants(ConversationID)
    /// The user's conversations; with a search, those of which the title, the participants and the
    /// last text together contain its words.
    case chats(Shown, finding: WordSearch? = nil)
    /// One of the user's conversations.
    case chat(ConversationID)
    /// How far each participant has read a conversation.
    case marks(ConversationID)
    /// Who joined and left a conversation, the latest first, at most `limit` of them.
    case changes(ConversationID, limit: Int)
    /// The user's conversations with unread messages, and how many those are.
    case unread
    /// The profile of a user; anybody may ask.
    case profile(UserID)
    /// The user's action items.
    case actions
    /// One of the user's action items.
    case action(ItemID)
    /// A device's document.
    case device(DeviceID, of: UserID)
    /// A user's devices.
    case devices(of: UserID)
    /// The names that these users have given, without users who have given none; at most `namesMax`
    /// users, ascending.
    case names(of: [UserID])
    /// The users who share a conversation with the user.
    case contacts
    /// The profiles of these users, without users who have none; at most `namesMax` users,
    /// ascending.
    case profiles(of: [UserID])
    /// The accounts that sign in with an e-mail address.
    case accounts(AddressID)
    /// All accounts, those of the first addresses after one.
    case allAccounts(after: AddressID?)
    /// What access tokens are signed with, and which are revoked.
    case signing
    /// Whether the sign-in that registered a user's device goes on.
    case signIn(DeviceSignIn, of: UserID)
    /// The devices that were registered with a push token.
    case holders(ofToken: FieldText)
    /// A file of a conversation; nodes of earlier versions read no tag.
    case file(FileID, in: ConversationID, isTagged: Bool = true)
    /// The bytes of a part of a file; with a tag, of the content that has it.
    case part(Int, of: FileID, in: ConversationID, tag: String? = nil)
    /// The messages of which a device is to be notified.
    indirect case due(DueQuery)
    /// The users whom a user has blocked.
    case blocks(of: UserID)
    /// Those of these users who have blocked the user; at most `ChatLimits.participantsMax` users,
    /// ascending.
    case blockers(among: [UserID])
    /// Those of these users who have an account; at most `ChatLimits.participantsMax` users,
    /// ascending.
    case accountUsers(among: [UserID])
    /// Whom the user knows of those who have added them to conversations.
    indirect case acquaintance(Acquaintance.Question)
    /// The bytes that the user has uploaded and not sent; of a file that they upload again, only
    /// those beyond the greatest size of a file.
    case unsentBytes(besides: FileID, in: ConversationID)
    /// A query that shows messages, answered without those of senders whom the user has blocked.
    indirect case without(BlockedSenders, Query)

    /// The most bytes of a file's tag.
    public static let tagBytesMax = 64

    /// As many users as one list of notifications may have as senders.
    public static let namesMax = DueQuery.shownMax + ListedNotification.countMax

    /// The accounts from which on no further address is listed at once.
    public static let accountsMax = 256

    /// The partition key whose shard answers; nil for a list over all shards.
    public var partition: String? {
        switch self {
        case .history(let conversation, _, _, _), .edits(_, let conversation): conversation.text
        case .message(_, let conversation): conversation.text
        case .action(let item): item.text
        case .pinned(let conversation), .participants(let conversation): conversation.text
        case .chat(let conversation), .marks(let conversation): conversation.text
        case .changes(let conversation, _): conversation.text
        case .profile(let user), .device(_, let user), .devices(let user): user.text
        case .accounts(let address): address.text
        case .signIn(let signIn, _): signIn.address.text
        case .file(_, let conversation, _), .part(_, _, let conversation, _): conversation.text
        case .signing: Mutation.Subject.signingPartition
        case .blocks(let user): user.text
        case .without(_, let query): query.partition
        case .chats, .unread, .actions, .due, .names, .contacts, .profiles, .allAccounts,
            .holders, .blockers, .accountUsers, .acquaintance, .unsentBytes:
            nil
        }
    }

    /// The bytes of messages after which the page of a history may end; nil where it may not.
    public var bytesMax: Int? {
        switch self {
        case .history(_, _, _, let bytesMax): bytesMax
        case .without(_, let query): query.bytesMax
        default: nil
        }
    }

    /// Returns the query for the page of a history that may end after so many bytes; nil for
    /// another query.
    public func ending(after bytes: Int) -> Query? {
        switch self {
        case .history(let conversation, let place, let limit, _):
            .history(conversation, place: place, limit: limit, bytesMax: bytes)
        case .without(let senders, let query):
            query.ending(after: bytes).map { .without(senders, $0) }
        default: nil
        }
    }

    /// Whether the answer shows messages, which others have sent.
    public var showsMessages: Bool {
        switch self {
        case .history, .message, .edits, .pinned, .chats, .chat, .unread, .due: true
        default: false
        }
    }

    /// Whether only nodes and operators may ask.
    public var isForOperators: Bool {
        switch self {
        case .accounts, .allAccounts, .signing, .signIn, .holders, .blockers, .accountUsers,
            .acquaintance, .unsentBytes, .without:
            true
        default: false
        }
    }
}
