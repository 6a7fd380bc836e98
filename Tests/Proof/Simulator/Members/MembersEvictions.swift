import Membership

/// The checks of evictions against the world's true cuts, kills and pauses.
extension MembersWorld {
    /// The limit of the time in which a process notices that it hears too few members, in
    /// milliseconds: the silence that it tolerates, and a slow connection.
    private static let noticedWithin: UInt64 = 3_000

    /// Records, before each tick of a process, whether it can hear more than half of the members.
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

    /// Whether messages of more than half of the members, itself included, can reach a process.
    private func hearsMajority(_ node: MembersNode) -> Bool {
        let members = (node.core?.table.entries ?? []).filter { $0.state != .left }
        let audible = Set(
            nodes.lazy.filter { [self] in $0.isAwake && !isCut($0.slot, node.slot) }.map(\.name))
        return members.count { audible.contains($0.member.name) } * 2 > members.count
    }

    /// Checks the evictions that a tick decided; those that gossip brought are decisions of other
    /// nodes.
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
