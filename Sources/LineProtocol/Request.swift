import CRDT
import Chat
import Wire

/// The request of a client: one line, checked as far as a line alone can be.
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

    /// For one verb as it was typed, or for all.
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
    /// Of one shard, or of all that this node holds.
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
    /// Into a file of this name in the folder of backups, or at this path.
    case backup(String)
    case scrub
    case shutdown
}

/// The owners on which a write must be stored before it is acknowledged.
public enum AckLevel: String, CaseIterable, Sendable {
    /// On the disk of the node that executes the write.
    case local
    /// On more than half of the owners.
    case majority
    /// On every owner.
    case all
}

/// A truth value, as an option spells it.
public enum Truth: String, CaseIterable, Sendable {
    case yes = "true"
    case no = "false"
}

/// The direction in which a node's traffic with another is dropped.
public enum BlockDirection: String, CaseIterable, Sendable {
    case both
    /// Frames from the other node.
    case `in`
    /// Frames to the other node.
    case out
}

/// The part of a user's conversations that is listed.
public enum ChatsShown: String, CaseIterable, Sendable {
    case active
    case archived
    case all
}

/// The users for whom a message is deleted.
public enum DeleteScope: String, CaseIterable, Sendable {
    case me
    case everyone
}

extension Request {
    public struct Create: Hashable, Sendable {
        public var conversation: ConversationID
        public var creator: UserID
        /// Each user once, sorted, including the creator; at most `LineLimits.participantsMax`.
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
        /// Nil where the node that reads the line is to create an id.
        public var message: MessageID?
        public var type: MessageType
        public var item: ItemID?
        /// Not blank, unless the type is image or voice.
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
        /// The place of the messages; the message that is named is left out itself.
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
        /// Not blank.
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

    /// The arguments of a verb that takes only a message and a user.
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

    /// The arguments of a verb that takes only a conversation and a user.
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

    /// The arguments of `READ` and `DELIVERED`.
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
        /// Whether a write that is stored on fewer owners is answered with 504.
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
