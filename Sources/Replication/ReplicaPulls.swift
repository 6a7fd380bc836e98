import CRDT
import Wire

// MARK: Pulling

extension ShardReplica {
    /// Compares all documents with a peer whose vector is equal and whose digest is different,
    /// which can result only from a defect.
    ///
    /// All of the peer's documents are fetched and merged; the peer detects the same difference and
    /// fetches this node's documents.
    mutating func compareAll(with index: Int, now: UInt64) {
        guard pull == nil, now >= peers[index].comparableFrom, ownership.isOwnedHere else { return }
        peers[index].noteComparison(now: now)
        divergences.append(peers[index].name)
        open(from: peers[index].name, beyond: Vector(), now: now)
    }
}

extension ShardReplica {
    /// How long an open pull may receive no part of its reply, in milliseconds.
    ///
    /// The time is shorter while a read barrier round or a watcher waits for missing changes, since
    /// another node may have these changes.
    var patienceMilliseconds: UInt64 {
        let isAwaited = !barrierRounds.isEmpty || !current.vector.covers(causes.awaited)
        return isAwaited ? Pull.patienceOfBarrierRoundsMilliseconds : Pull.patienceMilliseconds
    }

    /// Opens a pull from a peer that has changes that this replica lacks, or that wants to hand
    /// over its replica.
    mutating func pullIfLacking(now: UInt64) {
        guard pull == nil, ownership.isOwnedHere, !isDropping else { return }
        // The loop uses indices, since it runs for every shard on each tick, and copying the state
        // of a peer is expensive.
        let sources = peers.indices.filter { now >= peers[$0].pullableFrom }
        let source =
            sources.first { holdsMore($0) } ?? sources.first { peers[$0].wanted != nil }
            ?? toBeHeard(of: sources) ?? (needsPull ? sources.first { vouches($0) } : nil)
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
        // Documents may be merged in any order; the claim in `done` is valid only if every batch
        // has arrived.
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
        guard open.batches == batches || isLateDonePlanted, hasCapacity(for: claim.vector) else {
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

    /// Ends an open pull from a peer whose documents could not be merged.
    public mutating func onMergeFailed(from peer: NodeName, now: UInt64) {
        if pull?.peer == peer { breakPull(now: now) }
    }

    /// Handles a frame for this shard that cannot be decoded or is invalid.
    ///
    /// The bad frame ends an open pull from the peer. Later frames of the peer are accepted, but
    /// the next pull from the peer waits for a pause, which doubles with each bad frame, since the
    /// peer would send the same bytes again.
    ///
    /// - Returns: how long this node sends no pull to the peer, in milliseconds.
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

    /// Ends this replica's open pull, and all pulls of peers that this replica is answering.
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

    /// Returns the parameters of the next disk read for a peer's pull; nil if the peer has no open
    /// pull.
    public func nextScan(for peer: NodeName) -> Scan? {
        guard let index = index(of: peer), let serving = peers[index].serving else { return nil }
        return Scan(
            number: serving.number, theirs: serving.theirs, ours: serving.claim.vector,
            cursor: serving.cursor)
    }

    /// Sends the documents that a scan returned, and `done` after the last of them.
    ///
    /// - Parameter cursor: the dot after which the scan continues; nil at the end of the scan.
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

    /// Ends a peer's pull because its scan has failed.
    public mutating func onScanFailed(for peer: NodeName) {
        guard let index = index(of: peer), let serving = peers[index].serving else { return }
        outbox.append((peer, .broken(shard, number: serving.number)))
        peers[index].serving = nil
    }
}
