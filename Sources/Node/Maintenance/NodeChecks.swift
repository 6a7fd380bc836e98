import Replication
import StorePort
import Wire

/// The checks of single shards on disk: of a shard replica before its handover, and of a replica
/// whose digest differs from a peer's although their vectors are equal.
struct ShardChecks: Sendable {
    /// The number of documents checked in one turn; 64 documents take one or two milliseconds.
    static let rowsPerTurn = 64

    var scrubber = Scrubber()
    /// The shards whose digest differs from a peer's at equal vectors.
    var doubted: Set<ShardID> = []
}

extension Node {
    /// Handles a peer's shard replica whose vector equals this node's and whose digest differs: one
    /// of the two disks lacks documents that its header counts.
    func noteDivergence(of shard: ShardID, from peer: NodeName) {
        ports.host.log(
            .error,
            "equal vectors, different digests shard=\(shard) peer=\(peer); "
                + "checking the disk and comparing all")
        checks.doubted.insert(shard)
    }

    /// Starts a check of the shards that need one; called at each tick.
    func checkForeign(now: UInt64) {
        guard !checks.scrubber.isWalking, !isEnding else { return }
        let due = shards.filter { shard in
            checks.doubted.contains(shard.id) || shard.assumeIsolated { $0.needsCheck }
        }
        checks.doubted = []
        guard !due.isEmpty else { return }
        checks.scrubber.begin(due.map(\.id), now: now)
        ports.host.turnAgain()
    }

    /// Checks the next documents of the shard under check.
    ///
    /// This method is called at the end of each turn, after the shards have returned their writes,
    /// because a shard that changed in the turn is not settled.
    func continueChecks() {
        guard let id = checks.scrubber.shard, !isEnding else { return }
        ports.host.turnAgain()
        guard let shard = shard(id), repairs[id] == nil, !shard.assumeIsolated({ $0.isDropping })
        else { return checks.scrubber.skip() }
        let (isSettled, stored) = shard.assumeIsolated { ($0.isSettled, $0.stored) }
        guard checks.scrubber.takesTurn(isSettled: isSettled, stored: stored) else { return }
        do throws(StoreFailure) {
            let part = try ports.store.check(
                id, after: checks.scrubber.mark, rowsMax: ShardChecks.rowsPerTurn)
            let verdict = checks.scrubber.onRead(part, isSettled: isSettled, stored: stored)
            guard part.bad.isEmpty else { return onBadRecords(part.bad, in: id) }
            guard part.unindexed.isEmpty || !isSettled else {
                checks.scrubber.skip()
                return onBadIndex(of: id)
            }
            switch verdict {
            case .goOn: return
            case .miscounted(let id): onBadHeader(of: id)
            case .whole(let id, let header):
                self.shard(id).map { within($0) { $0.onChecked(header) } }
            }
        } catch {
            checks.scrubber.skip()
            if error == .badIndex { return onBadIndex(of: id) }
            ports.host.log(.error, "shard not checked shard=\(id): \(error)")
        }
    }
}
