import CRDT
import Membership
import Replication
import Wire

/// Whether a node may be stopped: all owners of what it holds live, answer, and have on their disks
/// what was accepted more than a second ago.
///
/// Under load no owner ever has all of it. So what is on disk here is marked a few times a second,
/// and the newest mark that every owner has confirmed says how old what they lack can be.
struct Safety: Sendable {
    /// How often what is on disk is marked, in milliseconds: the older half of a second is between
    /// two comparisons of vectors.
    static let markMilliseconds: UInt64 = 200
    /// How old may be what an owner lacks, in milliseconds.
    static let lagMillisecondsMax: UInt64 = 1_000
    /// How long after its last pulse a member still counts as heard, in milliseconds: two of them.
    static let pulseMilliseconds: UInt64 = 1_200
    /// The most marks of a shard: what is older helps nobody.
    private static let marksMax = 6

    private struct Mark: Sendable {
        let at: UInt64
        let vector: Vector
    }

    /// Of each shard what was marked and is not known to be everywhere, the oldest first.
    private var marks: [ShardID: [Mark]] = [:]
    /// Up to when all that was stored of a shard is on all of its owners.
    private var coveredAt: [ShardID: UInt64] = [:]
    private var markedAt: UInt64 = 0

    /// Whether it is time for new marks.
    mutating func isDue(now: UInt64) -> Bool {
        guard now >= markedAt + Safety.markMilliseconds else { return false }
        markedAt = now
        return true
    }

    /// Marks what is on disk of a shard.
    ///
    /// - Parameter isCovered: whether all owners have confirmed a vector.
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

    /// A shard is not held any more.
    mutating func forget(_ shard: ShardID) {
        marks[shard] = nil
        coveredAt[shard] = nil
    }

    func isCovered(_ shard: ShardID, now: UInt64) -> Bool {
        coveredAt[shard].map { now <= $0 + Safety.lagMillisecondsMax } ?? false
    }
}

extension Node {
    /// Whether this node may be stopped and nothing is missing meanwhile.
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

    /// Whether an owner lives, hears this node as it is heard, and answers for the shard.
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

    /// What is said to a member at this moment.
    func pulse(to link: PeerConnection, now: UInt64) -> Pulse {
        let unready = shards.filter { $0.assumeIsolated { !$0.isReady && !$0.isForeign } }
        return Pulse(
            Frame.Summary(
                hash: PeerSync.summary(of: hashes(sharedWith: link.name)),
                unready: unready.map(\.id)),
            silence: now - min(now, link.link.heardAt))
    }
}

/// Why a node should get no requests.
package enum Unreadiness: Hashable, Sendable {
    case noCluster
    /// The disk has lost acknowledged writes: what is damaged, and whether there may be other nodes
    /// that hold what is missing.
    case damaged(String, hasOthers: Bool)
    /// It was started lately, and has not yet fetched what it owns: of so many shards.
    case fetching(shards: Int)
    /// It hands over what it holds: so many shards are left.
    case leaving(shards: Int)
    case stopping
    case diskFull
    /// Another program keeps the database locked.
    case locked
    /// Its wall clock is so many milliseconds ahead of the cluster's.
    case clock(Int64)
}

extension Node {
    /// Nil where it takes requests.
    package var unreadiness: Unreadiness? {
        if isEnding { return .stopping }
        if let loss { return .damaged(loss, hasOthers: mayBeFilled) }
        guard cluster != nil else { return .noCluster }
        if isLeaving { return .leaving(shards: shards.count) }
        guard hasFetched else { return .fetching(shards: unreadyShards) }
        if pressure.isLocked { return .locked }
        if isDiskFull { return .diskFull }
        return clusterTime.refusedOffset.map(Unreadiness.clock)
    }

    /// How many shards this node owns and does not answer for.
    private var unreadyShards: Int {
        owners.indices.count { number in
            guard owners[number].contains(me.name) else { return false }
            return !(held[number]?.assumeIsolated { $0.isReady } ?? false)
        }
    }

    /// Notes when all that this node owns was fetched once.
    ///
    /// What it comes to own later is answered by others until it is here.
    func noteFetched() {
        if !hasFetched, cluster != nil, unreadyShards == 0 { hasFetched = true }
    }
}
