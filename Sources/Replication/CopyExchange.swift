import CRDT
import Wire

// MARK: Peers

extension Copy {
    /// A connection to a co-owner is up.
    ///
    /// It has confirmed nothing until it says so: confirmations belong to one connection.
    public mutating func onPeerUp(_ name: NodeName) {
        #if PlantedBugs
            if PlantedBug.confirmationOutlivesConnection.isOn, index(of: name) != nil { return }
        #endif
        onPeerDown(name)
        peers.append(PeerCopy(name: name))
        peers.sort { $0.name < $1.name }
    }

    /// The connection to a co-owner is gone.
    public mutating func onPeerDown(_ name: NodeName) {
        #if PlantedBugs
            if PlantedBug.confirmationOutlivesConnection.isOn { return }
        #endif
        peers.removeAll { $0.name == name }
        if pull?.peer == name { pull = nil }
    }

    /// Whether a co-owner is connected.
    public var hasPeers: Bool { !peers.isEmpty }

    func index(of name: NodeName) -> Int? { peers.firstIndex { $0.name == name } }

    /// What is known to be on a peer's disk.
    public func confirmed(by name: NodeName) -> Vector? {
        index(of: name).map { peers[$0].confirmed }
    }

    /// How many changes that are on this disk are not known to be on the peer's.
    public func changesLacked(by name: NodeName) -> UInt64 {
        stored.vector.subtracting(confirmed(by: name) ?? Vector()).count
    }

    /// Sends a document that was just accepted to every co-owner.
    public mutating func push(_ parcels: [Parcel]) {
        guard !parcels.isEmpty else { return }
        for peer in peers { outbox.append((peer.name, .push(shard, parcels))) }
    }
}

// MARK: Frames

extension Copy {
    /// Takes a frame of a co-owner's.
    ///
    /// - Returns: the parcels in it that are to be merged, now, before anything else.
    public mutating func receive(_ frame: Frame, from peer: NodeName, now: UInt64) -> [Parcel] {
        guard let index = index(of: peer) else { return [] }
        switch frame {
        case .push(_, let parcels):
            return parcels
        case .confirm(_, let vector):
            peers[index].confirmed.formUnion(vector)
        case .offer(let offer):
            onOffer(offer, from: index, now: now)
        case .pull(_, let number, let vector):
            serve(number, lackedBy: vector, to: index)
        case .batch(_, let number, let batch, let parcels):
            return onBatch(batch, of: number, from: peer, parcels, now: now)
        case .done(_, let number, let batches, let claim):
            onDone(number, batches: batches, claim, from: index, now: now)
        case .broken(_, let number):
            if isOpen(number, from: peer) { breakPull(now: now) }
        case .summary, .hashes:
            break
        }
        return []
    }

    /// The peer claims the same, holds the same and is complete alike.
    public mutating func onLevel(with peer: NodeName) {
        guard let index = index(of: peer) else { return }
        peers[index].confirmed = stored.vector
        peers[index].isComplete = stored.isComplete
        if stored.isComplete, !peers[index].isFilledFromHere { serve() }
    }

    /// A frame to a peer was dropped, because too many wait for it: what was counting on the frame
    /// ends, at once and not when its patience does.
    public mutating func onDropped(_ frame: Frame, to peer: NodeName, now: UInt64) {
        guard let index = index(of: peer) else { return }
        switch frame {
        case .pull(_, let number, _):
            if isOpen(number, from: peer) { breakPull(now: now) }
        case .batch(_, let number, _, _), .done(_, let number, _, _):
            peers[index].serving = nil
            peers[index].unserved = number
        case .broken(_, let number):
            peers[index].unserved = number
        case .push, .confirm, .summary, .hashes, .offer:
            break
        }
    }

    /// Tells a peer what is on this disk.
    public mutating func offer(to peer: NodeName, isAnswer: Bool = false) {
        if let index = index(of: peer), let number = peers[index].unserved {
            outbox.append((peer, .broken(shard, number: number)))
            peers[index].unserved = nil
        }
        let claim = Frame.Claim(vector: stored.vector, isComplete: stored.isComplete)
        let offer = Frame.Offer(
            shard: shard, claim: claim, digest: stored.digest, isAnswer: isAnswer)
        outbox.append((peer, .offer(offer)))
    }

    private mutating func onOffer(_ offer: Frame.Offer, from index: Int, now: UInt64) {
        peers[index].confirmed.formUnion(offer.claim.vector)
        peers[index].isComplete = offer.claim.isComplete
        let peer = peers[index].name
        let lacksOurs =
            !offer.claim.vector.covers(stored.vector)
            || (stored.isComplete && !offer.claim.isComplete)
        if lacksOurs, !offer.isAnswer { self.offer(to: peer, isAnswer: true) }
        if isSettled, offer.claim.vector == stored.vector, offer.digest != stored.digest {
            compareAll(with: index, now: now)
        } else if offer.claim.isComplete, !peers[index].isFilledFromHere, current.isComplete,
            current.vector.covers(offer.claim.vector)
        {
            serve()
        }
        pullIfLacking(now: now)
    }
}

// MARK: Pulling

extension Copy {
    /// Equal vectors, different digests: a defect somewhere.
    ///
    /// All of the peer's documents are fetched and merged, and the peer, which sees the same,
    /// fetches ours.
    private mutating func compareAll(with index: Int, now: UInt64) {
        guard pull == nil, now >= peers[index].comparableFrom else { return }
        peers[index].comparableFrom = now + PeerCopy.comparisonPauseMilliseconds
        divergences.append(peers[index].name)
        open(from: peers[index].name, beyond: Vector(), now: now)
    }
}

