import CRDT
import Chat
import Placement
import Replication
import Wire

/// The session guarantees: before a replica answers a connection, it contains all changes that the
/// connection has seen.
///
/// As long as the same replica answers a connection's requests for a shard, no check is needed.
/// Before another replica answers, this node asks that replica to catch up. The replica then pulls
/// missing changes from the holders, and answers once it contains the changes or once every holder
/// has answered.
extension Node {
    /// Whether the token was issued in this cluster; nil before this node is in a cluster.
    package func isOfThisCluster(_ token: Token) -> Bool? {
        cluster.map { token.isOf($0.id) }
    }

    /// Returns a token of the changes that a connection has seen; nil before this node is in a
    /// cluster.
    ///
    /// - Parameter first: the shards with priority in the limited size of the token.
    package func token(
        of seen: [(shard: ShardID, vector: Vector)], first: [ShardID],
        after unsettled: Unsettled = Unsettled()
    ) -> Token? {
        guard let cluster else { return nil }
        let token = Token(
            of: seen, first: first, cluster: cluster.id, checkpoints: checkpoints.known,
            clock: latestTime, unsettled: unsettled, textBytesMax: options.tokenBytesMax)
        let named = seen.filter { token.isNamedOnly($0.shard) }
        if !named.isEmpty { nameVectors(named) }
        return token
    }

    /// Advances this node's clock to the time in a client's token, so that the client's next
    /// operations get later times.
    ///
    /// A client may have forged the token, so a time too far ahead is ignored. If the token was
    /// genuine, a write may fail with `ShardFailure.stale`, which contains the time to exceed.
    package func observe(_ token: Token) { observe(token.clock) }

    /// Returns the vectors of the replicas on this node that answer requests: for all shards, or
    /// for the shard of a partition key.
    package func observations(of partition: String?) -> [Observation] {
        if let partition {
            return shardID(of: partition).flatMap { shard($0) }.map { [observation(of: $0)] } ?? []
        }
        return shards.filter { shard in
            if case .here = route(of: shard.id) { return true }
            return false
        }.map(observation)
    }

    func observation(of shard: Shard) -> Observation {
        Observation(shard.id, shard.assumeIsolated { $0.vector }, by: .here)
    }

    /// Returns the observation to report after a read barrier: the state on the replica's disk.
    private func storedObservation(of shard: Shard) -> Observation {
        Observation(shard.id, shard.assumeIsolated { $0.stored.vector }, by: .here)
    }

    /// Starts a `SINCE`: the slot is notified once every replica that answers the connection
    /// contains the changes that the token names, or once this has failed.
    package func since(_ token: Token, for slot: ReplySlot) {
        let shards = cluster.map { token.shards(of: $0.shards) } ?? []
        sinces[slot] = Since(slot: slot, missing: Set(shards))
        for shard in shards {
            let constraint = ReadConstraint(.token(token.narrowed(to: shard)), isStrict: true)
            readBarriers[SessionShard(session: slot.session, shard: shard)] = ReadBarrier(
                constraint: constraint, since: ports.clock.milliseconds)
        }
        ports.host.turnAgain()
    }

    // MARK: The asking side

    /// Returns whether a replica may answer a connection now; if not, starts a read barrier unless
    /// too many exist.
    func isCaughtUp(
        _ session: UInt64, _ shard: ShardID, with replica: SessionVector.ObservedReplica
    )
        -> Bool
    {
        let place = SessionShard(session: session, shard: shard)
        guard readBarriers[place] == nil else { return false }
        guard let sessionVector = sinks[session]?.sessionVector(of: shard),
            sessionVector.replica != replica
        else {
            return true
        }
        guard readBarriers.count < ReadBarrier.countMax,
            let constraint = sinks[session]?.constraint(on: shard)
        else { return false }
        if replica == .here, let copy = self.shard(shard), isHeld(constraint.minimum, by: copy) {
            sinks[session]?.onCaughtUp(storedObservation(of: copy))
            return true
        }
        readBarriers[place] = ReadBarrier(constraint: constraint, since: ports.clock.milliseconds)
        ports.host.turnAgain()
        return false
    }

    /// Advances all read barriers, catch-ups and `SINCE` requests at the end of a turn.
    func tendReadBarriers() {
        guard !readBarriers.isEmpty || !catchUps.isEmpty || !sinces.isEmpty else { return }
        let now = ports.clock.milliseconds
        for place in readBarriers.keys.sorted(by: precedes) {
            guard let cover = readBarriers[place] else { continue }
            if now >= cover.since + ReadBarrier.patienceMilliseconds {
                giveUp(place)
            } else if cover.target == nil {
                askForReadBarrier(at: place, now: now)
            }
        }
        settleCatchUps(now: now)
        finishSinces()
    }

