import CRDT
import Wire

/// A round of asking everybody who may hold the shard for what is lacked here.
///
/// What a connection has seen may have been on one disk alone. Once each holder has been asked
/// since, and has answered `done`, what is still missing exists nowhere any more.
struct Hearing: Sendable {
    let number: UInt64
    /// Only pulls that were opened behind this one count: what they bring was there when they were
    /// asked for.
    let pullsBefore: UInt64
    var heard: Set<NodeName> = []
    /// What is here with all that was heard: heard counts once that is on disk.
    var vector = Vector()
}

extension Copy {
    /// Begins to ask every connected node for what it holds beyond this copy.
    ///
    /// - Returns: the number by which `hasHeard` and `endHearing` know it.
    public mutating func beginHearing(now: UInt64) -> UInt64 {
        hearingsBegun += 1
        hearings.append(
            Hearing(number: hearingsBegun, pullsBefore: pullsOpened, vector: current.vector))
        pullIfLacking(now: now)
        return hearingsBegun
    }

    public mutating func endHearing(_ number: UInt64) {
        hearings.removeAll { $0.number == number }
    }

    /// Whether everybody has been heard since it began, and all of that is on disk.
    ///
    /// - Parameter isStrict: everybody is every member; else those that are connected.
    public func hasHeard(_ number: UInt64, isStrict: Bool) -> Bool {
        guard let hearing = hearings.first(where: { $0.number == number }) else { return false }
        let isOver =
            isStrict
            ? holders.others.allSatisfy(hearing.heard.contains)
            : !holders.isOwnedHere || peers.allSatisfy { hearing.heard.contains($0.name) }
        return isOver && stored.vector.covers(hearing.vector)
    }

    /// Whom to ask next: owners first.
    ///
    /// - Parameter sources: indices of peers.
    func toBeHeard(of sources: [Int]) -> Int? {
        guard !hearings.isEmpty else { return nil }
        let unheard = sources.filter { index in
            hearings.contains { !$0.heard.contains(peers[index].name) }
        }
        return unheard.first { peers[$0].isOwner } ?? unheard.first
    }

    /// A peer has answered all of a pull, or holds nothing.
    mutating func noteHeard(_ peer: NodeName, by pull: UInt64) {
        for index in hearings.indices where pull > hearings[index].pullsBefore {
            hearings[index].heard.insert(peer)
            hearings[index].vector = current.vector
        }
    }

    /// What was fetched is gone again.
    mutating func forgetHeard() {
        for index in hearings.indices {
            hearings[index].heard = []
            hearings[index].vector = current.vector
        }
    }
}
