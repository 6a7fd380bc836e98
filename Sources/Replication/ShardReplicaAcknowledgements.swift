import CRDT
import Wire

extension ShardReplica {
    /// Delays a reply until the disk, and as many co-owners as its level asks for, have stored what
    /// it reports.
    ///
    /// - Parameter context: the seqs that have to be stored; empty for a reply that only shows
    ///   content.
    public mutating func wait(
        _ slot: ReplySlot, storing context: Context, level: AckLevel, now: UInt64
    ) {
        acknowledgements.add(
            Acknowledgements.Waiter(
                slot: slot, context: context, level: level,
                deadline: now + Acknowledgements.patienceMilliseconds),
            awaiting: awaitedCommit)
    }

    /// The commit that stores all that was changed up to now.
    private var awaitedCommit: Acknowledgements.AwaitedCommit {
        if isPlantedEarly { return .none }
        if isDirty { return .next }
        return commits.last.map { .last($0.ticket) } ?? .none
    }

    private var isPlantedEarly: Bool {
        #if PlantedBugs
            return PlantedBug.acknowledgedBeforeStored.isOn
        #else
            return false
        #endif
    }

    /// Removes and returns the replies that may be sent now.
    public mutating func takeSettled(now: UInt64) -> [(ReplySlot, Stored)] {
        guard !acknowledgements.isEmpty else { return [] }
        let (ownership, peers) = (ownership, peers)
        let owners = ownership.owners.count
        return acknowledgements.takeSettled { waiter in
            guard !waiter.context.isEmpty else {
                return Stored(on: 1, owners: owners, isEnough: true)
            }
            var on = ownership.isOwnedHere ? 1 : 0
            // By index: a peer's state is large, and iterating over values would copy it.
            for index in peers.indices where peers[index].isOwner {
                if peers[index].confirmed.contains(waiter.context) { on += 1 }
            }
            let copies = waiter.level.copies(owners: owners, living: ownership.livingOwners)
            guard on >= copies || waiter.level == .local || now >= waiter.deadline else {
                return nil
            }
            let isEnough =
                waiter.level == .local || on >= waiter.level.copies(owners: owners)
            return Stored(on: on, owners: owners, isEnough: isEnough)
        }
    }

    /// Whether replies wait for this replica.
    var isAwaited: Bool { !acknowledgements.isEmpty }

    /// Whether all owners, this node among them, are known to hold just what is on this disk, and
    /// no more is here.
    public var isCaughtUpWithAllOwners: Bool {
        isSettled
            && ownership.owners.allSatisfy { owner in
                owner == ownership.me
                    || index(of: owner).map { peers[$0].caughtUpHash == storedHash } ?? false
            }
    }
}