extension Copy {
    /// Time passes: pulls that went silent are given up, replies that waited long enough are sent.
    public mutating func onTick(now: UInt64) -> [(ReplySlot, Stored)] {
        if let pull, now >= pull.heardAt + Pull.patienceMilliseconds { breakPull(now: now) }
        pullIfLacking(now: now)
        uniteWhatIsLeft()
        serveBesideIncomplete(now: now)
        return takeSettled(now: now)
    }

    /// How long a start waits for a complete copy, in milliseconds.
    private static let solitudeMilliseconds: UInt64 = 1_000

    /// No complete copy could be reached for long enough: those that can be reached are being
    /// filled, from this one; and what they held beyond it has been fetched, for they may have been
    /// complete before they lost a record.
    private mutating func serveBesideIncomplete(now: UInt64) {
        guard case .catchingUp(let since) = phase, current.isComplete, !peers.isEmpty,
            now >= since + Copy.solitudeMilliseconds,
            peers.allSatisfy({
                ($0.isComplete == false || $0.isFilledFromHere)
                    && current.vector.covers($0.confirmed)
            })
        else { return }
        serve()
    }

    /// No co-owner could be reached for long enough: what is here is all there is to show.
    public mutating func onNobodyReached() {
        if current.isComplete { serve() }
    }

    /// Every owner answers and none is complete: what they have together is all that is left.
    private mutating func uniteWhatIsLeft() {
        guard !current.isComplete, pull == nil, peers.count + 1 >= owners else { return }
        let isAllHere = peers.allSatisfy { peer in
            peer.isComplete == false && current.vector.covers(peer.confirmed)
        }
        guard isAllHere else { return }
        found()
    }

    private mutating func pullIfLacking(now: UInt64) {
        guard pull == nil else { return }
        let source = peers.first { peer in
            now >= peer.pullableFrom
                && (!current.vector.covers(peer.confirmed)
                    || (peer.isComplete == true && !current.isComplete))
        }
        if let source { open(from: source.name, beyond: current.vector, now: now) }
    }

    private mutating func open(from peer: NodeName, beyond vector: Vector, now: UInt64) {
        guard pull == nil else { return }
        pullsOpened += 1
        pull = Pull(peer: peer, number: pullsOpened, heardAt: now)
        outbox.append((peer, .pull(shard, number: pullsOpened, vector)))
        #if PlantedBugs
            if PlantedBug.vectorAdvancedBeforeDone.isOn, let index = index(of: peer) {
                noteDone(
                    Frame.Claim(vector: peers[index].confirmed, isComplete: false), from: peer)
            }
        #endif
    }

    private func isOpen(_ number: UInt64, from peer: NodeName) -> Bool {
        #if PlantedBugs
            if PlantedBug.lateDoneCounts.isOn { return pull != nil }
        #endif
        return pull?.number == number && pull?.peer == peer
    }

    private mutating func onBatch(
        _ batch: UInt64, of number: UInt64, from peer: NodeName, _ parcels: [Parcel], now: UInt64
    ) -> [Parcel] {
        // The documents are good wherever they come from; only the claim at the end is not.
        guard isOpen(number, from: peer) else { return parcels }
        if pull?.batches == batch {
            pull?.batches += 1
            pull?.heardAt = now
        } else {
            breakPull(now: now)
        }
        return parcels
    }

    private mutating func onDone(
        _ number: UInt64, batches: UInt64, _ claim: Frame.Claim, from index: Int, now: UInt64
    ) {
        guard isOpen(number, from: peers[index].name), let open = pull else { return }
        guard open.batches == batches || isLateDonePlanted else {
            breakPull(now: now)
            return
        }
        pull = nil
        noteDone(claim, from: peers[index].name)
        peers[index].confirmed.formUnion(claim.vector)
        #if PlantedBugs
            if PlantedBug.claimsUnited.isOn {
                for peer in peers {
                    noteDone(
                        Frame.Claim(vector: peer.confirmed, isComplete: false), from: peer.name)
                }
            }
        #endif
        if claim.isComplete, !peers[index].isFilledFromHere { serve() }
        pullIfLacking(now: now)
    }

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

    private mutating func breakPull(now: UInt64) {
        if let pull, let index = index(of: pull.peer) {
            peers[index].pullableFrom = now + Pull.pauseMilliseconds
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

extension Copy {
    /// The peers whose pulls wait for their next batch.
    public var served: [NodeName] { peers.lazy.filter { $0.serving != nil }.map(\.name) }

    private mutating func serve(_ number: UInt64, lackedBy theirs: Vector, to index: Int) {
        var vector = stored.vector
        #if PlantedBugs
            if PlantedBug.claimFromMemory.isOn { vector = current.vector }
        #endif
        let claim = Frame.Claim(vector: vector, isComplete: stored.isComplete)
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
    public mutating func onScanned(_ parcels: [Parcel], next cursor: Dot?, for peer: NodeName) {
        guard let index = index(of: peer), var serving = peers[index].serving else { return }
        if !parcels.isEmpty {
            outbox.append(
                (
                    peer,
                    .batch(shard, number: serving.number, index: serving.batches, parcels)
                ))
            serving.batches += 1
        }
        serving.cursor = cursor
        peers[index].serving = serving
        guard cursor == nil else { return }
        peers[index].serving = nil
        if phase != .serving, serving.claim.isComplete, peers[index].isComplete != true {
            peers[index].isFilledFromHere = true
        }
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
