import Wire

/// The merging of entries into the table, and the refutation of entries about this member.
extension Membership {
    /// Merges an entry of any origin, and passes on the change that it makes.
    mutating func merge(_ entry: MemberEntry, from source: NodeName?) {
        guard entry.member.incarnation <= Member.incarnationMax else { return }
        let name = entry.member.name
        guard name != me.name else { return hear(ofMyself: entry) }
        guard admit(name) else { return }
        let old = table[name]
        guard table.merge(entry) else {
            // The full table has refused the entry; without a connection, nothing of the member is
            // kept.
            if old == nil, peers[name]?.link == nil { peers[name] = nil }
            return
        }
        onChange(of: entry, from: old)
        announce(name, from: source)
        if entry.state != .alive { enqueue(entry) }
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
            // Only the member itself can have announced this, and recently.
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

    // MARK: Entries about this member

    private mutating func hear(ofMyself entry: MemberEntry) {
        if hasLeft {
            // This member's own word is final, unless a later process under the name says
            // otherwise.
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

    /// Handles an entry of another process under this member's name: an earlier process, or a twin.
    ///
    /// An earlier process never heard of the incarnation by which this process exceeded its own;
    /// a greater one comes from a process that has heard of it, and is therefore alive. Only where
    /// a node lost its table and its clock was set back several times can members that missed each
    /// other's updates name several earlier processes, each with a greater incarnation than the
    /// one before; there is less of that than `twinAnswers`.
    private mutating func hear(ofTwin entry: MemberEntry) {
        if refuteAt != nil, entry.member.incarnation > me.incarnation {
            answersOfTwins += 1
            if answersOfTwins == Membership.twinAnswers { events.append(.twin(entry.member)) }
        }
        toRefute = max(toRefute ?? 0, entry.member.incarnation)
        refuteTwin()
    }

    /// Raises the incarnation above a twin's; at most once a second, since twins do so for ever.
    mutating func refuteTwin() {
        guard let greatest = toRefute else { return }
        if hasTwin, let at = refuteAt, elapsed(since: at) < Timing.refuteAgain { return }
        toRefute = nil
        refuteAt = now
        if greatest >= me.incarnation { refute(greatest) }
    }

    private mutating func refute(_ greatest: UInt64) {
        health.onFailure()
        raise(above: greatest)
    }

    /// Takes the next incarnation and announces it to all members.
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
