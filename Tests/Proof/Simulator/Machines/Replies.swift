import CRDT
import Chat
import Node
import Replication
import Wire

/// The checks that are made when a client gets its reply.
extension World {
    func settle(_ replies: [(ReplySlot, Stored)], at shell: Shell) throws(Violation) {
        for (slot, stored) in replies {
            let number = Int(slot.number)
            guard requests[number].state == .open, requests[number].address == shell.address else {
                throw Violation(
                    invariant: .oneChange,
                    explanation: "n\(shell.address.node + 1) answers request \(number) again")
            }
            switch requests[number].kind {
            case .write: try onAcknowledged(number, stored, shell)
            case .query: try onShown(number)
            }
        }
    }

    private func onAcknowledged(
        _ number: Int, _ stored: Stored, _ shell: Shell
    ) throws(Violation) {
        guard case .write(let context, let key, let mutation) = requests[number].kind else {
            return
        }
        let node = nodes[shell.address.node]
        let shard = requests[number].shard
        trace(13, UInt64(stored.on), "\(node.name) OK on \(stored.on): \(mutation.words)")
        requests[number].state = .answered
        guard node.disk.state.shards[shard].claim.vector.contains(context) else {
            throw Violation(
                invariant: .kept,
                explanation: "\(node.name) acknowledged \(mutation.words) "
                    + "before it was on its disk")
        }
        let seen = shell.machines[shard].replica.ownership
        let mine = seen.isOwnedHere ? 1 : 0
        let ownership =
            mine
            + nodes.count {
                $0 !== node && seen.owners.contains($0.name)
                    && holds(context, shard, $0, for: shell)
            }
        guard stored.on <= ownership, stored.owners == seen.owners.count else {
            throw Violation(
                invariant: .kept,
                explanation: "\(node.name) said that \(mutation.words) is on \(stored.on) "
                    + "of \(stored.owners), but it is on \(ownership) disks")
        }
        if stored.on > 1 { coverage.count("acknowledged on several") }
        // The node's own disk counts even if the node is no owner.
        ledger.noteAcknowledged(context, of: key, on: max(1, stored.on))
        noteDeletion(mutation, mutation.key, context, shard, node)
        if mutation.action.signInEnded != nil { noteToldEnd(of: mutation) }
        noteWish(of: requests[number], mutation)
        onReply(to: number)
    }

    /// Whether a peer's disk holds the changes, or may have held them when the peer confirmed them
    /// on a connection that is still up.
    private func holds(_ context: Context, _ shard: Int, _ peer: SimNode, for shell: Shell) -> Bool
    {
        if peer.disk.state.shards[shard].claim.vector.contains(context) { return true }
        guard let index = shell.connections[peer.index] else { return false }
        // The peer's disk lost data since then; its confirmation was true when it was made.
        return max(peer.destroyedAt, peer.droppedAt) >= connections[index].connectedAt
    }

    /// Records an acknowledged deletion as seen by the user who requested it.
    private func noteDeletion(
        _ mutation: Mutation, _ key: DocumentKey, _ context: Context, _ shard: Int, _ node: SimNode
    ) {
        guard ["hide", "retract"].contains(mutation.action.verb) else { return }
        if mutation.action.verb == "retract" {
            node.deletions.noteRetracted(key, from: mutation.user)
        }
        for dot in context.dots {
            guard let entry = ledger[dot, shard], entry.mutation.user == mutation.user,
                ["hide", "retract"].contains(entry.mutation.action.verb),
                !Model(of: key, entries: ledger.entries(of: key)).isVoidHide(entry)
            else { continue }
            node.deletions.noteHidden(key, from: mutation.user, by: dot)
        }
    }

    // MARK: Reads

    func onShown(_ number: Int) throws(Violation) {
        let request = requests[number]
        guard case .query(let query, let findings, let known) = request.kind
        else { return }
        requests[number].state = .answered
        let node = nodes[request.address.node]
        trace(14, UInt64(number), "\(node.name) shows \(type(of: query.base)) to \(request.user)")
        guard query.isAnswered(by: findings) else {
            throw Violation(invariant: .reads, explanation: "a reply to another question")
        }
        switch (query.base, findings.base) {
        case (let history as HistoryQuery, let views as [MessageView]):
            guard views.count <= history.limit else {
                throw Violation(
                    invariant: .bounded,
                    explanation: "a page of \(views.count), not \(history.limit)")
            }
            for view in views {
                let key = DocumentKey.message(view.id, in: history.conversation)
                try checkShown(view, key, request, known, node)
            }
            try checkOrder(views, node)
        case (let query as MessageQuery, let views as [MessageView]):
            guard let view = views.first, views.count == 1, view.id == query.message else {
                throw Violation(
                    invariant: .reads, explanation: "not the message \(query.message)")
            }
            let key = DocumentKey.message(query.message, in: query.conversation)
            try checkShown(view, key, request, known, node)
        case (let query as EditsQuery, let views as [EditView]):
            let key = DocumentKey.message(query.message, in: query.conversation)
            // Who sent or edited the text.
            let sender = ledger.entries(of: key).first {
                $0.mutation.action.text == views.first?.text
            }?.mutation.user
            if !views.isEmpty, node.deletions.isRetracted(key, from: sender, among: known) {
                throw shownAgain(key, "its edits", request, node)
            }
            for view in views {
                try checkOnDisk(key, view.at, view.text, request, node)
            }
        case (let pins as PinsQuery, let views as [MessageView]):
            for view in views {
                let key = DocumentKey.message(view.id, in: pins.conversation)
                try checkShown(view, key, request, known, node)
            }
            try checkPins(views, node)
        case (is ChatsQuery, let chats as [ChatView]):
            for chat in chats { try checkPreview(chat, request, known, node) }
        default: break
        }
        onReply(to: number)
    }

