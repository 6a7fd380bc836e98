import Chat
import Wire

/// A node that is cut off for longer than the others keep the shards of the dead: it evicts nobody,
/// and knows no less than it did.
extension WholeWorld {
    /// Whether a shard's owners may be others than those of all members.
    var mayOwnersChange: Bool { hasMoved || plan.cutsMinority }

    /// Notes the conversations that all of their owners have on their disks: from here on nobody
    /// may say that there are none, as long as no disk is lost.
    func noteFound() {
        for conversation in conversations {
            let key = DocumentKey.conversation(ConversationID(checked: conversation))
            let isEverywhere = owners(of: conversation).allSatisfy { index in
                let machine = machines[index]
                return machine.executor.run {
                    machine.disk.assumeIsolated { $0.documents.contains { $0.key == key } }
                }
            }
            if isEverywhere { found.insert(conversation) }
        }
    }

    /// Whether a node denies what is on the disks of all who owned it.
    func judgeNotFound(_ answer: WholeAnswer, to request: WholeRequest, on visit: WholeVisit) {
        guard answer.code == 404, case .history(let conversation, _) = request.kind,
            found.contains(conversation), disksLostAt.isEmpty, !hasMoved
        else { return }
        fail(
            .reads,
            "n\(visit.address.machine + 1) does not find \(conversation), which all of its owners "
                + "had on their disks")
    }
}
