import CRDT
import Chat
import Wire

/// What a client asks for: one line, checked as far as a line alone can be.
public enum Request: Hashable, Sendable {
    case create(Create)
    case send(Send)
    case history(History)
    case edit(Edit)
    case edits(OfMessage)
    case delete(Delete)
    case restore(OfMessage)
    case invite(Invite)
    case leaveChat(OfConversation)
    case pin(OfMessage)
    case unpin(OfMessage)
    case pinned(OfConversation)
    case archive(OfConversation)
    case unarchive(OfConversation)
    case hideChat(OfConversation)
    case chats(Chats)
    case chat(OfConversation)
    case read(UpTo)
    case delivered(UpTo)
    case marks(OfConversation)
    case unread(UserID)
    case profile(Profile)
    case actionAdd(ActionAdd)
    case actionEdit(ActionEdit)
    case actionDone(OfItem)
    case actionUndone(OfItem)
    case actionDelete(OfItem)
    case actions(UserID)
    case seed
    case watch(Watch)
    case unwatch
    case typing(Typing)
    case deviceAdd(DeviceAdd)
    case deviceRemove(OfDevice)
    case devices(UserID)
    case viewing(Viewing)
    case notifications(OfDevice)
    case notified(Notified)

    /// Of one verb as it was typed, or of all.
    case help(String?)
    /// The secret of one of the node's keys.
    case auth(Secret)
    case ping
    case status
    case ready
    case metrics
    case members
    case shards
    case owners(ConversationID)
    /// Of one shard, or of all that are held here.
    case digest(ShardID?)
    case vector(ShardID)
    case set(SetLevel)
    case wait(Wait)
    case token
    case since(Token)
    case block(Block)
    /// Nil for every node.
    case unblock(NodeName?)
    /// A gossip address, as host:port.
    case join(String)
    case leave
    case forget(NodeName)
    /// Into a file of this name, among the backups, or with this path.
    case backup(String)
    case scrub
    case shutdown
}

/// On how many owners a write is stored before it is answered.
public enum AckLevel: String, CaseIterable, Sendable {
    /// On this node's disk.
    case local
    /// On half of the owners and one more.
    case majority
    /// On every owner.
    case all
}

/// Whether something holds, as an option says it.
public enum Truth: String, CaseIterable, Sendable {
    case yes = "true"
    case no = "false"
}

/// What of a node's traffic with another is dropped.
public enum BlockDirection: String, CaseIterable, Sendable {
    case both
    /// What comes from it.
    case `in`
    /// What goes to it.
    case out
}

/// Which of a user's conversations are listed.
public enum ChatsShown: String, CaseIterable, Sendable {
    case active
    case archived
    case all
}

/// For whom a message is deleted.
public enum DeleteScope: String, CaseIterable, Sendable {
    case me
    case everyone
}

extension Request {
    public struct Create: Hashable, Sendable {
        public var conversation: ConversationID
        public var creator: UserID
        /// Each once, sorted, the creator among them; at most `LineLimits.participantsMax`.
        public var participants: [UserID]
        /// Empty where there is none.
        public var title: String

        public init(
            conversation: ConversationID, creator: UserID, participants: [UserID], title: String
        ) {
            self.conversation = conversation
            self.creator = creator
            self.participants = participants
            self.title = title
        }
    }

    public struct Send: Hashable, Sendable {
        public var conversation: ConversationID
        public var sender: UserID
        /// Nil where the node that reads the line is to make one.
        public var message: MessageID?
        public var type: MessageType
        public var item: ItemID?
        /// Not all white, unless the type is image or voice.
        public var text: String

        public init(
            conversation: ConversationID, sender: UserID, message: MessageID?,
            type: MessageType, item: ItemID?, text: String
        ) {
            self.conversation = conversation
            self.sender = sender
            self.message = message
            self.type = type
            self.item = item
            self.text = text
        }
    }

    public struct History: Hashable, Sendable {
        /// Which messages; the one named is itself left out.
        public enum Page: Hashable, Sendable {
            case newest
            case before(MessageID)
            case after(MessageID)
        }

        public var conversation: ConversationID
        public var user: UserID
        public var page: Page
        /// 1…`LineLimits.historyMax`.
        public var limit: Int

        public init(conversation: ConversationID, user: UserID, page: Page, limit: Int) {
            self.conversation = conversation
            self.user = user
            self.page = page
            self.limit = limit
        }
    }

    public struct Edit: Hashable, Sendable {
        public var conversation: ConversationID
        public var message: MessageID
        public var user: UserID
        /// Not all white.
        public var text: String

        public init(
            conversation: ConversationID, message: MessageID, user: UserID, text: String
        ) {
            self.conversation = conversation
            self.message = message
            self.user = user
            self.text = text
        }
    }

    /// What a verb says that names a message and a user, and no more.
    public struct OfMessage: Hashable, Sendable {
        public var conversation: ConversationID
        public var message: MessageID
        public var user: UserID

        public init(conversation: ConversationID, message: MessageID, user: UserID) {
            self.conversation = conversation
            self.message = message
            self.user = user
        }
    }

    /// What a verb says that names a conversation and a user, and no more.
    public struct OfConversation: Hashable, Sendable {
        public var conversation: ConversationID
        public var user: UserID

        public init(conversation: ConversationID, user: UserID) {
            self.conversation = conversation
            self.user = user
        }
    }

    public struct Invite: Hashable, Sendable {
        public var conversation: ConversationID
        public var by: UserID
        public var user: UserID

        public init(conversation: ConversationID, by: UserID, user: UserID) {
            self.conversation = conversation
            self.by = by
            self.user = user
        }
    }

    /// What `READ` and `DELIVERED` say.
    public struct UpTo: Hashable, Sendable {
        public var conversation: ConversationID
        public var user: UserID
        /// Nil for the newest.
        public var message: MessageID?

        public init(conversation: ConversationID, user: UserID, message: MessageID?) {
            self.conversation = conversation
            self.user = user
            self.message = message
        }
    }

    public struct Chats: Hashable, Sendable {
        public var user: UserID
        public var show: ChatsShown

        public init(user: UserID, show: ChatsShown) {
            self.user = user
            self.show = show
        }
    }

    public struct Delete: Hashable, Sendable {
        public var conversation: ConversationID
        public var message: MessageID
        public var user: UserID
        public var scope: DeleteScope

        public init(
            conversation: ConversationID, message: MessageID, user: UserID, scope: DeleteScope
        ) {
            self.conversation = conversation
            self.message = message
            self.user = user
            self.scope = scope
        }
    }

    public struct SetLevel: Hashable, Sendable {
        public var level: AckLevel
        /// Whether a write that is stored on fewer owners is answered 504.
        public var isStrict: Bool

        public init(level: AckLevel, isStrict: Bool) {
            self.level = level
            self.isStrict = isStrict
        }
    }

    public struct Wait: Hashable, Sendable {
        public var replicas: Int
        /// 0…`LineLimits.waitMillisecondsMax`.
        public var timeout: Duration

        public init(replicas: Int, timeout: Duration) {
            self.replicas = replicas
            self.timeout = timeout
        }
    }

    public struct Block: Hashable, Sendable {
        public var node: NodeName
        public var direction: BlockDirection

        public init(node: NodeName, direction: BlockDirection) {
            self.node = node
            self.direction = direction
        }
    }
}
