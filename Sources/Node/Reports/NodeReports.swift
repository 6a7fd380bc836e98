import CRDT
import Membership
import Replication
import Wire

/// The state of a node, as the node reports it.
package struct NodeReport: Sendable {
    package let name: NodeName
    package let cluster: ClusterName?
    package let uptimeMilliseconds: UInt64
    package let living: Int
    package let members: Int
    package let shards: Int
    package let conversations: UInt64
    package let messages: UInt64
    package let residentBytes: UInt64
    package let isConverged: Bool
    /// Whether the node may be stopped without making any data unavailable.
    package let isSafe: Bool
    /// The number of shards left to hand over; nil if the node is not leaving.
    package let leavingShards: Int?
    /// The lead of the wall clock over the median of the members' clocks, in milliseconds; nil if
    /// the node hears no member.
    package let clockOffsetMilliseconds: Int64?
    /// Whether the disk accepts deletions only.
    package let isDiskFull: Bool
    /// Whether another program keeps the database locked.
    package let isLocked: Bool
    /// A description of acknowledged writes that the disk has lost and that have not been fetched
    /// yet; nil for none.
    package let loss: String?
    package let digest: Hash128
}

/// The state of a member, as one node sees it.
package struct MemberReport: Sendable {
    package let member: Member
    package let state: MemberState
    package let isSelf: Bool
    package let rttMilliseconds: UInt64?
    /// The number of changes on this node's disk that the member has not confirmed as stored.
    package let behind: UInt64
}

/// The state of one shard on this node's disk.
package struct DigestReport: Sendable {
    package let shard: ShardID
    package let documents: UInt64
    package let hash: Hash128
}

extension Node {
    package func report() -> NodeReport {
        let headers = shards.map { $0.assumeIsolated { $0.stored } }
        return NodeReport(
            name: me.name, cluster: cluster?.name,
            uptimeMilliseconds: ports.clock.milliseconds - startedAt,
            living: membership.table.entries.count { $0.state == .alive },
            members: membership.table.entries.count(where: \.state.isInRing),
            shards: shards.count,
            conversations: headers.reduce(0) { $0 + $1.count(ofKind: 1) },
            messages: headers.reduce(0) { $0 + $1.count(ofKind: 2) },
            residentBytes: ports.host.residentBytes, isConverged: isConverged,
            isSafe: isSafe, leavingShards: isLeaving ? shards.count : nil,
            clockOffsetMilliseconds: clusterTime.offset, isDiskFull: isDiskFull,
            isLocked: pressure.isLocked, loss: loss,
            digest: Node.digest(over: digests()))
    }

    /// Whether every co-owner that is not dead was in sync with this disk within the last two
    /// seconds, and all shards of this node are ready: none is being fetched or handed over.
    private var isConverged: Bool {
        let now = ports.clock.milliseconds
        guard cluster != nil, shards.allSatisfy({ $0.assumeIsolated { $0.isReady } }) else {
            return false
        }
        return coOwners.filter { membership.state(of: $0) != .dead }.allSatisfy { name in
            links[name]?.sync.isCaughtUp(
                with: PeerSync.summary(of: hashes(sharedWith: name)), now: now) ?? false
        }
    }

    /// Whether this node is the first of a shard's owners that are alive.
    package func isFirstOwner(of shard: Shard) -> Bool {
        let owners = shard.assumeIsolated { $0.ownership.owners }
        return owners.first { membership.state(of: $0) == .alive } == me.name
    }

    /// The other owners of the shards that this node owns, ascending.
    private var coOwners: [NodeName] {
        var names: Set<NodeName> = []
        for owners in owners where owners.contains(me.name) { names.formUnion(owners) }
        names.remove(me.name)
        return names.sorted()
    }

    package func memberReports() -> [MemberReport] {
        membership.table.entries.map { entry in
            let name = entry.member.name
            return MemberReport(
                member: entry.member, state: entry.state, isSelf: name == me.name,
                rttMilliseconds: membership.rttMilliseconds(of: name),
                behind: name == me.name ? 0 : changesLacked(by: name))
        }
    }

    private func changesLacked(by peer: NodeName) -> UInt64 {
        shards.reduce(0) { sum, shard in
            // A peer may confirm arbitrary seqs, so the sum may overflow.
            sum &+ shard.assumeIsolated { $0.changesLacked(by: peer) }
        }
    }

    /// Returns the state of each shard on this disk, ascending by id.
    package func digests() -> [DigestReport] {
        shards.map { shard in
            let header = shard.assumeIsolated { $0.stored }
            return DigestReport(
                shard: shard.id, documents: header.documents, hash: header.digest)
        }
    }

    /// Returns one hash over the digests of the reported shards.
    package static func digest(over reports: [DigestReport]) -> Hash128 {
        var writer = ByteWriter(reserving: reports.count * 20)
        for report in reports {
            writer.write(report.shard)
            writer.write(report.hash)
        }
        return writer.withUnsafeBytes { Hash128(of: $0) }
    }
}
