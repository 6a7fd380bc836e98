import Chat
import Wire

/// The checks of a node that is cut off for longer than the eviction time: it evicts nobody, and
/// still finds what it knew.
extension ClusterWorld {
    /// Whether a shard may have other owners than those computed from all members.
    var mayOwnersChange: Bool { hasMoved || plan.cutsMinority }

    /// Records the conversations that all of their owners have on disk, as has every other node
    /// with a replica of their shard: from now on, no node may deny them unless a disk is lost.
    func noteFound() {
        for conversation in conversations {
            let id = ConversationID(checked: conversation)
            let (key, shard) = (DocumentKey.conversation(id), shard(of: conversation))
            let owners = owners(of: shard)
            let isEverywhere = machines.allSatisfy {
                $0.holds(key) || !owners.contains($0.index) && !$0.hasReplica(of: shard)
            }
            if isEverywhere { found[conversation] = found[conversation] ?? now }
        }
    }

    /// Checks that a node does not deny a conversation that all of its owners had on disk.
    ///
    /// A request sent before that may have been answered before, its answer waiting behind another.
    func judgeNotFound(_ answer: ClusterAnswer, to request: ClusterRequest, on visit: ClusterVisit)
    {
        guard answer.code == 404, case .history(let conversation, _) = request.kind,
            let foundAt = found[conversation], request.at >= foundAt, disksLostAt.isEmpty,
            !hasMoved
        else { return }
        fail(
            .reads,
            "n\(visit.address.machine + 1) does not find \(conversation), which all of its owners "
                + "had on their disks")
    }
}
