import CRDT
import Chat
import Wire

/// The request of a client, with every check that needs no node already made.
public enum Request: Hashable, Sendable {
    /// A change of one document.
    ///
    /// - isMinted: whether this node has just created the document's id, so that the id is unique.
    /// - times: the times that the acknowledgement shows.
    case write(Mutation, isMinted: Bool = false, times: AckTimes = .standard)
    case read(AnyQuery, of: UserID)
    /// A query for one page of a list.
    case list(AnyQuery, of: UserID, ListPage)
    case seed
    case watch(Watch)
    case unwatch
    case typing(Typing)
    case notifications(DeviceID, of: UserID, ListPage)

    /// The usage of one verb, whose name the client wrote; of all verbs for nil.
    case help(String?)
    /// A secret with which the client signs in.
    case auth(Secret)
    case ping
    case status
    case ready
    case metrics
    case members
    case shards
    case owners(ConversationID)
    /// The digest of one shard; for nil, of all shards that this node holds.
    case digest(ShardID?)
    case vector(ShardID)
    /// The registered devices of a shard's users.
    case subscribers(ShardID)
    /// The files of one shard that have to be closed or purged; for nil, of all shards held here.
    case files(ShardID?)
    case set(SetLevel)
    case wait(Wait)
    case token
    case since(Token)
    case block(Block)
    /// The end of `block` for one node; for all nodes if the name is nil.
    case unblock(NodeName?)
    /// The gossip address of a node whose cluster this node joins, as host:port.
    case join(String)
    case leave
    case forget(NodeName)
    /// A backup into a file: a name in the folder of backups, or an absolute path.
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

/// The owners whose storage of a write the acknowledgement of the write waits for.
public enum AckLevel: String, CaseIterable, Sendable {
    /// The write is stored on the disk of the node that executes the write.
    case local
    /// The write is stored on more than half of the shard's owners.
    case majority
    /// The write is stored on every owner of the shard.
    case all
}

/// The times that the acknowledgement of a write shows.
public enum AckTimes: Sendable {
    /// The time at which a message was sent or edited, in milliseconds.
    case standard
    /// The time of every write's effect, in milliseconds.
    case effect
    /// The time of every write's effect, with the counter within the millisecond.
    case exact
}

/// The form of times that a client requests with `times=`.
enum TimesChoice: String, CaseIterable, Sendable {
    case exact
}

extension Request {
    /// Returns the same request with a response that shows exact times.
    func withExactTimes() -> Request {
        switch self {
        case .write(let mutation, let isMinted, _):
            return .write(mutation, isMinted: isMinted, times: .exact)
        case .read(let query, let user): return .list(query.exact, of: user, ListPage.whole.exact)
        case .list(let query, let user, let page): return .list(query.exact, of: user, page.exact)
        case .notifications(let device, let user, let page):
            return .notifications(device, of: user, page.exact)
        case .watch(var watch):
            watch.isExact = true
            return .watch(watch)
        default: return self
        }
    }

    /// The same request with the response that the API gives: a write is answered with the time of
    /// its effect, and the beginning of a watch with a description of the stream.
    public var ofAPI: Request {
        switch self {
        case .write(let mutation, let isMinted, .standard):
            return .write(mutation, isMinted: isMinted, times: .effect)
        case .watch(var watch):
            watch.isDescribed = true
            return .watch(watch)
        default: return self
        }
    }
}

/// A truth value of an option.
public enum Truth: String, CaseIterable, Sendable {
    case yes = "true"
    case no = "false"
}

/// The direction in which a node drops its traffic with another node; for tests.
public enum BlockDirection: String, CaseIterable, Sendable {
    case both
    /// Frames from the other node are dropped.
    case `in`
    /// Frames to the other node are dropped.
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
        /// Whether a write that too few owners have stored in time is answered with 504.
        public var isStrict: Bool

        public init(level: AckLevel, isStrict: Bool) {
            self.level = level
            self.isStrict = isStrict
        }
    }

    public struct Wait: Hashable, Sendable {
        public var replicas: Int
        /// The longest wait, 0…`LineLimits.waitMillisecondsMax` milliseconds.
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