    private func askForReadBarrier(at place: SessionShard, now: UInt64) {
        guard let cover = readBarriers[place] else { return }
        switch route(of: place.shard) {
        case .nobody: return
        case .here(let shard):
            if isHeld(cover.constraint.minimum, by: shard) {
                return endBarrier(place, storedObservation(of: shard))
            }
            readBarriers[place]?.target = .here
            level(shard.id, cover.constraint, for: .here(place))
        case .member(let name):
            guard let channel = links[name]?.channel.id else { return }
            let number = takeCallNumber()
            let isSent = ask(
                name, .level(place.shard, cover.constraint), as: number,
                within: Forwards.patienceMilliseconds)
            guard isSent else {
                // Another owner is asked in the node's next turn.
                if !isFullMemberAsked { ports.host.turnAgain() }
                return
            }
            barrierCalls[number] = place
            readBarriers[place]?.target = .member(name, channel: channel, number: number)
            readBarriers[place]?.askedAt = now
        }
    }

    func onCaughtUp(_ response: PeerResponse, at place: SessionShard, from name: NodeName) {
        guard case .member(let target, let channel, response.number)? = readBarriers[place]?.target,
            target == name
        else { return }
        barrierCalls[response.number] = nil
        if case .level = response.outcome, let seen = response.seen.first, seen.shard == place.shard
        {
            endBarrier(place, Observation(seen, byMemberAt: channel))
        } else {
            routes.noteRefused(name, place.shard, now: ports.clock.milliseconds)
            readBarriers[place]?.target = nil
        }
        ports.host.turnAgain()
    }

    private func endBarrier(_ place: SessionShard, _ observation: Observation) {
        if let constraint = readBarriers[place]?.constraint {
            noteUnmet(constraint, by: observation)
        }
        drop(place)
        sinks[place.session]?.onCaughtUp(observation)
        for slot in sinces.keys where slot.session == place.session {
            sinces[slot]?.missing.remove(place.shard)
        }
        ports.host.turnAgain()
    }

    /// Records that a connection without a strict constraint continues at a replica that lacks
    /// changes that the connection has seen.
    ///
    /// Later removals are written even if this replica lacks the removed element, so that a removal
    /// takes effect when the other replicas return.
    private func noteUnmet(_ constraint: ReadConstraint, by observation: Observation) {
        guard !constraint.isStrict, let vector = observation.vector,
            !constraint.minimum.isCovered(by: vector, of: observation.shard, checkpoints.known)
        else { return }
        operations.noteUnsettled(latestTime, on: observation.shard)
    }

    /// Ends a read barrier without success; the requests that waited for the barrier fail.
    private func giveUp(_ place: SessionShard) {
        drop(place)
        for slot in sinces.keys.filter({ $0.session == place.session }) { failSince(slot) }
        for forward in forwards.removeWaiting(of: place.shard, where: { $0 == place.session }) {
            finish(forward, forward.outcome(of: .behind), nil)
        }
    }

    private func drop(_ place: SessionShard) {
        guard let cover = readBarriers.removeValue(forKey: place) else { return }
        switch cover.target {
        case .here: endCatchUp(.here(place))
        case .member(_, _, let number): barrierCalls[number] = nil
        case nil: break
        }
    }

    private func failSince(_ slot: ReplySlot) {
        sinces[slot] = nil
        for place in readBarriers.keys.filter({ $0.session == slot.session }) { drop(place) }
        sinks[slot.session]?.onSettled(slot.number, .answered(.failed(.behind), nil))
    }

    private func finishSinces() {
        guard !sinces.isEmpty else { return }
        for slot in sinces.filter({ $1.missing.isEmpty }).keys.sorted(by: precedes) {
            sinces[slot] = nil
            sinks[slot.session]?.onSettled(slot.number, .level)
        }
    }

    func tickReadBarriers(now: UInt64) {
        for (place, cover) in readBarriers {
            guard case .member(let name, let channel, let number) = cover.target else { continue }
            let isLost = links[name]?.channel.id != channel
            let isOverdue = now >= cover.askedAt + Forwards.patienceMilliseconds
            guard isLost || isOverdue else { continue }
            if isOverdue { noteUnanswered(by: name, for: place.shard, now: now) }
            barrierCalls[number] = nil
            readBarriers[place]?.target = nil
        }
    }

