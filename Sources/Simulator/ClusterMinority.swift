import Chat
import Wire

/// A node that is cut off for longer than the others keep the shards of the dead: it evicts nobody,
/// and knows no less than it did.
extension ClusterWorld {
    /// Whether a shard's owners may be others than those of all members.
    var mayOwnersChange: Bool { hasMoved || plan.cutsMinority }

    /// Notes the conversations that all of their owners have on their disks, and whoever else has a
    /// copy of their shard: from here on nobody may say that there are none, as long as no disk is
    /// lost.
    func noteFound() {
        for conversation in conversations {
            let id = ConversationID(checked: conversation)
            let (key, shard) = (DocumentKey.conversation(id), shard(of: conversation))
            let owners = owners(of: shard)
            let isEverywhere = machines.allSatisfy { machine in
                machine.executor.run {
                    machine.disk.assumeIsolated { [isOwner = owners.contains(machine.index)] in
                        $0.holds(key) || !isOwner && $0.headers[shard] == nil
                    }
                }
            }
            if isEverywhere { found[conversation] = found[conversation] ?? now }
        }
    }

    /// Whether a node denies what is on the disks of all who owned it.
    ///
    /// What was asked before that may have been answered long since, behind a reply that waits.
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
