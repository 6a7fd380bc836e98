import CRDT
import Chat
import Placement
import Replication
import Wire

/// Connections only go forward: before a copy answers one, it holds what that one has seen.
///
/// As long as a connection's requests for a shard go to the same copy, there is nothing to do.
/// Where another copy is to answer, it is asked first whether it holds all of it; it pulls from
/// whoever may have the rest, and says so when it does, or when everybody has been heard.
extension Node {
    /// Whether the token is of this cluster; nil before there is one.
    package func isOfThisCluster(_ token: Token) -> Bool? {
        cluster.map { token.isOf($0.id) }
    }

    /// What a connection has seen, for it to carry; nil before there is a cluster.
    ///
    /// - Parameter first: the shards that matter most.
    package func token(
        of seen: [(shard: ShardID, vector: Vector)], first: [ShardID],
        after unsettled: Unsettled = Unsettled()
    ) -> Token? {
        cluster.map {
            Token(
                of: seen, first: first, cluster: $0.id, checkpoints: checkpoints.known,
                clock: latestTime, unsettled: unsettled)
        }
    }

    /// Sees the clock of a token that a client brings: what it asks for next is later.
    ///
    /// A client may have made it up: a time that is not believed counts for nothing, and the answer
    /// *stale* has the rest.
    package func observe(_ token: Token) { observe(token.clock) }

    /// What the copies that answer here hold, of all shards or of a partition's.
    package func sightings(of partition: String?) -> [Sighting] {
        if let partition {
            return shardID(of: partition).flatMap { shard($0) }.map { [sighting(of: $0)] } ?? []
        }
        return shards.filter { shard in
            if case .here = route(of: shard.id) { return true }
            return false
        }.map(sighting)
    }

    func sighting(of shard: Shard) -> Sighting {
        Sighting(shard.id, shard.assumeIsolated { $0.vector }, by: .here)
    }

    /// What is shown of a copy that is said to hold something: what is on its disk.
    private func storedSighting(of shard: Shard) -> Sighting {
        Sighting(shard.id, shard.assumeIsolated { $0.stored.vector }, by: .here)
    }

    /// Has every copy that answers a connection hold what a token stands for; the slot is told when
    /// they do, or that they cannot.
    package func since(_ token: Token, for slot: ReplySlot) {
        let shards = cluster.map { token.shards(of: $0.shards) } ?? []
        sinces[slot] = Since(slot: slot, missing: Set(shards))
        for shard in shards {
            let demand = Demand(.token(token.narrowed(to: shard)), isStrict: true)
            covers[SeenPlace(session: slot.session, shard: shard)] = Cover(
                demand: demand, since: ports.clock.milliseconds)
        }
        ports.host.turnAgain()
    }

    // MARK: Who asks

    /// Whether a copy may answer a connection as it is; if not, it is on its way.
    func isLevel(_ session: UInt64, _ shard: ShardID, with witness: Sight.Witness) -> Bool {
        let place = SeenPlace(session: session, shard: shard)
        guard covers[place] == nil else { return false }
        guard let sight = sinks[session]?.sight(of: shard), sight.witness != witness else {
            return true
        }
        guard covers.count < Cover.countMax,
            let demand = sinks[session]?.demand(on: shard)
        else { return false }
        if witness == .here, let copy = self.shard(shard), isHeld(demand.floor, by: copy) {
            sinks[session]?.onLevel(storedSighting(of: copy))
            return true
        }
        covers[place] = Cover(demand: demand, since: ports.clock.milliseconds)
        ports.host.turnAgain()
        return false
    }

    /// Asks whoever answers for each shard, and goes on with what waited for that.
    func tendCovers() {
        guard !covers.isEmpty || !levellings.isEmpty || !sinces.isEmpty else { return }
        let now = ports.clock.milliseconds
        for place in covers.keys.sorted(by: precedes) {
            guard let cover = covers[place] else { continue }
            if now >= cover.since + Cover.patienceMilliseconds {
                giveUp(place)
            } else if cover.target == nil {
                askForCover(at: place, now: now)
            }
        }
        settleLevellings(now: now)
        finishSinces()
    }

    private func askForCover(at place: SeenPlace, now: UInt64) {
        guard let cover = covers[place] else { return }
        switch route(of: place.shard) {
        case .nobody: return
        case .here(let shard):
            if isHeld(cover.demand.floor, by: shard) {
                return end(place, storedSighting(of: shard))
            }
            covers[place]?.target = .here
            level(shard.id, cover.demand, for: .here(place))
        case .member(let name):
            guard let channel = links[name]?.channel.id else { return }
            let number = takeAskNumber()
            let isSent = ask(
                name, .level(place.shard, cover.demand), as: number,
                within: Forwards.patienceMilliseconds)
            guard isSent else { return }
            coverAsks[number] = place
            covers[place]?.target = .member(name, channel: channel, number: number)
            covers[place]?.askedAt = now
        }
    }

    func onLevelled(_ told: Told, at place: SeenPlace, from name: NodeName) {
        guard case .member(let target, let channel, told.number)? = covers[place]?.target,
            target == name
        else { return }
        coverAsks[told.number] = nil
        if case .level = told.outcome, let seen = told.seen.first, seen.shard == place.shard {
            end(place, Sighting(place.shard, seen.vector, by: .member(channel: channel)))
        } else {
            routes.noteRefused(name, place.shard, now: ports.clock.milliseconds)
            covers[place]?.target = nil
        }
        ports.host.turnAgain()
    }

