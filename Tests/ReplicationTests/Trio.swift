import CRDT
import Wire

@testable import Replication

/// Three nodes that own a shard, one of which is tested.
enum Trio {
    static let me = NodeName(checked: "me")
    static let n1 = NodeName(checked: "n1")
    static let n2 = NodeName(checked: "n2")

    /// Returns the shard replica of `me`, complete and connected to the two others.
    static func copy(of shard: ShardID) -> ShardReplica {
        let ownership = Ownership(me: me, owners: [me, n1, n2], livingOwners: 3, others: [n1, n2])
        var copy = ShardReplica(
            shard, stored: ReplicaHeader(isComplete: true), ownership: ownership, life: 0, now: 0)
        copy.onPeerUp(n1)
        copy.onPeerUp(n2)
        return copy
    }
}
