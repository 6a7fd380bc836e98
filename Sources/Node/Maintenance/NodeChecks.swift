import Replication
import StorePort
import Wire

/// The checks of single shards on disk: of a shard replica before it is handed over, and of one
/// whose digest differs from a peer's although their vectors are equal.
struct ShardChecks: Sendable {
    /// The number of documents checked in one turn: that takes one or two milliseconds.
    static let rowsPerTurn = 64

    var scrubber = Scrubber()
    /// The shards whose digest differs from a peer's at equal vectors.
    var doubted: Set<ShardID> = []
}

extension Node {
    /// Handles a peer's shard replica that has the same vector as this one and another digest: one
    /// of the two disks does not hold what its header counts.
    func noteDivergence(of shard: ShardID, from peer: NodeName) {
        ports.host.log(
            .error,
            "equal vectors, different digests shard=\(shard) peer=\(peer); "
                + "checking the disk and comparing all")
        checks.doubted.insert(shard)
    }

    /// At each tick, begins a check of the shards that need one.
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

    /// Checks the next documents.
    ///
    /// Called at the end of each turn, once the shards have given out their writes: a shard that
    /// changed in the turn is not settled.
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
