import CRDT
import Wire

/// A round of asking everybody who may hold the shard for what is lacked here.
///
/// What a connection has seen may have been on one disk alone. Once each holder has been asked
/// since, and has answered `done`, what is still missing exists nowhere any more.
struct ReadBarrierRound: Sendable {
    let number: UInt64
    /// Only pulls that were opened behind this one count: what they bring was there when they were
    /// asked for.
    let pullsBefore: UInt64
    var heard: Set<NodeName> = []
    /// What is here with all that was heard: heard counts once that is on disk.
    var vector = Vector()
}

extension ShardReplica {
    /// Begins to ask every connected node for what it holds beyond this copy.
    ///
    /// - Returns: the number by which `hasHeard` and `endBarrierRound` know it.
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

    /// Whether everybody has been heard since it began, and all of that is on disk.
    ///
    /// - Parameter isStrict: everybody is every member; else those that are connected.
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

    /// Whom to ask next: owners first.
    ///
    /// - Parameter sources: indices of peers.
    func toBeHeard(of sources: [Int]) -> Int? {
        guard !barrierRounds.isEmpty else { return nil }
        let unheard = sources.filter { index in
            barrierRounds.contains { !$0.heard.contains(peers[index].name) }
        }
        return unheard.first { peers[$0].isOwner } ?? unheard.first
    }

    /// A peer has answered all of a pull, or holds nothing.
    mutating func noteHeard(_ peer: NodeName, by pull: UInt64) {
        for index in barrierRounds.indices where pull > barrierRounds[index].pullsBefore {
            barrierRounds[index].heard.insert(peer)
            barrierRounds[index].vector = current.vector
        }
    }

    /// What was fetched is gone again.
    mutating func forgetHeard() {
        for index in barrierRounds.indices {
            barrierRounds[index].heard = []
            barrierRounds[index].vector = current.vector
        }
    }
}
