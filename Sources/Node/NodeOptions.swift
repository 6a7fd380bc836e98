import CRDT
import Placement
import Replication
import Wire

/// The options with which a node is started.
package struct NodeOptions: Hashable, Sendable {
    package let name: NodeName
    /// The address where it listens for other nodes, as host:port, with the port that is bound.
    package let gossip: String
    /// The address where it listens for clients, as host:port, with the port that is bound.
    package let admin: String
    /// The gossip addresses of the nodes whose cluster it is to join.
    package let join: [String]
    /// Whether the nodes at all of those addresses found a cluster if none of them is in one.
    package let isBootstrapping: Bool
    /// The cluster's name; nil to accept any, and for the default of a new cluster.
    package let cluster: ClusterName?
    /// The cluster's number of shards; nil to accept any, and for the default of a new cluster.
    package let shards: UInt16?
    /// The cluster's number of replicas; nil to accept any, and for the default of a new cluster.
    package let replicas: Replicas?
    package let ackLevel: AckLevel
    package let editWindowMilliseconds: UInt64
    /// How long a dead member keeps its shards, in milliseconds; nil for ever.
    package let evictAfterMilliseconds: UInt64?
    /// How far this node's clock may be from the cluster's, in milliseconds.
    package let maxOffsetMilliseconds: UInt64
    /// Whether network cuts may be simulated by request.
    package let mayBlock: Bool
    /// Whether the node serves what is left where the disk has lost acknowledged writes.
    package let acceptsDataLoss: Bool
    package let peerLimits: PeerLimits
    package let versions: PeerVersions
    /// How many ranges a vector may have beyond its base before the base is written anew; see
    /// `VectorBase`.
    package let restRangesMax: Int
    /// How many messages are read at once of a conversation that arrived after them.
    package let earlierMessagesMax: Int
    /// How long an event is held back from watchers until its causes have arrived, in milliseconds.
    package let causePatienceMilliseconds: UInt64
    /// How long a file may be unsent before it is closed, in milliseconds.
    package let unsentMilliseconds: UInt64
    /// The greatest length of a token that is made here, in bytes.
    package let tokenBytesMax: Int
    /// Where browsers reach this node's pages.
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
