import Membership
import Wire

/// The invariants of the world of members, checked at each step and after each episode.
extension MembersWorld {
    /// The limit of gossip messages that one event may cause: a table and one more to each member.
    static let outboxMax = 1_024

    var running: [MembersNode] { nodes.filter { $0.isRunning && !$0.hasLeft } }

    func check(_ node: MembersNode, _ core: Membership, outbox: Int) {
        if core.me.incarnation < node.lastIncarnation {
            fail(.incarnations, "\(node.name) fell to \(core.me.incarnation)")
        }
        node.lastIncarnation = core.me.incarnation
        if core.table.entries.count > MemberTable.entriesMax || outbox > MembersWorld.outboxMax {
            fail(
                .gossipBounds, "\(node.name): \(core.table.entries.count) entries, \(outbox) sent")
        }
    }

    func look(at event: MemberEvent, of node: MembersNode) {
        switch event {
        case .changed(let name, let before, let after):
            trace("\(node.slot): \(name) was \(before?.description ?? "unknown"), is \(after)")
            coverage.count(after.description)
            let lives = nodes.contains { $0.name == name && $0.isRunning }
            if after == .dead, lives, !mayDie.contains(name) {
                fail(.noFalseDeath, "\(name) is dead to \(node.name)")
            }
        case .restarted(let name):
            trace("\(node.slot): \(name) restarted")
            coverage.count("restarted")
            node.restartsSeen[name, default: 0] += 1
        case .twin(let other):
            trace("\(node.slot): a twin of \(other.name) at \(other.gossip)")
            coverage.count("twin")
            node.hasSeenTwin = true
            if !hasTwins { fail(.twins, "\(node.name) takes an older life for a twin: \(other)") }
        case .refuted(let incarnation):
            trace("\(node.slot): refutes by \(incarnation)")
            coverage.count("refuted")
        }
    }

    /// Runs until all living members have the same table, in which they alone are alive.
    ///
    /// - Parameter isOfLiving: whether to compare only what the living members say of each other.
    func awaitOneView(
        ofLiving isOfLiving: Bool = false, within milliseconds: UInt64, after what: String
    ) throws(Violation) {
        let began = now
        while let difference = isOfLiving ? differenceOfLiving() : differenceOfViews() {
            guard now - began < milliseconds else {
                throw Violation(
                    invariant: .oneView,
                    explanation: "\(now - began) ms after \(what), at \(now) ms: \(difference)")
            }
            try run(milliseconds: 20)
        }
        caughtUpInMax = max(caughtUpInMax, (now - began) * 1_000)
        trace("one view \(now - began) ms after \(what)")
    }

    private func differenceOfLiving() -> String? {
        for node in running {
            for other in running where node.core?.table[other.name] != other.core?.table[other.name]
            {
                return "\(other.name) is another to \(node.name) than to itself"
            }
        }
        return nil
    }

    private func differenceOfViews() -> String? {
        let living = running
        guard let first = living.first?.core else { return nil }
        let names = Set(living.map(\.name))
        for node in living {
            guard let core = node.core else { continue }
            if core.table.hash != first.table.hash {
                return "\(node.name) and \(first.me.name) differ"
            }
            guard core.table == first.table else { return "unequal tables with equal hashes" }
        }
        for entry in first.table.entries
        where names.contains(entry.member.name) != (entry.state == .alive) {
            return "\(entry.member.name) is \(entry.state)"
        }
        return nil
    }

    /// - Parameter states: the states of a victim that satisfy the requirement.
    func require(
        _ victims: [MembersNode], _ states: ClosedRange<MemberState>, at observers: [MembersNode],
        _ invariant: Invariant, after what: String
    ) throws(Violation) {
        for observer in observers {
            guard let core = observer.core else { continue }
            for victim in victims {
                if let state = core.state(of: victim.name), states.contains(state) { continue }
                let state = core.state(of: victim.name).map { "\($0)" } ?? "unknown"
                throw Violation(
                    invariant: invariant,
                    explanation: "at \(now) ms, after \(what): "
                        + "\(victim.name) is \(state) to \(observer.name)")
            }
        }
    }
}