    private func checkOrder(_ views: [MessageView], _ node: SimNode) throws(Violation) {
        let positions = views.map { HistoryPosition(time: $0.sentAt, id: $0.id) }
        guard zip(positions, positions.dropFirst()).allSatisfy({ $0 < $1 }) else {
            throw Violation(
                invariant: .reads,
                explanation: "\(node.name) shows a page out of order: \(views.map(\.id))")
        }
    }

    private func checkPins(_ views: [MessageView], _ node: SimNode) throws(Violation) {
        let times = views.map(\.pinnedAt)
        let isOrdered = zip(times, times.dropFirst()).allSatisfy { one, next in
            guard let one, let next else { return false }
            return next <= one
        }
        guard isOrdered, !times.contains(nil), !views.contains(where: \.isDeletedForEveryone)
        else {
            throw Violation(
                invariant: .reads,
                explanation: "\(node.name) shows the pins \(views.map(\.id)) since \(times)")
        }
    }

    /// Checks that a preview was not seen deleted before, and that its text is on disk.
    private func checkPreview(
        _ chat: ChatView, _ request: Request, _ known: Int, _ node: SimNode
    ) throws(Violation) {
        guard let last = chat.last else { return }
        let key = DocumentKey.message(last.id, in: chat.id)
        if node.deletions.isRetracted(key, from: last.from, among: known) {
            throw shownAgain(key, "the preview '\(last.text)'", request, node)
        }
        let stored = node.disk.state.shards[request.shard].documents[key]
        let isOnDisk = ledger.entries(of: key).contains {
            $0.mutation.action.text == last.text && stored?.changedBy.contains($0.dot) == true
        }
        guard !isOnDisk else { return }
        throw Violation(
            invariant: .reads,
            explanation: "\(node.name) previews '\(last.text)', which is not on its disk")
    }

    private func checkShown(
        _ view: MessageView, _ key: DocumentKey, _ request: Request, _ known: Int, _ node: SimNode
    ) throws(Violation) {
        if view.isDeletedForEveryone {
            node.deletions.noteRetracted(key, from: view.from)
            guard view.text == MessageView.placeholder else {
                throw shownAgain(key, "'\(view.text)'", request, node)
            }
            return
        }
        if node.deletions.isRetracted(key, from: view.from, among: known) {
            throw shownAgain(key, "'\(view.text)'", request, node)
        }
        for hide in node.deletions.hides[key] ?? []
        where hide.user == request.user && hide.number <= known {
            guard isRestored(hide.dot, by: hide.user, in: ledger.entries(of: key)) else {
                throw shownAgain(key, "'\(view.text)'", request, node)
            }
        }
        try checkOnDisk(key, view.editedAt ?? view.sentAt, view.text, request, node)
        for user in view.deletedBy { noteSeenHidden(key, from: user, request.shard, node) }
    }

    /// Whether the user undid a deletion that they had seen or had requested before.
    private func isRestored(_ hide: Dot, by user: UserID, in entries: [Ledger.Entry]) -> Bool {
        guard let hide = entries.first(where: { $0.dot == hide }) else { return false }
        let executions = entries.filter { $0.operation == hide.operation }
        return entries.contains {
            $0.mutation.action.verb == "restore" && $0.mutation.user == user
                && ($0.takesAway(hide, executedAs: executions, at: hide.operation.time)
                    || $0.follows(hide))
        }
    }

    /// Records the deletions of another user that a reply showed.
    private func noteSeenHidden(
        _ key: DocumentKey, from user: UserID, _ shard: Int, _ node: SimNode
    ) {
        guard let stored = node.disk.state.shards[shard].documents[key] else { return }
        for entry in ledger.entries(of: key)
        where entry.mutation.user == user && stored.changedBy.contains(entry.dot)
            && ["hide", "retract"].contains(entry.mutation.action.verb)
        {
            node.deletions.noteHidden(key, from: user, by: entry.dot)
        }
    }

    /// Checks that a shown text is on disk, so that no crash could undo the reply.
    private func checkOnDisk(
        _ key: DocumentKey, _ time: HybridTimestamp, _ text: String, _ request: Request,
        _ node: SimNode
    ) throws(Violation) {
        let stored = node.disk.state.shards[request.shard].documents[key]
        let isOnDisk = ledger.entries(of: key).contains {
            $0.stamp?.time == time && $0.mutation.action.text == text
                && stored?.changedBy.contains($0.dot) == true
        }
        guard !isOnDisk else { return }
        throw Violation(
            invariant: .reads,
            explanation: "\(node.name) shows '\(text)' of \(key.id), which is not on its disk")
    }

    private func shownAgain(
        _ key: DocumentKey, _ what: String, _ request: Request, _ node: SimNode
    ) -> Violation {
        let changes = ledger.entries(of: key).map { "\n    " + $0.words }.joined()
        return Violation(
            invariant: .deleted,
            explanation: "\(node.name) shows \(what) of \(key.partition)/\(key.id) to "
                + "\(request.user), after it was seen deleted there:" + changes)
    }
}
