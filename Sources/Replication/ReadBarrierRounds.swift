import CRDT
import Wire

/// A round in which this replica pulls its missing changes from every node that may have a replica
/// of the shard.
///
/// A change that a connection has seen may have been on one disk only. Once every holder has
/// answered a pull that began after the round, a missing change exists on no node any more.
struct ReadBarrierRound: Sendable {
    let number: UInt64
    /// The number of the last pull before the round; only later pulls count, since a later pull
    /// fetches everything that the holder had when the round began.
    let pullsBefore: UInt64
    var heard: Set<NodeName> = []
    /// This replica's vector including all changes that the round has fetched; the round ends only
    /// once that vector is on disk.
    var vector = Vector()
}

extension ShardReplica {
    /// Begins a round over every connected node.
    ///
    /// - Returns: the number of the round for `hasHeard` and `endBarrierRound`.
    public mutating func beginBarrierRound(now: UInt64) -> UInt64 {
        barrierRoundsBegun += 1
        barrierRounds.append(
            ReadBarrierRound(
                number: barrierRoundsBegun, pullsBefore: pullsOpened, vector: current.vector))
        pullIfLacking(now: now)
        return barrierRoundsBegun
    }

    public mutating func endBarrierRound(_ number: UInt64) {
        barrierRounds.removeAll { $0.number == number }
    }

    /// Whether every required node has answered a pull of the round, and all fetched changes are on
    /// disk.
    ///
    /// - Parameter isStrict: true if every other member has to answer; false if every connected
    ///   node has to answer, or no node where this node does not own the shard.
    public func hasHeard(_ number: UInt64, isStrict: Bool) -> Bool {
        guard let barrierRound = barrierRounds.first(where: { $0.number == number }) else {
            return false
        }
        let isOver =
            isStrict
            ? ownership.others.allSatisfy(barrierRound.heard.contains)
            : !ownership.isOwnedHere || peers.allSatisfy { barrierRound.heard.contains($0.name) }
        return isOver && stored.vector.covers(barrierRound.vector)
    }

    /// Returns the index of the next peer to pull from for the open rounds, owners first.
    ///
    /// - Parameter sources: the indices of the peers that may be pulled from.
    func toBeHeard(of sources: [Int]) -> Int? {
        guard !barrierRounds.isEmpty else { return nil }
        let unheard = sources.filter { index in
            barrierRounds.contains { !$0.heard.contains(peers[index].name) }
        }
        return unheard.first { peers[$0].isOwner } ?? unheard.first
    }

    /// Records for all rounds that began before this pull that a peer has answered the pull
    /// entirely or has no replica.
    mutating func noteHeard(_ peer: NodeName, by pull: UInt64) {
        for index in barrierRounds.indices where pull > barrierRounds[index].pullsBefore {
            barrierRounds[index].heard.insert(peer)
            barrierRounds[index].vector = current.vector
        }
    }

    /// Discards all recorded answers after fetched documents have been lost.
    mutating func forgetHeard() {
        for index in barrierRounds.indices {
            barrierRounds[index].heard = []
            barrierRounds[index].vector = current.vector
        }
    }
}
