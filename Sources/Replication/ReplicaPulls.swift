import CRDT
import Wire

// MARK: Pulling

extension ShardReplica {
    /// Equal vectors, different digests: a defect somewhere.
    ///
    /// All of the peer's documents are fetched and merged, and the peer, which sees the same,
    /// fetches ours.
    mutating func compareAll(with index: Int, now: UInt64) {
        guard pull == nil, now >= peers[index].comparableFrom, ownership.isOwnedHere else { return }
        peers[index].noteComparison(now: now)
        divergences.append(peers[index].name)
        open(from: peers[index].name, beyond: Vector(), now: now)
    }
}

extension ShardReplica {
    /// How long an open pull may stay silent, in milliseconds.
    ///
    /// Shorter while somebody waits for all to be heard, or for a cause: another may have what is
    /// lacked.
    var patienceMilliseconds: UInt64 {
        let isAwaited = !barrierRounds.isEmpty || !current.vector.covers(causes.awaited)
        return isAwaited ? Pull.patienceOfBarrierRoundsMilliseconds : Pull.patienceMilliseconds
    }

    /// Opens a pull from somebody who holds what is lacked here, or wants to be rid of a copy.
    mutating func pullIfLacking(now: UInt64) {
        guard pull == nil, ownership.isOwnedHere, !isDropping else { return }
        // By index: each tick asks this of every shard, and what is known of a peer is large.
        let sources = peers.indices.filter { now >= peers[$0].pullableFrom }
        let source =
            sources.first(where: holdsMore) ?? sources.first { peers[$0].wanted != nil }
            ?? toBeHeard(of: sources) ?? (needsPull ? sources.first(where: vouches) : nil)
        if let source { open(from: peers[source].name, beyond: current.vector, now: now) }
    }

    private func holdsMore(_ index: Int) -> Bool {
        !current.vector.covers(peers[index].confirmed)
            || (peers[index].holding == .complete && peers[index].isServing
                && !current.isComplete)
    }

    private func vouches(_ index: Int) -> Bool {
        peers[index].holding == .complete && peers[index].isServing
    }

    private mutating func open(from peer: NodeName, beyond vector: Vector, now: UInt64) {
        guard pull == nil else { return }
        pullsOpened += 1
        let mark = index(of: peer).flatMap { peers[$0].wanted }
        pull = Pull(peer: peer, number: pullsOpened, mark: mark, heardAt: now)
        outbox.append((peer, .pull(shard, number: pullsOpened, SaidVector(vector))))
        #if PlantedBugs
            if PlantedBug.vectorAdvancedBeforeDone.isOn, let index = index(of: peer) {
                noteDone(planted(claiming: peers[index].confirmed), from: peer)
            }
        #endif
    }

    func isOpen(_ number: UInt64, from peer: NodeName) -> Bool {
        #if PlantedBugs
            if PlantedBug.lateDoneCounts.isOn { return pull != nil }
        #endif
        return pull?.number == number && pull?.peer == peer
    }

    mutating func onBatch(
        _ batch: UInt64, of number: UInt64, from peer: NodeName,
        _ encodedDocuments: [EncodedDocument], now: UInt64
    ) -> [EncodedDocument] {
        // The documents are good wherever they come from; only the claim at the end is not.
        guard isOpen(number, from: peer) else { return encodedDocuments }
        if pull?.batches == batch {
            pull?.batches += 1
            pull?.heardAt = now
        } else {
            breakPull(now: now)
        }
        return encodedDocuments
    }

    mutating func onDone(
        _ number: UInt64, batches: UInt64, _ claim: Frame.VersionClaim, from index: Int, now: UInt64
    ) {
        guard isOpen(number, from: peers[index].name), let open = pull else { return }
        guard open.batches == batches || isLateDonePlanted, hasRoom(for: claim.vector) else {
            breakPull(now: now)
            return
        }
        pull = nil
        pullsDone += 1
        peers[index].badFrames = 0
        noteDone(claim, from: peers[index].name)
        peers[index].confirm(claim.vector, known: current.vector)
        if !claim.isComplete, peers[index].holding == .complete {
            peers[index].holding = .incomplete
        }
        peers[index].isServing = claim.isServing
        noteHeard(peers[index].name, by: number)
        if let mark = open.mark { accept(mark, from: index) }
        #if PlantedBugs
            if PlantedBug.claimsUnited.isOn {
                for peer in peers {
                    noteDone(planted(claiming: peer.confirmed), from: peer.name)
                }
            }
        #endif
        if claim.isVouching { serve() }
        pullIfLacking(now: now)
    }

