import CRDT
import Wire

// MARK: Ownership

extension ShardReplica {
    /// Adopts a changed view of the members.
    ///
    /// A replica that does not belong here any more is handed over. One that belongs here again may
    /// be older than the owners' replicas, so it catches up first.
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

    /// Whether the replica could answer where no owner can: it is complete, and nothing newer is
    /// known to be elsewhere.
    public var isServable: Bool {
        phase == .serving && current.isComplete && !isDropping
            && !(handover?.isSuperseded ?? false)
    }

    /// Whether requests are answered from this replica.
    public var mayAnswer: Bool { isReady || isServable }

    /// Whether the replica can be dropped: every owner has all of it on disk, and nothing waits for
    /// it.
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

    /// Stops taking and giving anything, while the disk is told to drop the replica.
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
    /// Whether the disk has to be checked before the replica is given away: whether the documents
    /// are all that the header counts, and the index finds each by the seqs that changed it.
    ///
    /// An owner is sent only what the index finds; the other documents would be dropped with the
    /// replica.
    public var needsCheck: Bool {
        guard let handover, isSettled, !isDropping, !isSuspended else { return false }
        return !handover.isChecked(storedHash)
    }

    /// Records that the disk holds all that this header counts and that every index leads to it.
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

    /// Handles the offer of a holder that does not own the shard.
    ///
    /// The handover is accepted at the end of a pull that begins after the offer, so that the pull
    /// contains all of the offered state. A node that does not own the shard in its own view
    /// accepts nothing.
    mutating func onHandover(
        _ mark: UInt64, _ claim: Frame.VersionClaim, from index: Int, now: UInt64
    ) {
        guard ownership.isOwnedHere, !peers[index].isOwner else { return }
        peers[index].recordClaim(claim, known: current.vector)
        // At equal vectors a pull would fetch nothing, and the holder would drop the documents that
        // differ.
        if differs(from: claim) {
            compareAll(with: index, now: now)
            return
        }
        guard pull?.peer != peers[index].name || pull?.mark != mark else { return }
        peers[index].wanted = mark
        pullIfLacking(now: now)
    }

    /// Accepts a handover that has been fetched entirely; the holder is told once that is on disk.
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
    /// Advances time: ends silent pulls, looks for what the replica lacks, offers handovers, and
    /// returns the replies that have waited long enough.
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

    /// How long a replica searches for a complete one after its start, in milliseconds.
    private static let solitudeMilliseconds: UInt64 = 1_000

    /// The time from which on it may be decided that no complete replica can be reached, in
    /// milliseconds.
    private var decidableFrom: UInt64 {
        phase == .serving ? 0 : catchingUpSince + ShardReplica.solitudeMilliseconds
    }

    /// Whether a peer was asked what it holds late enough for that decision, and has answered.
    ///
    /// An earlier answer decides nothing: the peer may have a complete replica by now.
    private func isFresh(_ peer: PeerProgress) -> Bool {
        peer.hasAnswered(since: decidableFrom)
    }

    /// Begins the search for a newer replica anew after one went out of sight: what the other peers
    /// have answered before does not show that nobody has taken it over.
    private mutating func searchAnew(now: UInt64) {
        if hasLostHolder, phase != .serving { catchUp(now: now) }
        hasLostHolder = false
    }

    /// Asks every connected node what it holds, if this replica cannot serve or is incomplete.
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

    /// Serves, or lets owners rely on this replica, after no serving one could be reached for long
    /// enough and the replicas that were reached hold nothing beyond this one.
    ///
    /// Their documents have been fetched although none of them serves: they may have been complete
    /// before they lost a record.
    private mutating func serveWithoutVoucher(now: UInt64) {
        guard phase != .serving, now >= decidableFrom else { return }
        if !ownership.isOwnedHere { hasWaited = true }
        guard current.isComplete, !peers.isEmpty,
            peers.allSatisfy({ isFresh($0) && ($0.holding == .nothing || isCovered($0)) })
        else { return }
        serve()
    }

    /// Serves if all other owners are connected and complete and hold nothing beyond this replica,
    /// though none of them serves; this happens after a start of all nodes.
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

    /// Serves, if complete, after no other node could be reached for long enough.
    public mutating func onNobodyReached() {
        if current.isComplete { serve() }
    }

    /// Declares the replica complete if every member has answered, no connected node has a complete
    /// replica, and everything that they hold has been fetched.
    ///
    /// This waits for `decidableFrom`, since a node that is not reached from here may be about to
    /// fill one of the others.
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
