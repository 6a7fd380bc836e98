import CRDT
import Wire

// MARK: Whose it is

extension ShardReplica {
    /// The members, or who of them is alive, are seen differently.
    ///
    /// A copy that does not belong here is given away; one that belongs here again may be older
    /// than what the owners made of it meanwhile.
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

    /// Whether requests are answered here: the copy belongs here and may be shown.
    public var isReady: Bool { ownership.isOwnedHere && phase == .serving && !isDropping }

    /// Whether it could answer where no owner can: nothing newer is known to be elsewhere.
    public var isServable: Bool {
        phase == .serving && current.isComplete && !isDropping
            && !(handover?.isSuperseded ?? false)
    }

    /// Whether it answers whoever asks here.
    public var mayAnswer: Bool { isReady || isServable }

    /// Whether the holder is rid of it: every owner has all of it on disk.
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

    /// The disk is told to drop it; nothing is taken or given any more.
    public mutating func beginDrop() {
        precondition(isHandedOver, "a copy goes once every owner has all of it")
        isDropping = true
        breakPulls()
        for peer in peers { outbox.append((peer.name, .absent(shard))) }
    }

    /// The disk could not drop it: it is offered anew.
    public mutating func onDropFailed() {
        isDropping = false
        handover?.restart()
    }
}

// MARK: Handing over

extension ShardReplica {
    /// Whether the disk is to be checked before the copy is given away: that all of its documents
    /// are what it counts, and that each is found by the seqs that changed it.
    ///
    /// An owner is sent what the index leads to, and the rest would go with the copy.
    public var needsCheck: Bool {
        guard let handover, isSettled, !isDropping, !isSuspended else { return false }
        return !handover.isChecked(storedHash)
    }

    /// The disk holds all that this header counts, and every index leads to it.
    public mutating func onChecked(_ header: ReplicaHeader) {
        if header == stored { handover?.checked = storedHash }
    }

    /// Offers the copy to each owner that has not accepted it as it is.
    private mutating func offerHandover(now: UInt64) {
        guard let handover, isSettled, !isDropping, handover.isChecked(storedHash),
            isVouching || !stored.isComplete
        else { return }
        for peer in peers where peer.isOwner {
            guard self.handover?.takesOffer(to: peer.name, now: now) ?? false else { continue }
            outbox.append((peer.name, .handover(shard, mark: handover.mark, claim)))
        }
    }

    /// Somebody holds the shard and should not.
    ///
    /// The copy is accepted at the end of a pull that begins from here on, so that all of it is
    /// in the pull. Who does not own the shard, as it sees the members, accepts nothing.
    mutating func onHandover(
        _ mark: UInt64, _ claim: Frame.VersionClaim, from index: Int, now: UInt64
    ) {
        guard ownership.isOwnedHere, !peers[index].isOwner else { return }
        peers[index].note(claim, known: current.vector)
        // Nothing new would be fetched, and all of it be accepted.
        if differs(from: claim) {
            compareAll(with: index, now: now)
            return
        }
        guard pull?.peer != peers[index].name || pull?.mark != mark else { return }
        peers[index].wanted = mark
        pullIfLacking(now: now)
    }

    /// All of a holder's copy is here: it is told so once that is on disk.
    mutating func accept(_ mark: UInt64, from index: Int) {
        owed.accepted[peers[index].name] = mark
        if peers[index].wanted == mark { peers[index].wanted = nil }
    }

    /// An owner has all of the copy, as it says.
    ///
    /// Nothing is given away to one that claims the same and holds something else.
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
    /// Time passes: pulls that went silent are given up, replies that waited long enough are sent,
    /// and a copy that lacks something looks for who has it.
    public mutating func onTick(now: UInt64) -> [(ReplySlot, Stored)] {
        guard !isDropping else { return takeSettled(now: now) }
        if let pull, now >= pull.heardAt + patienceMilliseconds { breakPull(now: now) }
        pullIfLacking(now: now)
        seek(now: now)
        seekCauses(now: now)
        uniteWhatIsLeft(now: now)
        serveWithoutVoucher(now: now)
        offerHandover(now: now)
        return takeSettled(now: now)
    }

    /// How long a start waits for a complete copy, in milliseconds.
    private static let solitudeMilliseconds: UInt64 = 1_000

    /// From when on it may be decided that no complete copy can be reached, in milliseconds.
    private var decidableFrom: UInt64 {
        guard case .catchingUp(let since) = phase else { return 0 }
        return since + ShardReplica.solitudeMilliseconds
    }

    /// Whether a peer said what it holds when it was asked for the decision.
    ///
    /// What it said before decides nothing: a complete copy may be there by now.
    private func isFresh(_ peer: PeerProgress) -> Bool {
        guard let at = peer.soughtAt else { return false }
        return at >= decidableFrom && peer.hasAnswered
    }

    /// Asks everybody who may hold the shard, where what is here cannot be shown.
    private mutating func seek(now: UInt64) {
        guard pull == nil, phase != .serving || (ownership.isOwnedHere && !current.isComplete)
        else {
            return
        }
        for index in peers.indices {
            if let at = peers[index].soughtAt, now < at + PeerProgress.seekMilliseconds,
                at >= decidableFrom || now < decidableFrom
            {
                continue
            }
            peers[index].soughtAt = now
            peers[index].hasAnswered = false
            outbox.append((peers[index].name, .seek(shard)))
        }
    }

    /// No copy that serves could be reached for long enough: those that can be reached have nothing
    /// beyond this one.
    ///
    /// What they held has been fetched, for they may have been complete before they lost a record.
    private mutating func serveWithoutVoucher(now: UInt64) {
        guard phase != .serving, now >= decidableFrom else { return }
        if !ownership.isOwnedHere { hasWaited = true }
        guard current.isComplete, !peers.isEmpty,
            peers.allSatisfy({ isFresh($0) && ($0.holding == .nothing || isCovered($0)) })
        else { return }
        serve()
    }

    /// All other owners are here, and none of them has anything beyond this copy, though none of
    /// them serves, as after a start of all.
    mutating func serveBesideLevelOwners() {
        guard phase != .serving, !needsPull, current.isComplete, ownership.isOwnedHere,
            !isSuspended,
            ownership.owners.count > 1,
            ownership.owners.allSatisfy({ name in
                name == ownership.me || peers.contains { $0.name == name && isLevelOwner($0) }
            }),
            peers.allSatisfy({ $0.holding == .nothing || isCovered($0) })
        else { return }
        serve()
    }

    private func isLevelOwner(_ peer: PeerProgress) -> Bool {
        peer.holding == .complete && current.vector.covers(peer.confirmed)
    }

    private func isCovered(_ peer: PeerProgress) -> Bool {
        peer.holding != .unknown && current.vector.covers(peer.confirmed)
    }

    /// No other node could be reached for long enough: what is here is all there is to show.
    public mutating func onNobodyReached() {
        if current.isComplete { serve() }
    }

    /// Every member answers and none has a complete copy, nor has anybody else who is connected:
    /// what they have together is all that is left.
    ///
    /// Not at once: one of them may be about to be filled by somebody who cannot be reached here.
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
