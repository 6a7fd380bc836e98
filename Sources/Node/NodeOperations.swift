import Placement
import Replication
import Wire

/// Why an operator's request is not carried out.
package enum OperationFailure: Error, Hashable, Sendable {
    case unknownMember
    case oneself
    /// The node was not started with `--faults`.
    case faultsForbidden
    /// Only a dead member is forgotten.
    case notDead
    /// Nobody else could take over what this node holds.
    case nobodyElse
}

/// Which way a cut goes.
package enum CutDirection: String, CaseIterable, Hashable, Sendable {
    case both
    case `in`
    case out
}

/// A shard, as this node sees it.
package struct ShardReport: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
        case ready, syncing, leaving
    }

    /// What is held of it here.
    package struct Held: Hashable, Sendable {
        package let state: State
        /// Tombstones too.
        package let documents: UInt64
        package let hash: Hash128
    }

    package let shard: ShardID
    /// In order.
    package let owners: [NodeName]
    package let held: Held?
}

extension Node {
    /// Every shard of the cluster, in order.
    package func shardReports() -> [ShardReport] {
        shards.map { shard in
            let (header, holders) = shard.assumeIsolated { ($0.stored, $0.holders) }
            return ShardReport(
                shard: shard.id, owners: holders.owners,
                held: ShardReport.Held(
                    state: shard.assumeIsolated { $0.isServing } ? .ready : .syncing,
                    documents: header.documents, hash: header.digest))
        }
    }

    /// Drops everything from a member, to it, or both, as a cut cable would.
    package func block(
        _ name: NodeName, _ direction: CutDirection
    ) -> Result<Void, OperationFailure> {
        guard options.mayBlock else { return .failure(.faultsForbidden) }
        return .failure(.unknownMember)
    }

    /// - Parameter name: nil for every member.
    package func unblock(_ name: NodeName?) -> Result<Void, OperationFailure> {
        guard options.mayBlock else { return .failure(.faultsForbidden) }
        return .failure(.unknownMember)
    }

    /// Asks a member at a gossip address, for as long as it takes.
    package func join(_ address: String) {}

    /// Hands everything over, then ends the process.
    package func leave() -> Result<Void, OperationFailure> { .failure(.nobodyElse) }

    /// Takes a dead member that is not coming back out of the ring.
    package func forget(_ name: NodeName) -> Result<Void, OperationFailure> {
        .failure(.unknownMember)
    }
}
