import Replication
import Wire

/// The check of what the disk holds of single shards, before anybody relies on it: before a copy is
/// given away, and where another one that claims the same holds something else.
struct ShardChecks: Sendable {
    /// So many documents in a turn: a millisecond or two, then others are served.
    static let rowsPerTurn = 64

    var scrubber = Scrubber()
    /// Those that differ from a peer's copy.
    var doubted: Set<ShardID> = []
}

extension Node {
    /// Another copy of the shard claims the same and holds something else: one of the two disks
    /// does not hold what it counts.
    func noteDivergence(of shard: ShardID, from peer: NodeName) {
        ports.host.log(
            .error,
            "equal vectors, different digests shard=\(shard) peer=\(peer); "
                + "checking the disk and comparing all")
        checks.doubted.insert(shard)
    }

    /// Each tick: begins to check the shards that are to be.
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

    /// At the end of each turn, once what changed in it is handed to the disk.
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