    /// Makes connections that relied on this node's replica check again, because the replica may
    /// have lost changes.
    func forgetReplica(of shard: ShardID) {
        for session in sinks.keys.sorted() { sinks[session]?.forgetReplica(of: shard) }
    }

    /// Returns whether a read barrier, `SINCE` or catch-up of this node still runs for a session.
    package func hasReadBarriers(of session: UInt64) -> Bool {
        readBarriers.keys.contains { $0.session == session }
            || sinces.keys.contains { $0.session == session }
            || catchUps.contains { catchUp in
                if case .here(let place) = catchUp.waiter {
                    place.session == session
                } else {
                    false
                }
            }
    }

    func forgetReadBarriers(of session: UInt64) {
        for place in readBarriers.keys.filter({ $0.session == session }) { drop(place) }
        for slot in sinces.keys.filter({ $0.session == session }) { sinces[slot] = nil }
    }

    // MARK: The answering side

    /// Starts a catch-up of this node's replica to a read constraint; then notifies the waiter.
    func level(_ shard: ShardID, _ constraint: ReadConstraint, for waiter: CatchUp.Waiter) {
        guard catchUps.count < CatchUp.countMax else { return deny(waiter) }
        catchUps.append(
            CatchUp(
                shard: shard, constraint: constraint, waiter: waiter,
                since: ports.clock.milliseconds))
        ports.host.turnAgain()
    }

    private func settleCatchUps(now: UInt64) {
        guard !catchUps.isEmpty else { return }
        var over: [(CatchUp, Observation?)] = []
        for index in catchUps.indices {
            let catchUp = catchUps[index]
            guard let shard = shard(catchUp.shard), shard.assumeIsolated({ $0.mayAnswer }) else {
                over.append((catchUp, nil))
                continue
            }
            if isReached(by: shard, at: index) {
                over.append((catchUp, storedObservation(of: shard)))
            } else if catchUp.isLate(now) {
                let isEnough = !catchUp.constraint.isStrict
                over.append((catchUp, isEnough ? storedObservation(of: shard) : nil))
            }
        }
        for (catchUp, _) in over { endCatchUp(catchUp.waiter) }
        for (catchUp, observation) in over {
            switch (catchUp.waiter, observation) {
            case (.here(let place), let observation?): endBarrier(place, observation)
            case (.here(let place), nil): readBarriers[place]?.target = nil
            case (.member(let slot), let observation?):
                let seen = observation.vector.map {
                    ObservedShard(shard: observation.shard, vector: $0)
                }
                sendResponse(.level, to: slot, seen: seen.map { [$0] } ?? [])
            case (.member, nil): deny(catchUp.waiter)
            }
        }
    }

    private func isReached(by shard: Shard, at index: Int) -> Bool {
        let (constraint, barrierRound) = (catchUps[index].constraint, catchUps[index].barrierRound)
        if isHeld(constraint.minimum, by: shard) { return true }
        guard let barrierRound else {
            catchUps[index].barrierRound = within(shard) { $0.beginBarrierRound() }
            ports.host.turnAgain()
            return false
        }
        return shard.assumeIsolated { $0.hasHeard(barrierRound, isStrict: constraint.isStrict) }
    }

    private func isHeld(_ minimum: MinimumVersion, by shard: Shard) -> Bool {
        let (known, held) = (checkpoints.known, checkpoints.held[shard.id])
        return shard.assumeIsolated {
            minimum.isCovered(by: $0.stored.vector, of: $0.id, known, held: held)
        }
    }

    private func endCatchUp(_ waiter: CatchUp.Waiter) {
        guard let index = catchUps.firstIndex(where: { $0.waiter == waiter }) else { return }
        let catchUp = catchUps.remove(at: index)
        guard let barrierRound = catchUp.barrierRound else { return }
        if let shard = shard(catchUp.shard) { within(shard) { $0.endBarrierRound(barrierRound) } }
    }

    private func deny(_ waiter: CatchUp.Waiter) {
        switch waiter {
        case .here(let place): readBarriers[place]?.target = nil
        case .member(let slot): sendResponse(.failed(.behind), to: slot)
        }
    }

    func forgetCatchUps(of session: UInt64) {
        for catchUp in catchUps {
            guard case .member(let slot) = catchUp.waiter, slot.session == session else {
                continue
            }
            endCatchUp(catchUp.waiter)
        }
    }

    private func precedes(_ left: SessionShard, _ right: SessionShard) -> Bool {
        (left.session, left.shard) < (right.session, right.shard)
    }
}
