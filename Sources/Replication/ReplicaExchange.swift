import CRDT
import Wire

// MARK: Peers

extension ShardReplica {
    /// Adds a node to which a connection has been established.
    ///
    /// The set of seqs confirmed by the node starts empty, since confirmations count only on the
    /// connection on which they arrived.
    ///
    /// - Parameter wire: the version of the wire format on the connection.
    public mutating func onPeerUp(_ name: NodeName, wire: UInt8 = Frame.wireVersion) {
        onPeerDown(name)
        var peer = PeerProgress(name: name, wire: wire)
        #if PlantedBugs
            if let index = index(of: name) {
                peer.confirmAll(of: peers.remove(at: index).confirmed)
            }
        #endif
        peer.isOwner = ownership.owners.contains(name)
        peer.untold = current.vector
        peers.append(peer)
        peers.sort { $0.name < $1.name }
    }

    /// Removes a node whose connection has ended.
    public mutating func onPeerDown(_ name: NodeName) {
        if let index = index(of: name), peers[index].isHolder { hasLostHolder = true }
        if !isConfirmationKept { peers.removeAll { $0.name == name } }
        if pull?.peer == name { pull = nil }
        owed.confirmed[name] = nil
        owed.accepted[name] = nil
        for index in commits.indices { commits[index].owed.accepted[name] = nil }
        handover?.onPeerDown(name)
    }

    private var isConfirmationKept: Bool {
        #if PlantedBugs
            return PlantedBug.confirmationOutlivesConnection.isOn
        #else
            return false
        #endif
    }

    /// Whether a co-owner is connected.
    public var hasPeers: Bool { peers.contains(where: \.isOwner) }

    /// Whether this node and the node `name` both own the shard, as this node sees the owners.
    public func isShared(with name: NodeName) -> Bool {
        ownership.isOwnedHere && name != ownership.me && ownership.owners.contains(name)
    }

    func index(of name: NodeName) -> Int? { peers.firstIndex { $0.name == name } }

    /// Returns the seqs that are known to be on a peer's disk; nil if the peer is not connected.
    public func confirmed(by name: NodeName) -> Vector? {
        index(of: name).map { peers[$0].confirmed }
    }

    /// Returns how many changes on this node's disk are not known to be on the peer's disk.
    public func changesLacked(by name: NodeName) -> UInt64 {
        stored.vector.subtracting(confirmed(by: name) ?? Vector()).count
    }

    /// Sends documents that were just accepted to every connected co-owner.
    public mutating func push(_ encodedDocuments: [EncodedDocument]) {
        guard !encodedDocuments.isEmpty else { return }
        for index in peers.indices where peers[index].isOwner {
            let cause = takeUntold(of: index)
            outbox.append((peers[index].name, .push(shard, encodedDocuments, cause: cause)))
        }
    }
}

// MARK: Frames

extension ShardReplica {
    /// Handles a frame about this shard from another node.
    ///
    /// - Returns: the encoded documents in the frame; the caller merges these documents before it
    ///   does anything else.
    public mutating func receive(_ frame: Frame, from peer: NodeName, now: UInt64)
        -> [EncodedDocument]
    {
        guard let index = index(of: peer), !isDropping else { return [] }
        switch frame {
        case .push(_, let encodedDocuments, let cause):
            noteCause(cause, of: peer, now: now)
            return encodedDocuments
        case .confirm(_, let vector):
            peers[index].confirm(vector, known: current.vector)
        case .check(_, let vector):
            owed.add(vector.intersection(current.vector), for: peer)
        case .offer(let offer):
            onOffer(offer, from: index, now: now)
        case .pull(_, let number, let theirs):
            serve(number, lackedBy: theirs.vector, to: index)
        case .batch(_, let number, let batch, let encodedDocuments):
            return onBatch(batch, of: number, from: peer, encodedDocuments, now: now)
        case .done(_, let number, let batches, let claim):
            onDone(number, batches: batches, claim, from: index, now: now)
        case .broken(_, let number):
            if isOpen(number, from: peer) { breakPull(now: now) }
        case .seek:
            offer(to: peer, isAnswer: true)
        case .absent:
            onAbsent(at: index, now: now)
        case .inquiry(_, let number):
            tellBroken(to: index)
            outbox.append((peer, .report(shard, number: number, claim)))
        case .report(_, let number, let claim):
            onReport(number, claim, from: index, now: now)
        case .handover(_, let mark, let claim):
            onHandover(mark, claim, from: index, now: now)
        case .accept(_, let mark, let claim):
            onAccepted(mark, claim, from: index, now: now)
        case .summary, .hashes:
            break
        }
        return []
    }

