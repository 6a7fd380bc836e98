import CRDT
import Wire

extension ShardReplica {
    /// Delays a reply until this node, and as many co-owners as the acknowledgement level requires,
    /// have stored the changes that the reply reports.
    ///
    /// - Parameter context: the seqs that have to be stored before the reply is sent; empty for a
    ///   reply to a read.
    public mutating func wait(
        _ slot: ReplySlot, storing context: Context, level: AckLevel, now: UInt64
    ) {
        acknowledgements.add(
            Acknowledgements.Waiter(
                slot: slot, context: context, level: level,
                deadline: now + Acknowledgements.patienceMilliseconds),
            awaiting: awaitedCommit)
    }

    /// The commit that stores all changes of this replica up to now.
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
            // The loop uses indices, since iterating over the peers would copy their large states.
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

    /// Whether replies wait for a commit of this replica or for confirmations of co-owners.
    var isAwaited: Bool { !acknowledgements.isEmpty }

    /// Whether every other owner is known to be in sync with this replica's state on disk, and this
    /// replica has no change that is not on disk.
    public var isCaughtUpWithAllOwners: Bool {
        isSettled
            && ownership.owners.allSatisfy { owner in
                owner == ownership.me
                    || index(of: owner).map { peers[$0].caughtUpHash == storedHash } ?? false
            }
    }
}
