import CRDT
import Chat
import Wire

/// The request of a client: one line, checked as far as a line alone can be.
public enum Request: Hashable, Sendable {
    /// A change of one document.
    ///
    /// - isMinted: whether the id of the document was just created, so that none has it.
    case write(Mutation, isMinted: Bool = false)
    case read(AnyQuery, of: UserID)
    /// A part of a list.
    case list(AnyQuery, of: UserID, ListPage)
    case seed
    case watch(Watch)
    case unwatch
    case typing(Typing)
    case notifications(DeviceID, of: UserID, ListPage)

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
    /// The devices of a shard's users.
    case subscribers(ShardID)
    /// The files of one shard, or of all held here, that somebody has to look after.
    case files(ShardID?)
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

extension Request {
    public static func read(_ query: some Query, of user: UserID) -> Request {
        .read(AnyQuery(query), of: user)
    }

    public static func list(_ query: some Query, of user: UserID, _ page: ListPage) -> Request {
        .list(AnyQuery(query), of: user, page)
    }
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

/// The users for whom a message is deleted.
public enum DeleteScope: String, CaseIterable, Sendable {
    case me
    case everyone
}

extension Request {
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
