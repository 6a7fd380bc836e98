import CRDT
import Membership
import Replication
import Wire

/// The criterion by which a node may be stopped: all owners of what it holds are alive, answer, and
/// have on their disks what was accepted more than a second ago.
///
/// Under load no owner ever has all of it. Therefore the vector on disk is marked several times a
/// second. The newest mark that every owner has confirmed bounds the age of what they lack.
struct Safety: Sendable {
    /// How often the vector on disk is marked, in milliseconds: of the second by which an owner may
    /// lag, up to half passes between two comparisons of vectors.
    static let markMilliseconds: UInt64 = 200
    /// The age up to which an owner may lack a change, in milliseconds.
    static let lagMillisecondsMax: UInt64 = 1_000
    /// How long a member counts as heard after its last pulse, in milliseconds: two pulses.
    static let pulseMilliseconds: UInt64 = 1_200
    /// The most marks of a shard; older ones are of no use.
    private static let marksMax = 6

    private struct Mark: Sendable {
        let at: UInt64
        let vector: Vector
    }

    /// By shard, the marks that are not known to be on all owners, oldest first.
    private var marks: [ShardID: [Mark]] = [:]
    /// By shard, the time up to which everything stored is on all owners.
    private var coveredAt: [ShardID: UInt64] = [:]
    private var markedAt: UInt64 = 0

    /// Whether it is time for the next marks.
    mutating func isDue(now: UInt64) -> Bool {
        guard now >= markedAt + Safety.markMilliseconds else { return false }
        markedAt = now
        return true
    }

    /// Marks the vector of a shard on disk.
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
    /// Whether this node may be stopped without making anything unavailable.
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

    /// Whether an owner is alive, hears this node as it is heard, and answers for the shard.
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

    /// Returns the pulse for a member at this moment.
    func pulse(to connection: PeerConnection, now: UInt64) -> Pulse {
        let unready = shards.filter { $0.assumeIsolated { !$0.isReady && !$0.isForeign } }
        return Pulse(
            Frame.Summary(
                hash: PeerSync.summary(of: hashes(sharedWith: connection.name)),
                unready: unready.map(\.id)),
            silence: now - min(now, connection.sync.heardAt))
    }
}

/// The reasons for which a node should get no requests.
package enum Unreadiness: Hashable, Sendable {
    case noCluster
    /// The disk has lost acknowledged writes: what is damaged, and whether other nodes may hold
    /// what is missing.
    case damaged(String, hasOthers: Bool)
    /// The node has not fetched everything that it owns since its start: the number of shards left.
    case fetching(shards: Int)
    /// The node hands over what it holds: the number of shards left.
    case leaving(shards: Int)
    case stopping
    /// Users sign in here, and no key of access tokens is known yet.
    case noKeys
    case diskFull
    /// Another program keeps the database locked.
    case locked
    /// The offset of the node's wall clock from the cluster's, in milliseconds; positive if it is
    /// ahead.
    case clock(Int64)
}

extension Node {
    /// The reason for which the node should get no requests; nil if it should.
    package var unreadiness: Unreadiness? {
        if isEnding { return .stopping }
        if let loss { return .damaged(loss, hasOthers: mayBeFilled) }
        guard cluster != nil else { return .noCluster }
        if isLeaving { return .leaving(shards: shards.count) }
        // The last shard is ready before the next tick notes that all of them are.
        let left = hasFetched ? 0 : unreadyShards
        guard left == 0 else { return .fetching(shards: left) }
        if pressure.isLocked { return .locked }
        if isDiskFull { return .diskFull }
        if signing.lacksKey { return .noKeys }
        return clusterTime.refusedOffset.map(Unreadiness.clock)
    }

    /// The number of shards that this node owns and does not answer for.
    private var unreadyShards: Int {
        owners.indices.count { number in
            guard owners[number].contains(me.name) else { return false }
            return !(held[number]?.assumeIsolated { $0.isReady } ?? false)
        }
    }

    /// Notes when everything that this node owns has been fetched once.
    ///
    /// Shards that it comes to own later are answered by others until they are here.
    func noteFetched() {
        if !hasFetched, cluster != nil, unreadyShards == 0 { hasFetched = true }
    }
}
