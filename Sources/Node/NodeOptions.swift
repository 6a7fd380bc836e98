import CRDT
import Placement
import Replication
import Wire

/// What a node is told when it is started.
package struct NodeOptions: Hashable, Sendable {
    package let name: NodeName
    /// Where it listens, with the real ports.
    package let gossip: String
    package let admin: String
    /// Members to ask for their table.
    package let join: [String]
    /// Whether the nodes at all of those are to found a cluster where none of them has one.
    package let isBootstrapping: Bool
    /// Nil where nothing was said: the cluster's holds.
    package let cluster: ClusterName?
    package let shards: UInt16?
    package let replicas: Replicas?
    package let ackLevel: AckLevel
    package let editWindowMilliseconds: UInt64
    /// How long a dead member keeps its shards; nil for ever.
    package let evictAfterMilliseconds: UInt64?
    /// How far the own clock may be from the cluster's, in milliseconds.
    package let maxOffsetMilliseconds: UInt64
    /// Whether connections may be cut by request.
    package let mayBlock: Bool
    /// Whether it serves what is left where the disk has lost acknowledged writes.
    package let acceptsDataLoss: Bool
    package let peerLimits: PeerLimits
    package let versions: PeerVersions
    /// How much of a shard's vector is written with every commit; see `VectorBase`.
    package let restRangesMax: Int
    /// How many messages are read at once of a conversation that came behind them.
    package let earlierMessagesMax: Int
    /// How long who watches waits for what an event may answer, in milliseconds.
    package let causePatienceMilliseconds: UInt64

    /// How long a dead member keeps its shards where nothing else was said, in milliseconds.
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
        causePatienceMilliseconds: UInt64 = Causes.patienceMillisecondsDefault
    ) {
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
