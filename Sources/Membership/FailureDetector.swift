import Wire

/// The failure detector: timeouts, suspicion, eviction and probes.
extension Membership {
    /// Advances time; called every 100 ms.
    public mutating func onTick(now: UInt64) {
        wake(now)
        lastTickAt = self.now
        majoritySince = hearsMajority ? majoritySince ?? self.now : nil
        refuteTwin()
        for entry in table.entries where entry.member.name != me.name {
            switch entry.state {
            case .alive, .suspect: judge(entry)
            case .dead: evictIfDue(entry)
            case .evicted, .left: break
            }
        }
        if elapsed(since: probedAt) >= Timing.probe {
            probedAt = self.now
            probeNext()
        }
        spreadToSome()
    }

    /// Sets the time; after a pause of this process, silence does not count against anybody.
    mutating func wake(_ now: UInt64) {
        self.now = max(self.now, now)
        guard elapsed(since: lastTickAt) > Timing.lateTick else { return }
        lastTickAt = self.now
        majoritySince = nil
        health.onFailure()
        #if PlantedBugs
            if PlantedBug.suspectsAfterOwnPause.isOn { return }
        #endif
        graceUntil = self.now + Timing.grace
        for entry in table.entries {
            peers[entry.member.name]?.heardAt = self.now
            peers[entry.member.name]?.lostAt = nil
        }
    }

    func elapsed(since time: UInt64) -> UInt64 { now - min(now, time) }

    /// Records a sign of life from the member itself, and tells the nodes that asked for one.
    mutating func sign(_ name: NodeName) {
        // Changed in place, since the state of a peer is expensive to copy.
        guard let index = peers.index(forKey: name) else { return }
        peers.values[index].onSign(now: now)
        peers.values[index].spokeAt = now
        for asker in peers.values[index].takeAskers(now: now) {
            send(.heard(number: asker.number, of: name), to: asker.name)
        }
        if let entry = table[name], entry.state != .alive { enqueue(entry) }
    }

    /// Records a lost connection, and asks others whether they hear the member; a member that asks
    /// shows that it has lost the connection too.
    mutating func lose(_ name: NodeName) {
        guard now >= graceUntil, let peer = peers[name], let entry = table[name],
            entry.state <= .suspect, peer.lostAt == nil
        else { return }
        peers[name]?.lostAt = now
        peers[name]?.requestedAt = nil
        suspect(entry)
        askOthers(about: name)
    }

    private mutating func suspect(_ entry: MemberEntry) {
        guard entry.state == .alive else { return }
        merge(MemberEntry(member: entry.member, state: .suspect), from: nil)
    }

    private mutating func judge(_ entry: MemberEntry) {
        let name = entry.member.name
        guard now >= graceUntil, let peer = peers[name] else { return }
        let accusations = peer.accusationCount(now: now)
        if let lostAt = peer.lostAt {
            let timeout = LostLink.timeout(
                accusations: accusations, others: max(0, othersCount - 1),
                isUnwell: health.isUnwell)
            if elapsed(since: lostAt) >= timeout { return markDead(entry) }
            askOthers(about: name, again: Timing.askAgainLost)
        }
        let silence = elapsed(since: peer.heardAt)
        if silence >= silenceKills(accusations) { return markDead(entry) }
        if silence >= Timing.silenceAsks {
            if peer.ping.map({ elapsed(since: $0.at) >= Timing.askAgain }) ?? true { ping(name) }
            askOthers(about: name)
        }
        let limit =
            health.isUnwell ? Timing.silenceSuspectsUnwell : Timing.silenceSuspects
        if silence >= limit { suspect(entry) }
    }

    /// How long a silent member lives, in milliseconds; accusations do not shorten it, since many
    /// members that hear nothing prove no more than a pause.
    private func silenceKills(_ accusations: Int) -> UInt64 {
        #if PlantedBugs
            if PlantedBug.silenceShrinks.isOn, accusations > 0 { return Timing.silenceSuspects }
        #endif
        return Timing.silenceKills
    }

    private mutating func markDead(_ entry: MemberEntry) {
        merge(MemberEntry(member: entry.member, state: .dead), from: nil)
    }

    /// Evicts a member that was dead for long enough while this node heard a majority.
    ///
    /// A minority that evicted the others would take their shards for its own. Time without a
    /// majority does not count: a member that has just been heard again may know that the other one
    /// lives.
    private mutating func evictIfDue(_ entry: MemberEntry) {
        guard let evictAfter, let since = peers[entry.member.name]?.deadSince,
            let heardSince = decidesSince, elapsed(since: max(since, heardSince)) >= evictAfter
        else { return }
        merge(MemberEntry(member: entry.member, state: .evicted), from: nil)
    }

    /// The time since which this node may decide evictions; nil while it must not.
    private var decidesSince: UInt64? {
        #if PlantedBugs
            if PlantedBug.minorityEvicts.isOn { return 0 }
        #endif
        return majoritySince
    }

