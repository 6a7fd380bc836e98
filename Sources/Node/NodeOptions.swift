import CRDT
import Placement
import Replication
import Wire

/// The options with which a node is started.
package struct NodeOptions: Hashable, Sendable {
    package let name: NodeName
    /// The address where the node listens for other nodes, as host:port, with the bound port.
    package let gossip: String
    /// The address where the node listens for clients, as host:port, with the bound port.
    package let admin: String
    /// The gossip addresses of the nodes whose cluster this node is to join.
    package let join: [String]
    /// Whether the nodes at the `join` addresses found a cluster if none of them is in a cluster.
    package let isBootstrapping: Bool
    /// The required name of the cluster; nil accepts any, and a new cluster gets the default.
    package let cluster: ClusterName?
    /// The required number of shards; nil accepts any, and a new cluster gets the default.
    package let shards: UInt16?
    /// The required number of replicas; nil accepts any, and a new cluster gets the default.
    package let replicas: Replicas?
    package let ackLevel: AckLevel
    package let editWindowMilliseconds: UInt64
    /// How long a dead member keeps its shards, in milliseconds; nil for ever.
    package let evictAfterMilliseconds: UInt64?
    /// The maximum offset of this node's wall clock from the cluster's time, in milliseconds.
    package let maxOffsetMilliseconds: UInt64
    /// Whether clients may request a simulated network cut.
    package let mayBlock: Bool
    /// Whether the node serves the remaining data if the disk has lost acknowledged writes.
    package let acceptsDataLoss: Bool
    package let peerLimits: PeerLimits
    package let versions: PeerVersions
    /// The maximum number of ranges that a version vector may have beyond its base; above it the
    /// whole vector becomes a new base (see `VectorBase`).
    package let restRangesMax: Int
    /// The number of messages per read when a conversation's document arrives after its messages.
    package let earlierMessagesMax: Int
    /// The maximum time for which an event is withheld from watchers until its causes have arrived,
    /// in milliseconds.
    package let causePatienceMilliseconds: UInt64
    /// The time after which a file that was not sent in a message is closed, in milliseconds.
    package let unsentMilliseconds: UInt64
    /// The maximum length of a token that this node creates, in bytes.
    package let tokenBytesMax: Int
    /// The addresses at which browsers reach this node's pages.
    package let pages: PageAddresses

    package static let unsentMillisecondsDefault: UInt64 = 60 * 60 * 1_000

    /// How long a dead member keeps its shards by default, in milliseconds.
    package static let evictAfterMillisecondsDefault: UInt64 = 10 * 60 * 1_000

    package init(
        name: NodeName, gossip: String, admin: String, join: [String],
        isBootstrapping: Bool = false, cluster: ClusterName?,
        shards: UInt16?, replicas: Replicas? = nil, ackLevel: AckLevel,
        editWindowMilliseconds: UInt64,
        evictAfterMilliseconds: UInt64? = evictAfterMillisecondsDefault,
        maxOffsetMilliseconds: UInt64 = WallTime.maxOffsetMillisecondsDefault,
        mayBlock: Bool = false, acceptsDataLoss: Bool = false,
        peerLimits: PeerLimits = .standard, versions: PeerVersions = .current,
        restRangesMax: Int = VectorBase.restRangesMax,
        earlierMessagesMax: Int = ShardMachine.earlierMessagesMax,
        causePatienceMilliseconds: UInt64 = Causes.patienceMillisecondsDefault,
        unsentMilliseconds: UInt64 = unsentMillisecondsDefault,
        tokenBytesMax: Int = Token.textBytesMax, pages: PageAddresses = PageAddresses()
    ) {
        self.pages = pages
        self.tokenBytesMax = tokenBytesMax
        self.unsentMilliseconds = unsentMilliseconds
        self.causePatienceMilliseconds = causePatienceMilliseconds
        self.earlierMessagesMax = earlierMessagesMax
        self.restRangesMax = restRangesMax
        self.acceptsDataLoss = acceptsDataLoss
        self.versions = versions
        self.name = name
        self.gossip = gossip
        self.admin = admin
        self.join = join
        self.isBootstrapping = isBootstrapping
        self.cluster = cluster
        self.shards = shards
        self.replicas = replicas
        self.evictAfterMilliseconds = evictAfterMilliseconds
        self.maxOffsetMilliseconds = maxOffsetMilliseconds
        self.mayBlock = mayBlock
        self.peerLimits = peerLimits
        self.ackLevel = ackLevel
        self.editWindowMilliseconds = editWindowMilliseconds
    }
}
