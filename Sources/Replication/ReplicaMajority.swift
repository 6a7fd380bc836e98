import CRDT
import Wire

// MARK: Changes on several owners

extension ShardReplica {
    /// Whether some of these changes are not known to be on a majority of the owners, though a
    /// majority is not considered dead, so that they soon may be.
    ///
    /// An owner hears that a change is on another one's disk only where it made the change itself;
    /// `check` has it told of others' changes, too.
    ///
    /// What is on a majority of the owners is found as long as any majority of them lives, because
    /// two majorities have an owner in common (Gifford, "Weighted Voting for Replicated Data",
    /// 1979). Where no majority lives there is nothing to wait for.
    ///
    /// - Parameter vector: changes that are on this disk, if this node owns the shard.
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
    /// - Parameter isAgain: whether those that were asked already are asked again.
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

    /// Returns, over all of these seqs, the smallest number of owners that have one on disk.
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

    /// Returns, over all of these seqs, the smallest number of the given sets that contain one.
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