    /// Whether this node itself hears more than half of the members, counting this node.
    ///
    /// Evicted members count until they are forgotten: otherwise what remains of a majority could
    /// evict one member after another.
    private var hearsMajority: Bool {
        var (members, heard) = (0, 0)
        for entry in table.entries where entry.state != .left {
            members += 1
            if entry.member.name == me.name || isHeard(entry) { heard += 1 }
        }
        return heard * 2 > members
    }

    private func isHeard(_ entry: MemberEntry) -> Bool {
        guard entry.state == .alive, let peer = peers[entry.member.name], peer.link != nil,
            let spokeAt = peer.spokeAt
        else { return false }
        return elapsed(since: spokeAt) < Timing.silenceSuspects
    }

    /// The number of other members that are assumed to run.
    private var othersCount: Int {
        table.entries.count { $0.state <= .suspect && $0.member.name != me.name }
    }

    // MARK: Probes

    /// Pings the next member of a shuffled round (SWIM, section 4.3).
    private mutating func probeNext() {
        if round.isEmpty { round = linked.shuffled(using: &random) }
        while let name = round.popLast() {
            guard let peer = peers[name], peer.link != nil else { continue }
            if peer.ping != nil, table[name]?.state == .alive { health.onFailure() }
            return ping(name)
        }
    }

    /// Pings every connected member that has not been pinged within the last half second.
    public mutating func pingAll(now: UInt64) {
        wake(now)
        for name in linked
        where peers[name]?.ping.map({ elapsed(since: $0.at) >= Timing.askAgain }) ?? true {
            ping(name)
        }
    }

    mutating func ping(_ name: NodeName) {
        lastNumber += 1
        peers[name]?.ping = (lastNumber, now)
        send(.ping(number: lastNumber, tableHash: table.hash, []), to: name)
    }

    /// - Returns: the round-trip time in milliseconds; nil where the ack matches no open ping.
    mutating func onAck(_ number: UInt64, from name: NodeName) -> UInt64? {
        guard let ping = peers[name]?.ping, ping.number == number else { return nil }
        let rtt = elapsed(since: ping.at)
        peers[name]?.ping = nil
        peers[name]?.rttMilliseconds = rtt
        health.onSuccess()
        return rtt
    }

    /// Asks up to `helpersMax` others whether they hear a member, first the one that heard it last.
    ///
    /// In a small mesh that is everyone, since behind a partial cut perhaps only one can answer; in
    /// a larger one each call asks the next, so that after a few calls every member has been asked.
    ///
    /// - Parameter again: the shortest time since the last call, in milliseconds.
    mutating func askOthers(about name: NodeName, again: UInt64 = Timing.askAgain) {
        guard var peer = peers[name] else { return }
        if let at = peer.requestedAt, elapsed(since: at) < again { return }
        let others = linked.filter { $0 != name && (table[$0]?.state ?? .left) <= .suspect }
        guard !others.isEmpty else { return }
        if peer.requests.isEmpty { peer.helperOffset = random.below(others.count) }
        lastNumber += 1
        peer.requests = [lastNumber] + peer.requests.prefix(Peer.requestsMax - 1)
        peer.requestedAt = now
        var asked: [NodeName] = []
        if let helper = peer.indirectAckFrom, others.contains(helper) { asked = [helper] }
        for step in others.indices where asked.count < Membership.helpersMax {
            let helper = others[(peer.helperOffset + step) % others.count]
            if !asked.contains(helper) { asked.append(helper) }
        }
        peer.helperOffset = (peer.helperOffset + Membership.helpersMax) % others.count
        peers[name] = peer
        for helper in asked { send(.probe(number: lastNumber, of: name), to: helper) }
    }

    /// The number of members that are asked at a time.
    static let helpersMax = smallMesh

    mutating func onProbe(_ number: UInt64, of name: NodeName, from asker: NodeName) {
        guard name != me.name else { return send(.heard(number: number, of: name), to: asker) }
        guard table[name] != nil, let peer = peers[name] else { return }
        peers[name]?.confirmSuspicion(by: asker, now: now)
        let until = now + Timing.accusationHolds
        peers[name]?.await(Peer.ProbeRequester(name: asker, number: number, until: until))
        // Only a new answer counts: what was heard before the probe may be the member's last frame.
        guard peer.link != nil else { return }
        if peer.ping.map({ elapsed(since: $0.at) >= Timing.tick }) ?? true { ping(name) }
    }

    mutating func onIndirectAck(_ number: UInt64, of name: NodeName, from helper: NodeName) {
        guard let peer = peers[name], peer.requests.contains(number), let at = peer.requestedAt,
            elapsed(since: at) <= Timing.accusationHolds
        else { return }
        peers[name]?.indirectAckAt = now
        peers[name]?.indirectAckFrom = helper
        // Not passed on, since two members that repeat each other's reports would keep a dead one
        // alive.
        peers[name]?.onSign(now: now)
    }
}
