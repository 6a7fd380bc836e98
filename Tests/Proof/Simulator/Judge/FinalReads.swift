import CRDT
import Chat
import Node
import Replication
import Wire

/// The final reads of every user at every node, compared with expectations from the ledger.
extension World {
    func checkViews(at node: SimNode) throws(Violation) {
        guard let shell = node.shell else { return }
        for shard in shell.held {
            let rooms = clients.conversations.filter {
                Int(ShardID(of: $0.text, count: UInt16(plan.shards)).number) == shard
            }.compactMap { Expected($0, on: node.disk.state.shards[shard], in: ledger) }
            for user in clients.users {
                for conversation in rooms {
                    try checkConversation(conversation, for: user, shard, node)
                }
                try checkLists(rooms, for: user, shard, node)
                try checkItems(of: user, shard, node)
            }
        }
    }

    /// Returns a query's result; nil if the node refuses it to the user.
    private func found<Asked: Query>(
        _ query: Asked, for user: UserID, _ shard: Int, _ node: SimNode
    ) throws(Violation) -> Asked.Answer? {
        guard let shell = node.shell else { return nil }
        let answer: (findings: AnyFindings, isSettled: Bool)
        do throws(ShardFailure) {
            answer = try shell.machines[shard].answer(
                AnyQuery(query), for: user, slot: ReplySlot(session: 0, number: 0),
                in: world(of: node, shell))
        } catch {
            if case .refused = error { return nil }
            throw Violation(invariant: .reads, explanation: "\(node.name) answers \(error)")
        }
        guard answer.isSettled else {
            throw Violation(invariant: .reads, explanation: "\(node.name) is not settled")
        }
        return answer.findings.value()
    }

    private func checkConversation(
        _ conversation: Expected, for user: UserID, _ shard: Int, _ node: SimNode
    ) throws(Violation) {
        let history = HistoryQuery(conversation.id, place: .newest, limit: 1_000)
        let page = try found(history, for: user, shard, node)
        let pins = try found(PinsQuery(conversation.id), for: user, shard, node)
        guard conversation.participants.contains(user) else {
            guard page == nil, pins == nil else {
                throw shows(node, user, conversation, "a conversation of others")
            }
            return
        }
        guard let views = page, let pinned = pins else {
            throw shows(node, user, conversation, "nothing, though \(user) is in it")
        }
        try check(views, in: conversation, for: user, node)
        guard pinned.map(\.id) == conversation.pinned(for: user) else {
            throw shows(
                node, user, conversation,
                "the pins \(pinned.map(\.id)), not \(conversation.pinned(for: user))")
        }
    }

    private func check(
        _ views: [MessageView], in conversation: Expected, for user: UserID, _ node: SimNode
    ) throws(Violation) {
        var shown: [MessageID: MessageView] = [:]
        for view in views { shown[view.id] = view }
        let expected = conversation.shown(to: user)
        for (position, model) in expected {
            guard let view = shown[position.id], view.text == model.shownText else {
                throw Violation(
                    invariant: model.isRetracted ? .deleted : .kept,
                    explanation: "\(node.name) shows \(user) "
                        + "'\(shown[position.id]?.text ?? "nothing")' for \(position.id), not "
                        + "'\(model.shownText ?? "")'")
            }
            guard view.readBy == conversation.readers(of: position, from: model.author),
                view.deliveredTo == conversation.receivers(of: position, from: model.author)
            else {
                throw shows(
                    node, user, conversation,
                    "\(position.id) read by \(view.readBy), come to "
                        + "\(view.deliveredTo)")
            }
        }
        let surplus = views.map(\.id).filter { id in
            !expected.contains { $0.position.id == id }
        }
        guard surplus.isEmpty else {
            throw Violation(
                invariant: .deleted,
                explanation: "\(node.name) shows \(surplus) to \(user), who deleted it")
        }
    }

    /// Compares the user's action items with those that follow from the changes on the disk.
    private func checkItems(
        of user: UserID, _ shard: Int, _ node: SimNode
    ) throws(Violation) {
        guard let items = try found(ItemsQuery(), for: user, shard, node) else {
            return
        }
        let disk = node.disk.state.shards[shard]
        let expected = disk.keys.filter { $0.kind == .item }.compactMap { key -> ItemView? in
            guard let stored = disk.documents[key] else { return nil }
            let model = Model(of: key, changedBy: stored.changedBy, in: ledger)
            return model.author == user ? model.itemView : nil
        }
        guard items.sorted() == expected.sorted() else {
            throw Violation(
                invariant: .index,
                explanation: "\(node.name) lists the items \(items) of \(user), not \(expected)")
        }
    }

    /// Compares one shard's part of a user's chat list and unread counts with the expectation.
    private func checkLists(
        _ rooms: [Expected], for user: UserID, _ shard: Int, _ node: SimNode
    ) throws(Violation) {
        guard let chats = try found(ChatsQuery(.all), for: user, shard, node),
            let counts = try found(UnreadQuery(), for: user, shard, node)
        else { return }
        let mine = rooms.filter { $0.isListed(for: user) }
        guard chats.map(\.id).sorted() == mine.map(\.id).sorted() else {
            throw Violation(
                invariant: .index,
                explanation: "\(node.name) lists \(chats.map(\.id)) for \(user), who is in "
                    + "\(mine.map(\.id))")
        }
        for conversation in mine {
            guard let chat = chats.first(where: { $0.id == conversation.id }) else { continue }
            let last = conversation.last(for: user)
            let unread = conversation.unread(for: user)
            guard chat.unread == unread, chat.isArchived == conversation.isArchived(by: user),
                chat.last?.id == last?.id, chat.last?.text == last?.text,
                chat.participants == conversation.participants,
                counts.first(where: { $0.conversation == conversation.id })?.count ?? 0 == unread
            else {
                throw shows(
                    node, user, conversation,
                    "\(chat), not \(unread) unread and \(String(describing: last))"
                )
            }
        }
    }

    private func shows(
        _ node: SimNode, _ user: UserID, _ conversation: Expected, _ what: String
    ) -> Violation {
        Violation(
            invariant: .kept,
            explanation: "\(node.name) shows \(user) of \(conversation.id): \(what)")
    }

    /// Counts the pairs of concurrent changes of one document, by verbs.
    func countConflicts() {
        var keys: Set<DocumentKey> = []
        for entry in ledger.entries where keys.insert(entry.mutation.key).inserted {
            let entries = ledger.entries(of: entry.mutation.key)
            for (index, one) in entries.enumerated() {
                for other in entries[(index + 1)...]
                where !one.knew(of: other) && !other.knew(of: one) {
                    let verbs = [one.mutation.action.verb, other.mutation.action.verb].sorted()
                    coverage.count("conflict \(verbs[0]) × \(verbs[1])")
                }
            }
        }
    }
}

extension Model {
    /// The text that a user sees who has not hidden the message.
    var shownText: String? {
        isRetracted ? MessageView.placeholder : lastText
    }
}