    /// Records that the peer's replica has the same vector, digest and completeness as this node's
    /// replica on disk.
    ///
    /// - Parameter isServing: whether the peer reports that its replica may serve clients.
    public mutating func onCaughtUp(with peer: NodeName, isServing: Bool) {
        guard let index = index(of: peer) else { return }
        peers[index].confirmAll(of: stored.vector)
        peers[index].untold = peers[index].untold.subtracting(stored.vector)
        peers[index].holding = stored.isComplete ? .complete : .incomplete
        peers[index].isServing = isServing
        peers[index].caughtUpHash = storedHash
        if stored.isComplete, isServing, !needsPull { serve() }
        serveBesideCaughtUpOwners()
    }

    /// Handles the loss of a frame that was dropped because too many frames wait for the peer: a
    /// pull that depended on the frame ends at once instead of timing out.
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
        case .push:
            peers[index].untold = current.vector
        case .check:
            peers[index].checked = Vector()
        case .confirm, .summary, .hashes, .offer, .seek, .absent, .handover, .accept,
            .inquiry, .report:
            break
        }
    }

    /// Sends a peer the claim of this replica's state on disk.
    public mutating func offer(to peer: NodeName, isAnswer: Bool = false) {
        if let index = index(of: peer) { tellBroken(to: index) }
        outbox.append(
            (peer, .offer(Frame.Offer(shard: shard, claim: claim, isAnswer: isAnswer))))
    }

    /// Sends `broken` to a peer if the reply to the peer's pull was dropped.
    private mutating func tellBroken(to index: Int) {
        guard let number = peers[index].unserved else { return }
        outbox.append((peers[index].name, .broken(shard, number: number)))
        peers[index].unserved = nil
    }

    /// Sends an offer to every owner that does not serve, to report that this replica serves.
    ///
    /// A replica that is not complete on disk yet is offered by `onCommitted` once it is complete.
    mutating func tellServing() {
        guard stored.isComplete else { return }
        for peer in peers where peer.isOwner && !peer.isServing {
            offer(to: peer.name, isAnswer: true)
        }
    }

    /// The frame entry with the hash of this replica's state on disk.
    public var shardHash: Frame.ShardHash {
        Frame.ShardHash(shard, storedHash, isServing: isVouching)
    }

    /// The claim that describes this replica's state on disk.
    var claim: Frame.VersionClaim {
        Frame.VersionClaim(
            vector: stored.vector, digest: stored.digest, isComplete: stored.isComplete,
            isServing: isVouching)
    }

    /// Whether a peer claims the same vector as this replica with a different digest.
    func differs(from claim: Frame.VersionClaim) -> Bool {
        isSettled && claim.vector == stored.vector && claim.digest != stored.digest
    }

    private mutating func onReport(
        _ number: UInt64, _ claim: Frame.VersionClaim?, from index: Int, now: UInt64
    ) {
        peers[index].onReport(number)
        guard let claim else { return onAbsent(at: index, now: now) }
        onOffer(Frame.Offer(shard: shard, claim: claim, isAnswer: true), from: index, now: now)
    }

    private mutating func onOffer(_ offer: Frame.Offer, from index: Int, now: UInt64) {
        peers[index].recordClaim(offer.claim, known: current.vector)
        let peer = peers[index].name
        let lacksOurs =
            !offer.claim.vector.covers(stored.vector)
            || (stored.isComplete && !offer.claim.isComplete)
        if lacksOurs, !offer.isAnswer { self.offer(to: peer, isAnswer: true) }
        if differs(from: offer.claim), peers[index].isOwner {
            compareAll(with: index, now: now)
        } else if offer.claim.isVouching, current.isComplete,
            current.vector.covers(offer.claim.vector), !needsPull
        {
            serve()
        } else {
            serveBesideCaughtUpOwners()
        }
        pullIfLacking(now: now)
    }
}
