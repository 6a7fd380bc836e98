import CRDT
import Membership
import Replication
import Wire

/// The criterion by which a node may be stopped: all owners of its shards are alive, answer, and
/// have on their disks all changes that the node accepted more than a second ago.
///
/// Under load no owner ever has all changes. Therefore the node marks the vector on its disk
/// several times a second. The newest mark that every owner has confirmed bounds the age of the
/// changes that owners lack.
struct Safety: Sendable {
    /// The interval at which the vector on disk is marked, in milliseconds.
    ///
    /// An owner may lag by a second, of which up to half passes between two comparisons of vectors.
    static let markMilliseconds: UInt64 = 200
    /// The maximum age of a change that an owner may lack, in milliseconds.
    static let lagMillisecondsMax: UInt64 = 1_000
    /// The time for which a member counts as heard after its last pulse, in milliseconds: the
    /// length of two pulse intervals.
    static let pulseMilliseconds: UInt64 = 1_200
    /// The maximum number of marks of a shard; older marks are of no use.
    private static let marksMax = 6

    private struct Mark: Sendable {
        let at: UInt64
        let vector: Vector
    }

    /// The marks of each shard that are not known to be on all owners, oldest first.
    private var marks: [ShardID: [Mark]] = [:]
    /// The time up to which everything stored is on all owners, by shard.
    private var coveredAt: [ShardID: UInt64] = [:]
    private var markedAt: UInt64 = 0

    /// Returns whether the next marks are due.
    mutating func isDue(now: UInt64) -> Bool {
        guard now >= markedAt + Safety.markMilliseconds else { return false }
        markedAt = now
        return true
    }

    /// Marks the vector of a shard on disk.
    ///
    /// - Parameter isCovered: returns whether all owners have confirmed a vector.
    mutating func mark(
        _ shard: ShardID, _ vector: Vector, now: UInt64, isCovered: (Vector) -> Bool
    ) {
        guard !isCovered(vector) else {
            marks[shard] = nil
            coveredAt[shard] = now
            return
        }
        var marks = marks[shard] ?? []
        if let newest = marks.lastIndex(where: { isCovered($0.vector) }) {
            coveredAt[shard] = marks[newest].at
            marks.removeFirst(newest + 1)
        }
        marks.append(Mark(at: now, vector: vector))
        if marks.count > Safety.marksMax { marks.removeFirst() }
        self.marks[shard] = marks
    }

    /// Forgets a shard that was dropped.
    mutating func removeShard(_ shard: ShardID) {
        marks[shard] = nil
        coveredAt[shard] = nil
    }

    func isCovered(_ shard: ShardID, now: UInt64) -> Bool {
        coveredAt[shard].map { now <= $0 + Safety.lagMillisecondsMax } ?? false
    }
}

extension Node {
    /// Whether this node may be stopped without making any data unavailable.
    var isSafe: Bool {
        guard cluster != nil else { return false }
        let now = ports.clock.milliseconds
        return shards.allSatisfy { shard in
            let owners = shard.assumeIsolated { $0.ownership.owners }
            let isCovered = shard.assumeIsolated { $0.isOnAllOwners($0.stored.vector) }
            return (isCovered || safety.isCovered(shard.id, now: now))
                && owners.allSatisfy { isServing(shard, $0, now: now) }
        }
    }

    /// Whether an owner is alive, exchanges pulses with this node in both directions, and answers
    /// for the shard.
    private func isServing(_ shard: Shard, _ owner: NodeName, now: UInt64) -> Bool {
        guard owner != me.name else { return shard.assumeIsolated { $0.isReady } }
        guard membership.state(of: owner) == .alive, let pulse = links[owner]?.pulse else {
            return false
        }
        return now <= pulse.at + Safety.pulseMilliseconds
            && pulse.said.silence <= Safety.pulseMilliseconds
            && !pulse.said.summary.unready.contains(shard.id)
    }

    func tickSafety(now: UInt64) {
        guard safety.isDue(now: now) else { return }
        for shard in shards {
            safety.mark(shard.id, shard.assumeIsolated { $0.stored.vector }, now: now) { vector in
                shard.assumeIsolated { $0.isOnAllOwners(vector) }
            }
        }
    }

    /// Returns the pulse to send to a member now.
    func pulse(to connection: PeerConnection, now: UInt64) -> Pulse {
        let unready = shards.filter { $0.assumeIsolated { !$0.isReady && !$0.isForeign } }
        return Pulse(
            Frame.Summary(
                hash: PeerSync.summary(of: hashes(sharedWith: connection.name)),
                unready: unready.map(\.id)),
            silence: now - min(now, connection.sync.heardAt))
    }
}

/// The reasons for which a node should receive no requests.
package enum Unreadiness: Hashable, Sendable {
    case noCluster
    /// The disk has lost acknowledged writes: a description of the damage, and whether other nodes
    /// may have the missing data.
    case damaged(String, hasOthers: Bool)
    /// The node has not fetched all shards that it owns since its start: the number of shards left.
    case fetching(shards: Int)
    /// The node is handing over its shards: the number of shards left.
    case leaving(shards: Int)
    case stopping
    /// Users sign in at this node, and it has no key for access tokens yet.
    case noKeys
    case diskFull
    /// Another program keeps the database locked, so that writes fail.
    case locked
    /// The offset of the node's wall clock from the cluster's, in milliseconds; positive if the
    /// node's clock is ahead.
    case clock(Int64)
}

extension Node {
    /// The reason for which the node should receive no requests; nil if it may receive requests.
    package var unreadiness: Unreadiness? {
        if isEnding { return .stopping }
        if let loss { return .damaged(loss, hasOthers: mayBeFilled) }
        guard cluster != nil else { return .noCluster }
        if isLeaving { return .leaving(shards: shards.count) }
        // The last shard becomes ready before the next tick sets `hasFetched`.
        let left = hasFetched ? 0 : unreadyShards
        guard left == 0 else { return .fetching(shards: left) }
        if pressure.isLocked { return .locked }
        if isDiskFull { return .diskFull }
        if signing.lacksKey { return .noKeys }
        return clusterTime.refusedOffset.map(Unreadiness.clock)
    }

    /// The number of shards that this node owns and cannot answer for yet.
    private var unreadyShards: Int {
        owners.indices.count { number in
            guard owners[number].contains(me.name) else { return false }
            return !(held[number]?.assumeIsolated { $0.isReady } ?? false)
        }
    }

    /// Records that all shards owned by this node have been fetched once.
    ///
    /// Other members answer for the shards that this node comes to own later, until it has them.
    func noteFetched() {
        if !hasFetched, cluster != nil, unreadyShards == 0 { hasFetched = true }
    }
}