    private func end(_ place: SeenPlace, _ sighting: Sighting) {
        drop(place)
        sinks[place.session]?.onLevel(sighting)
        for slot in sinces.keys where slot.session == place.session {
            sinces[slot]?.missing.remove(place.shard)
        }
        ports.host.turnAgain()
    }

    /// No copy that can be reached holds it: what waited for one is told so.
    private func giveUp(_ place: SeenPlace) {
        drop(place)
        for slot in sinces.keys.filter({ $0.session == place.session }) { failSince(slot) }
        for forward in forwards.removeWaiting(of: place.shard, for: place.session) {
            finish(forward, forward.outcome(of: .behind), nil)
        }
    }

    private func drop(_ place: SeenPlace) {
        guard let cover = covers.removeValue(forKey: place) else { return }
        switch cover.target {
        case .here: endLevelling(.here(place))
        case .member(_, _, let number): coverAsks[number] = nil
        case nil: break
        }
    }

    private func failSince(_ slot: ReplySlot) {
        sinces[slot] = nil
        for place in covers.keys.filter({ $0.session == slot.session }) { drop(place) }
        sinks[slot.session]?.onSettled(slot.number, .answered(.failed(.behind), nil))
    }

    private func finishSinces() {
        guard !sinces.isEmpty else { return }
        for slot in sinces.filter({ $1.missing.isEmpty }).keys.sorted(by: precedes) {
            sinces[slot] = nil
            sinks[slot.session]?.onSettled(slot.number, .level)
        }
    }

    func tickCovers(now: UInt64) {
        for (place, cover) in covers {
            guard case .member(let name, let channel, let number) = cover.target else { continue }
            let isLost = links[name]?.channel.id != channel
            let isOverdue = now >= cover.askedAt + Forwards.patienceMilliseconds
            guard isLost || isOverdue else { continue }
            if isOverdue { noteUnanswered(by: name, for: place.shard, now: now) }
            coverAsks[number] = nil
            covers[place]?.target = nil
        }
    }

    /// A copy here is not what it was: connections that relied on it look again.
    func forgetWitness(of shard: ShardID) {
        for session in sinks.keys.sorted() { sinks[session]?.forgetWitness(of: shard) }
    }

    func forgetCovers(of session: UInt64) {
        for place in covers.keys.filter({ $0.session == session }) { drop(place) }
        for slot in sinces.keys.filter({ $0.session == session }) { sinces[slot] = nil }
    }

    // MARK: Who answers

    /// Brings a copy here up to a demand, and tells the waiter.
    func level(_ shard: ShardID, _ demand: Demand, for waiter: Levelling.Waiter) {
        guard levellings.count < Levelling.countMax else { return deny(waiter) }
        levellings.append(
            Levelling(
                shard: shard, demand: demand, waiter: waiter, since: ports.clock.milliseconds))
        ports.host.turnAgain()
    }

    private func settleLevellings(now: UInt64) {
        guard !levellings.isEmpty else { return }
        var over: [(Levelling, Sighting?)] = []
        for index in levellings.indices {
            let levelling = levellings[index]
            guard let shard = shard(levelling.shard), shard.assumeIsolated({ $0.mayAnswer }) else {
                over.append((levelling, nil))
                continue
            }
            if isReached(by: shard, at: index) {
                over.append((levelling, storedSighting(of: shard)))
            } else if levelling.isLate(now) {
                let isEnough = !levelling.demand.isStrict
                over.append((levelling, isEnough ? storedSighting(of: shard) : nil))
            }
        }
        for (levelling, _) in over { endLevelling(levelling.waiter) }
        for (levelling, sighting) in over {
            switch (levelling.waiter, sighting) {
            case (.here(let place), let sighting?): end(place, sighting)
            case (.here(let place), nil): covers[place]?.target = nil
            case (.member(let slot), let sighting?):
                let seen = sighting.vector.map { SeenShard(shard: sighting.shard, vector: $0) }
                tell(.level, to: slot, seen: seen.map { [$0] } ?? [])
            case (.member, nil): deny(levelling.waiter)
            }
        }
    }

    private func isReached(by shard: Shard, at index: Int) -> Bool {
        let (demand, hearing) = (levellings[index].demand, levellings[index].hearing)
        if isHeld(demand.floor, by: shard) { return true }
        guard let hearing else {
            levellings[index].hearing = within(shard) { $0.beginHearing() }
            ports.host.turnAgain()
            return false
        }
        return shard.assumeIsolated { $0.hasHeard(hearing, isStrict: demand.isStrict) }
    }

    private func isHeld(_ floor: Floor, by shard: Shard) -> Bool {
        let known = checkpoints.known
        return shard.assumeIsolated { floor.isCovered(by: $0.stored.vector, of: $0.id, known) }
    }

    private func endLevelling(_ waiter: Levelling.Waiter) {
        guard let index = levellings.firstIndex(where: { $0.waiter == waiter }) else { return }
        let levelling = levellings.remove(at: index)
        guard let hearing = levelling.hearing else { return }
        if let shard = shard(levelling.shard) { within(shard) { $0.endHearing(hearing) } }
    }

    private func deny(_ waiter: Levelling.Waiter) {
        switch waiter {
        case .here(let place): covers[place]?.target = nil
        case .member(let slot): tell(.failed(.behind), to: slot)
        }
    }

    func forgetLevellings(of session: UInt64) {
        for levelling in levellings {
            guard case .member(let slot) = levelling.waiter, slot.session == session else {
                continue
            }
            endLevelling(levelling.waiter)
        }
    }

    private func precedes(_ left: SeenPlace, _ right: SeenPlace) -> Bool {
        (left.session, left.shard) < (right.session, right.shard)
    }
}