    #if PlantedBugs
        private func planted(claiming vector: Vector) -> Frame.VersionClaim {
            Frame.VersionClaim(vector: vector, digest: .zero, isComplete: false, isServing: false)
        }
    #endif

    private var isLateDonePlanted: Bool {
        #if PlantedBugs
            return PlantedBug.lateDoneCounts.isOn
        #else
            return false
        #endif
    }

    /// What a peer sent could not be merged: a pull that it was part of proves nothing any more.
    public mutating func onMergeFailed(from peer: NodeName, now: UInt64) {
        if pull?.peer == peer { breakPull(now: now) }
    }

    /// What a peer sent of this shard cannot be read or cannot be meant.
    ///
    /// It ends the pull that it was part of. What follows is taken as before, but the peer is asked
    /// for all that is lacked only after a pause, twice as long each time: it would send the same
    /// again.
    ///
    /// - Returns: how long it is not asked, in milliseconds.
    public mutating func onBadFrame(from peer: NodeName, now: UInt64) -> UInt64 {
        onMergeFailed(from: peer, now: now)
        guard let index = index(of: peer) else { return 0 }
        return peers[index].noteBadFrame(now: now)
    }

    mutating func breakPull(now: UInt64) {
        if let pull, let index = index(of: pull.peer) {
            let from = now + Pull.pauseMilliseconds
            peers[index].pullableFrom = max(peers[index].pullableFrom, from)
        }
        pull = nil
    }

    /// Ends every pull from and into this copy.
    mutating func breakPulls() {
        pull = nil
        for index in peers.indices {
            guard let serving = peers[index].serving else { continue }
            outbox.append((peers[index].name, .broken(shard, number: serving.number)))
            peers[index].serving = nil
        }
    }
}

// MARK: Serving

extension ShardReplica {
    /// The peers whose pulls wait for their next batch.
    public var served: [NodeName] { peers.lazy.filter { $0.serving != nil }.map(\.name) }

    mutating func serve(_ number: UInt64, lackedBy theirs: Vector, to index: Int) {
        var vector = stored.vector
        #if PlantedBugs
            if PlantedBug.claimFromMemory.isOn { vector = current.vector }
        #endif
        let claim = Frame.VersionClaim(
            vector: vector, digest: stored.digest, isComplete: stored.isComplete,
            isServing: isVouching)
        peers[index].serving = Serving(number: number, theirs: theirs, claim: claim)
    }

    /// What to read next for a peer's pull.
    public func nextScan(for peer: NodeName) -> Scan? {
        guard let index = index(of: peer), let serving = peers[index].serving else { return nil }
        return Scan(
            number: serving.number, theirs: serving.theirs, ours: serving.claim.vector,
            cursor: serving.cursor)
    }

    /// The scan gave these documents.
    ///
    /// - Parameter cursor: behind which to go on; nil at the end.
    public mutating func onScanned(
        _ encodedDocuments: [EncodedDocument], next cursor: Dot?, for peer: NodeName
    ) {
        guard let index = index(of: peer), var serving = peers[index].serving else { return }
        if !encodedDocuments.isEmpty {
            outbox.append(
                (
                    peer,
                    .batch(shard, number: serving.number, index: serving.batches, encodedDocuments)
                ))
            serving.batches += 1
        }
        serving.cursor = cursor
        peers[index].serving = serving
        guard cursor == nil else { return }
        peers[index].serving = nil
        if peers[index].isOwner, serving.claim.isVouching { handover?.isSuperseded = true }
        outbox.append(
            (
                peer,
                .done(
                    shard, number: serving.number, batches: serving.batches, serving.claim)
            ))
    }

    /// The scan cannot go on.
    public mutating func onScanFailed(for peer: NodeName) {
        guard let index = index(of: peer), let serving = peers[index].serving else { return }
        outbox.append((peer, .broken(shard, number: serving.number)))
        peers[index].serving = nil
    }
}
