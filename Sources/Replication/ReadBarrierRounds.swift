import CRDT
import Wire

/// A round in which every node that may hold the shard is asked for what this replica lacks.
///
/// A change that a connection has seen may have been on one disk only. Once every holder has been
/// pulled from since the round began and has answered `done`, whatever is still missing exists
/// nowhere any more.
struct ReadBarrierRound: Sendable {
    let number: UInt64
    /// The number of the last pull before the round; only later pulls count, since they ask for
    /// everything that the holder had when the round began.
    let pullsBefore: UInt64
    var heard: Set<NodeName> = []
    /// This replica's vector including all that the round has fetched; the round ends only once
    /// that is on disk.
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

    /// Whether every node has answered since the round began, and all answers are on disk.
    ///
    /// - Parameter isStrict: whether every other member has to answer; otherwise every connected
    ///   node, and none where this node does not own the shard.
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

    /// Returns the peer that the open rounds have to ask next, owners first.
    ///
    /// - Parameter sources: the indices of the peers that may be pulled from.
    func toBeHeard(of sources: [Int]) -> Int? {
        guard !barrierRounds.isEmpty else { return nil }
        let unheard = sources.filter { index in
            barrierRounds.contains { !$0.heard.contains(peers[index].name) }
        }
        return unheard.first { peers[$0].isOwner } ?? unheard.first
    }

    /// Records for all rounds older than this pull that a peer has answered it entirely, or holds
    /// nothing.
    mutating func noteHeard(_ peer: NodeName, by pull: UInt64) {
        for index in barrierRounds.indices where pull > barrierRounds[index].pullsBefore {
            barrierRounds[index].heard.insert(peer)
            barrierRounds[index].vector = current.vector
        }
    }

    /// Voids all answers after the documents that were fetched have been lost.
    mutating func forgetHeard() {
        for index in barrierRounds.indices {
            barrierRounds[index].heard = []
            barrierRounds[index].vector = current.vector
        }
    }
}
