import CRDT
import Wire

// MARK: Ownership

extension ShardReplica {
    /// Adopts a changed view of the members.
    ///
    /// If this node does not own the shard any more, its replica is handed over to the owners. If
    /// this node owns the shard again, its replica may be older than the owners' replicas, so the
    /// replica catches up first.
    public mutating func setOwnership(_ ownership: Ownership, now: UInt64) {
        let before = self.ownership
        guard ownership != before else { return }
        self.ownership = ownership
        for index in peers.indices {
            let isOwner = ownership.owners.contains(peers[index].name)
            if isOwner, !peers[index].isOwner {
                peers[index].forgetCopy()
                peers[index].untold = current.vector
            }
            peers[index].isOwner = isOwner
        }
        guard ownership.owners != before.owners else { return }
        if !ownership.isOwnedHere {
            if handover == nil {
                handover = Handover(after: lastMark)
            } else {
                handover?.restart()
            }
            pull = nil
            for index in peers.indices { peers[index].wanted = nil }
        } else if let handover {
            lastMark = handover.mark
            self.handover = nil
            catchUp(now: now)
            needsPull = true
        }
    }

    /// Whether this node owns the shard and may show the replica.
    public var isReady: Bool { ownership.isOwnedHere && phase == .serving && !isDropping }

    /// Whether the replica may answer requests when no owner can: the replica is complete, and no
    /// owner is known to have a newer one.
    public var isServable: Bool {
        phase == .serving && current.isComplete && !isDropping
            && !(handover?.isSuperseded ?? false)
    }

    /// Whether this replica may answer requests.
    public var mayAnswer: Bool { isReady || isServable }

    /// Whether the replica can be dropped: every owner has accepted the handover, and no reply
    /// waits for the replica.
    public var isHandedOver: Bool {
        guard let handover, isSettled, !isAwaited, !isDropping, !isSuspended,
            !ownership.owners.isEmpty
        else { return false }
        #if PlantedBugs
            if PlantedBug.droppedOnConfirmedVectors.isOn {
                return ownership.owners.allSatisfy { name in
                    confirmed(by: name)?.covers(stored.vector) ?? false
                }
            }
            if PlantedBug.droppedBeforeAllAccepted.isOn { return !handover.accepted.isEmpty }
        #endif
        return ownership.owners.allSatisfy(handover.accepted.contains)
    }

    /// Ends all pulls and reports the replica as absent, before the storage drops the replica.
    public mutating func beginDrop() {
        precondition(isHandedOver, "a copy goes once every owner has all of it")
        isDropping = true
        breakPulls()
        for peer in peers { outbox.append((peer.name, .absent(shard))) }
    }

    /// Offers the replica again after the disk failed to drop it.
    public mutating func onDropFailed() {
        isDropping = false
        handover?.restart()
    }
}

// MARK: Handing over

extension ShardReplica {
    /// Whether a check of the disk has to run before the replica is given away.
    ///
    /// The check verifies that every document that the header counts is on disk and that the index
    /// finds it by its seqs.
    ///
    /// Only documents that the index finds are sent to an owner; other documents would be lost when
    /// the replica is dropped.
    public var needsCheck: Bool {
        guard let handover, isSettled, !isDropping, !isSuspended else { return false }
        return !handover.isChecked(storedHash)
    }

    /// Records that every document that this header counts is on disk and in the index.
    public mutating func onChecked(_ header: ReplicaHeader) {
        if header == stored { handover?.checked = storedHash }
    }

    /// Offers the replica to each owner that has not accepted its present state.
    private mutating func offerHandover(now: UInt64) {
        guard let handover, isSettled, !isDropping, handover.isChecked(storedHash),
            isVouching || !stored.isComplete
        else { return }
        for peer in peers where peer.isOwner {
            guard self.handover?.takesOffer(to: peer.name, now: now) ?? false else { continue }
            outbox.append((peer.name, .handover(shard, mark: handover.mark, claim)))
        }
    }

    /// Handles the handover offer of a holder that does not own the shard.
    ///
    /// The handover is accepted at the end of a pull that begins after the offer, so that the pull
    /// contains all of the offered state. A node that does not own the shard in its own view
    /// accepts no handover.
    mutating func onHandover(
        _ mark: UInt64, _ claim: Frame.VersionClaim, from index: Int, now: UInt64
    ) {
        guard ownership.isOwnedHere, !peers[index].isOwner else { return }
        peers[index].recordClaim(claim, known: current.vector)
        // If the vectors are equal, a pull would fetch nothing, and the holder would drop the
        // documents that differ.
        if differs(from: claim) {
            compareAll(with: index, now: now)
            return
        }
        guard pull?.peer != peers[index].name || pull?.mark != mark else { return }
        peers[index].wanted = mark
        pullIfLacking(now: now)
    }

    /// Accepts a handover whose replica has been fetched entirely; `accept` is sent to the holder
    /// once the replica is on disk.
    mutating func accept(_ mark: UInt64, from index: Int) {
        owed.accepted[peers[index].name] = mark
        if peers[index].wanted == mark { peers[index].wanted = nil }
    }

    /// Records that an owner has accepted the replica.
    ///
    /// An acceptance does not count if the owner's replica has the same vector and another digest.
    mutating func onAccepted(
        _ mark: UInt64, _ claim: Frame.VersionClaim, from index: Int, now: UInt64
    ) {
        guard claim.vector.covers(stored.vector) else { return }
        guard !differs(from: claim) else {
            guard now >= peers[index].comparableFrom else { return }
            peers[index].noteComparison(now: now)
            divergences.append(peers[index].name)
            handover?.checked = nil
            return
        }
        handover?.onAccepted(mark, by: peers[index].name)
    }

