import CRDT
import Wire

// MARK: Changes on several owners

extension ShardReplica {
    /// Whether some of these changes are not known to be on the disks of a majority of the owners,
    /// although a majority is not considered dead, so that waiting can succeed.
    ///
    /// Without a request, an owner receives confirmations only of changes that it has sent itself;
    /// `check` requests confirmations of other changes.
    ///
    /// A change on a majority of the owners is found as long as any majority of the owners lives,
    /// because two majorities have an owner in common (Gifford, "Weighted Voting for Replicated
    /// Data", 1979). If no majority lives, waiting cannot succeed.
    ///
    /// - Parameter vector: changes that are on this node's disk, if this node owns the shard.
    public func awaitsMajority(_ vector: Vector) -> Bool {
        #if PlantedBugs
            if PlantedBug.tokenLeavesAtOnce.isOn { return false }
        #endif
        let majority = AckLevel.majority.copies(owners: ownership.owners.count)
        return ownership.livingOwners >= majority && !isHeld(vector, by: majority)
            && peers.allSatisfy { !$0.isOwner || $0.confirmsOnRequest }
    }

    /// Asks the connected owners to confirm these changes.
    ///
    /// - Parameter isAgain: whether owners are asked again about seqs that they were asked to
    ///   confirm.
    public mutating func check(_ vector: Vector, isAgain: Bool) {
        for index in peers.indices where peers[index].isOwner && peers[index].confirmsOnRequest {
            if isAgain { peers[index].checked = Vector() }
            let rest = vector.subtracting(peers[index].confirmed)
                .subtracting(peers[index].checked)
            guard !rest.isEmpty else { continue }
            peers[index].checked.formUnion(rest)
            outbox.append((peers[index].name, .check(shard, rest)))
        }
    }

    private func isHeld(_ vector: Vector, by majority: Int) -> Bool {
        let isHere = ownership.isOwnedHere && stored.vector.covers(vector)
        var on = isHere ? 1 : 0
        for index in peers.indices where peers[index].isOwner {
            let isCaughtUp = isHere && peers[index].caughtUpHash == storedHash
            if isCaughtUp || peers[index].confirmed.covers(vector) { on += 1 }
        }
        return on >= majority || copies(of: vector) >= majority
    }

    /// Returns how many owners are known to have on disk the least replicated of these seqs.
    public func copies(of vector: Vector) -> Int {
        vector.entries.map { entry in
            let isHere = stored.vector.seqs(of: entry.replica).isSuperset(of: entry.seqs)
            let others = peers.filter(\.isOwner).map { $0.confirmed.seqs(of: entry.replica) }
            return (isHere && ownership.isOwnedHere ? 1 : 0) + fewest(entry.seqs, in: others)
        }.min() ?? ownership.owners.count
    }

    /// Whether all of these seqs are known to be on the disks of all owners.
    public func isOnAllOwners(_ vector: Vector) -> Bool {
        ownership.owners.allSatisfy { owner in
            guard owner != ownership.me else { return stored.vector.covers(vector) }
            return index(of: owner).map { peers[$0].confirmed.covers(vector) } ?? false
        }
    }

    /// Returns how many of the given sets contain the seq that is in the fewest of them.
    private func fewest(_ seqs: SeqSet, in sets: [SeqSet]) -> Int {
        var rest = [(seqs: seqs, holders: 0)]
        for set in sets {
            rest = rest.flatMap { part in
                let lacked = part.seqs.subtracting(set)
                let held = part.seqs.subtracting(lacked)
                return [(lacked, part.holders), (held, part.holders + 1)]
            }.filter { !$0.0.isEmpty }
        }
        return rest.map(\.holders).min() ?? sets.count
    }
}
