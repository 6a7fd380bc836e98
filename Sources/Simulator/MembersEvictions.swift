import Membership

/// Evictions, held against what the world knows of cuts, kills and pauses.
extension MembersWorld {
    /// How long a process may take to notice that it hears too few, in milliseconds: what it counts
    /// as silence, and a slow link.
    private static let noticedWithin: UInt64 = 3_000

    /// Notes whether a process can hear more than half of the members, before each of its ticks.
    func noteHearing(of node: MembersNode) {
        let isAwakeAgain = now - node.lastTickAt > MembersWorld.noticedWithin
        if hearsMajority(node), !isAwakeAgain {
            node.minoritySince = nil
            node.majoritySince = node.majoritySince ?? now
        } else {
            let since = node.minoritySince ?? now
            node.minoritySince = since
            if isAwakeAgain || now - since >= MembersWorld.noticedWithin {
                node.majoritySince = nil
            }
        }
    }

    /// Whether something of more than half of the members, itself among them, can get to a process.
    private func hearsMajority(_ node: MembersNode) -> Bool {
        let members = (node.core?.table.entries ?? []).filter { $0.state != .left }
        let audible = Set(
            nodes.lazy.filter { [self] in $0.isAwake && !isCut($0.slot, node.slot) }.map(\.name))
        return members.count { audible.contains($0.member.name) } * 2 > members.count
    }

    /// What a tick evicts is evicted by this process, not by what it was told.
    func checkEvictions(by node: MembersNode, since before: MemberTable?) {
        guard let core = node.core, let evictAfter, before?.hash != core.table.hash else { return }
        for entry in core.table.entries where entry.state == .evicted {
            let name = entry.member.name
            guard before?[name]?.state != .evicted else { continue }
            coverage.count("eviction decided")
            let heardFor = node.majoritySince.map { now - $0 } ?? 0
            if node.majoritySince == nil || heardFor + MembersWorld.noticedWithin < evictAfter {
                fail(
                    .eviction,
                    "\(node.name) evicts \(name), and heard a majority for \(heardFor) ms")
            }
        }
    }
}