    mutating func onAbsent(at index: Int, now: UInt64) {
        if peers[index].isHolder { hasLostHolder = true }
        peers[index].forgetCopy()
        peers[index].holding = .nothing
        peers[index].wanted = nil
        if let pull, pull.peer == peers[index].name {
            noteHeard(pull.peer, by: pull.number)
            breakPull(now: now)
            pullIfLacking(now: now)
        }
    }
}

// MARK: Time

extension ShardReplica {
    /// Advances time: ends silent pulls, requests missing changes, offers handovers, and returns
    /// the replies that may be sent now.
    public mutating func onTick(now: UInt64) -> [(ReplySlot, Stored)] {
        guard !isDropping else { return takeSettled(now: now) }
        searchAnew(now: now)
        if let pull, now >= pull.heardAt + patienceMilliseconds { breakPull(now: now) }
        pullIfLacking(now: now)
        seek(now: now)
        seekCauses(now: now)
        uniteWhatIsLeft(now: now)
        serveWithoutVoucher(now: now)
        offerHandover(now: now)
        return takeSettled(now: now)
    }

    /// How long a replica searches for a complete replica after its start, in milliseconds.
    private static let solitudeMilliseconds: UInt64 = 1_000

    /// The earliest time to decide that no complete replica can be reached, in milliseconds.
    private var decidableFrom: UInt64 {
        phase == .serving ? 0 : catchingUpSince + ShardReplica.solitudeMilliseconds
    }

    /// Whether a peer has answered a request for its claim sent at `decidableFrom` or later.
    ///
    /// An earlier answer does not count, since the peer may have fetched a complete replica
    /// afterwards.
    private func isFresh(_ peer: PeerProgress) -> Bool {
        peer.hasAnswered(since: decidableFrom)
    }

    /// Restarts the search for a newer replica after a holder has disconnected or dropped its
    /// replica: a peer may have fetched that replica after its last answer.
    private mutating func searchAnew(now: UInt64) {
        if hasLostHolder, phase != .serving { catchUp(now: now) }
        hasLostHolder = false
    }

    /// Requests the claim of every connected node, if this replica does not serve or is incomplete.
    private mutating func seek(now: UInt64) {
        guard pull == nil, phase != .serving || (ownership.isOwnedHere && !current.isComplete)
        else {
            return
        }
        for index in peers.indices {
            if let at = peers[index].askedAt, now < at + PeerProgress.seekMilliseconds,
                at >= decidableFrom || now < decidableFrom
            {
                continue
            }
            outbox.append((peers[index].name, peers[index].ask(for: shard, now: now)))
        }
    }

    /// Lets this replica serve, or lets owners rely on it, after no serving replica was reached for
    /// one second and the reached replicas have no changes that this replica lacks.
    ///
    /// Documents of replicas that do not serve are fetched too, since such a replica may have been
    /// complete before it lost a record.
    private mutating func serveWithoutVoucher(now: UInt64) {
        guard phase != .serving, now >= decidableFrom else { return }
        if !ownership.isOwnedHere { hasWaited = true }
        guard current.isComplete, !peers.isEmpty,
            peers.allSatisfy({ isFresh($0) && ($0.holding == .nothing || isCovered($0)) })
        else { return }
        serve()
    }

    /// Lets this replica serve if all other owners are connected and complete and have no changes
    /// that this replica lacks.
    ///
    /// No owner serves after a start of all nodes.
    mutating func serveBesideCaughtUpOwners() {
        guard phase != .serving, !needsPull, current.isComplete, ownership.isOwnedHere,
            !isSuspended,
            ownership.owners.count > 1,
            ownership.owners.allSatisfy({ name in
                name == ownership.me || peers.contains { $0.name == name && isCaughtUpOwner($0) }
            }),
            peers.allSatisfy({ $0.holding == .nothing || isCovered($0) })
        else { return }
        serve()
    }

    private func isCaughtUpOwner(_ peer: PeerProgress) -> Bool {
        peer.holding == .complete && current.vector.covers(peer.confirmed)
    }

    private func isCovered(_ peer: PeerProgress) -> Bool {
        peer.holding != .unknown && current.vector.covers(peer.confirmed)
    }

    /// Lets a complete replica serve after no other node could be reached for long enough.
    public mutating func onNobodyReached() {
        if current.isComplete { serve() }
    }

    /// Declares the replica complete if every member has answered, no connected node has a complete
    /// replica, and this replica contains all changes that the connected nodes have reported.
    ///
    /// The decision waits for `decidableFrom`, since a node that this node cannot reach may be
    /// sending its replica to another member.
    private mutating func uniteWhatIsLeft(now: UInt64) {
        guard phase != .serving, peers.isEmpty || now >= decidableFrom, !current.isComplete,
            pull == nil, ownership.isOwnedHere, !isSuspended, !isDoubted
        else { return }
        let isEverybodyHere = ownership.others.allSatisfy { index(of: $0) != nil }
        let isAllHere = peers.allSatisfy { peer in
            isFresh(peer)
                && (peer.holding == .nothing
                    || (peer.holding == .incomplete && current.vector.covers(peer.confirmed)))
        }
        guard isEverybodyHere, isAllHere else { return }
        found()
    }
}
