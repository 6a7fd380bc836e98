import Wire

/// What is said of members, and of this one.
extension Membership {
    /// Takes in one entry, wherever it came from, and passes on what it changes.
    mutating func merge(_ entry: MemberEntry, from source: NodeName?) {
        guard entry.member.incarnation <= Member.incarnationMax else { return }
        let name = entry.member.name
        guard name != me.name else { return hear(ofMyself: entry) }
        guard admit(name) else { return }
        let old = table[name]
        guard table.merge(entry) else {
            // A full table has refused it: nothing is kept of who is not in it and has no link.
            if old == nil, peers[name]?.link == nil { peers[name] = nil }
            return
        }
        onChange(of: entry, from: old)
        announce(name, from: source)
        if entry.state != .alive { tell(entry) }
    }

    private mutating func onChange(of entry: MemberEntry, from old: MemberEntry?) {
        let name = entry.member.name
        if let old, old.member.process != entry.member.process,
            old.member.incarnation < entry.member.incarnation
        {
            events.append(.restarted(name))
        }
        if old?.state != entry.state {
            events.append(.changed(name, from: old?.state, to: entry.state))
        }
        switch entry.state {
        case .alive:
            // Only the member itself can have said so, and lately.
            peers[name]?.onSign(now: now)
            peers[name]?.acquit()
            peers[name]?.deadSince = nil
        case .suspect: peers[name]?.deadSince = nil
        case .dead:
            peers[name]?.lostAt = nil
            peers[name]?.deadSince = now
        case .evicted, .left: peers[name]?.lostAt = nil
        }
    }

    // MARK: Myself

    private mutating func hear(ofMyself entry: MemberEntry) {
        if hasLeft {
            // Its own word is the last one, unless a later start under the name says another.
            guard entry.member.process == me.process else { return }
            if table.merge(MemberEntry(member: me, state: .left)) { announceMyself(.left) }
            return
        }
        guard entry.member.incarnation >= me.incarnation else { return }
        let isMine = entry.member.process == me.process
        if isMine, entry.member.incarnation == me.incarnation, entry.state == .alive { return }
        if !isMine { hear(ofTwin: entry) } else { refute(entry.member.incarnation) }
    }

    private mutating func announceMyself(_ state: MemberState) {
        events.append(.changed(me.name, from: .alive, to: state))
        announce(me.name, from: nil)
    }

    /// Another process under the own name: an older life, or a twin.
    ///
    /// An older life never heard of the incarnation by which this process outbid it. Who is beyond
    /// that one has heard of it, and so lives.
    private mutating func hear(ofTwin entry: MemberEntry) {
        let isBeyond = entry.member.incarnation > me.incarnation
        if refuteAt != nil, isBeyond, twin == nil {
            twin = entry.member.process
            events.append(.twin(entry.member))
        }
        toRefute = max(toRefute ?? 0, entry.member.incarnation)
        refuteTwin()
    }

    /// Two twins outbid each other for ever, so not faster than once a second.
    mutating func refuteTwin() {
        guard let greatest = toRefute else { return }
        if twin != nil, let at = refuteAt, elapsed(since: at) < Timing.refuteAgain { return }
        toRefute = nil
        refuteAt = now
        if greatest >= me.incarnation { refute(greatest) }
    }

    private mutating func refute(_ greatest: UInt64) {
        health.onFailure()
        raise(above: greatest)
    }

    /// Takes the next incarnation, and tells everybody.
    mutating func raise(above greatest: UInt64) {
        guard greatest < Member.incarnationMax else { return }
        var raised = greatest + 1
        #if PlantedBugs
            if PlantedBug.refutesWithoutRaising.isOn { raised = me.incarnation }
        #endif
        me.incarnation = raised
        _ = table.merge(MemberEntry(member: me, state: .alive))
        events.append(.refuted(incarnation: raised))
        announce(me.name, from: nil)
    }
}
