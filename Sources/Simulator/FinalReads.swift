import CRDT
import Chat
import Node
import Replication
import Wire

/// What everyone reads at the end, against the ledger's own idea of it.
extension World {
    func checkViews(at node: SimNode) throws(Violation) {
        guard let shell = node.shell else { return }
        for conversation in clients.conversations {
            let id = ShardID(of: conversation.text, count: UInt16(plan.shards))
            let shard = Int(id.number)
            guard shell.isHeld[shard] else { continue }
            for user in clients.users {
                guard let views = try views(of: conversation, for: user, shard, node, shell)
                else { continue }
                try check(views, of: conversation, for: user, shard, node)
            }
        }
    }

    /// Nil where the user may not read it.
    private func views(
        of conversation: ConversationID, for user: UserID, _ shard: Int, _ node: SimNode,
        _ shell: Shell
    ) throws(Violation) -> [MessageView]? {
        let answer: (findings: Findings, isSettled: Bool)
        do throws(ShardFailure) {
            answer = try shell.machines[shard].answer(
                .history(conversation, place: .newest, limit: 1_000), for: user,
                slot: ReplySlot(session: 0, number: 0), in: world(of: node, shell))
        } catch {
            if case .refused = error { return nil }
            throw Violation(invariant: .reads, explanation: "\(node.name) answers \(error)")
        }
        guard case .messages(let views) = answer.findings, answer.isSettled else {
            throw Violation(invariant: .reads, explanation: "\(node.name) is not settled")
        }
        return views
    }

    private func check(
        _ views: [MessageView], of conversation: ConversationID, for user: UserID, _ shard: Int,
        _ node: SimNode
    ) throws(Violation) {
        let disk = node.disk.state.shards[shard]
        var shown: [DocumentKey: MessageView] = [:]
        for view in views { shown[.message(view.id, in: conversation)] = view }
        var expected = 0
        for key in disk.keys where key.kind == .message && key.partition == conversation.text {
            guard let bytes = disk.documents[key]?.bytes else { continue }
            let model: Model
            do throws(WireError) {
                model = Model(of: try Document(key, decoding: bytes), in: ledger)
            } catch {
                continue
            }
            guard !model.hiddenBy.contains(user) else {
                guard shown[key] == nil else {
                    throw Violation(
                        invariant: .deleted,
                        explanation: "\(node.name) shows \(key.id) to \(user), who deleted it")
                }
                continue
            }
            expected += 1
            guard let view = shown[key], view.text == model.shownText else {
                throw Violation(
                    invariant: model.isRetracted ? .deleted : .kept,
                    explanation: "\(node.name) shows \(user) '\(shown[key]?.text ?? "nothing")' "
                        + "for \(key.id), not '\(model.shownText ?? "")'")
            }
        }
        guard expected == views.count else {
            throw Violation(
                invariant: .reads,
                explanation: "\(node.name) shows \(user) \(views.count) messages of "
                    + "\(conversation), not \(expected)")
        }
    }

    /// Counts the pairs of changes that were made without knowing of each other.
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
    /// What shows to who did not hide it.
    var shownText: String? {
        isRetracted ? MessageView.placeholder : lastText
    }
}
