import CRDT
import Chat
import Node
import Replication
import Wire

/// A mutation as a client handed it in, and what the node knew then.
struct Submission {
    let mutation: Mutation
    /// What the copy claimed before.
    let known: Vector
    let shard: Int
    let session: Int
}

/// What is checked when a mutation is accepted.
extension World {
    func noteAccepted(
        _ accepted: ShardMachine.Accepted, _ submission: Submission, _ node: SimNode,
        _ shell: Shell
    ) throws(Violation) {
        let mutation = submission.mutation
        let document = accepted.document
        let changedBy = document?.changedBy ?? accepted.receipt.context
        let fresh = changedBy.dots.filter { !submission.known.contains($0) }
        note(
            12, fresh.first?.seq ?? 0,
            "\(node.name) takes \(mutation.user) \(mutation.action.words)")
        try checkNotBehind(node, submission.shard, shell)
        coverage.count((accepted.receipt.isRepeated ? "repeated " : "") + mutation.action.verb)
        var stored = changedBy
        if !accepted.receipt.isRepeated {
            guard let document, let dot = fresh.first, fresh.count == 1 else {
                throw Violation(
                    invariant: .oneDot,
                    explanation: "\(node.name) gave \(mutation.action.words) a dot that its copy "
                        + "claimed before, of \(changedBy.dots.map(\.short))")
            }
            try checkRepetition(of: mutation, dot, document, node)
            let entry = entry(for: dot, document, submission, node)
            try ledger.add(entry)
            try checkStamp(entry, node, shell)
            stored = Context(dot)
        } else if !fresh.isEmpty {
            throw Violation(
                invariant: .oneChange,
                explanation: "\(node.name) repeated \(mutation.action.words) as a change")
        }
        requests.append(
            Request(
                session: submission.session, user: mutation.user, address: shell.address,
                shard: submission.shard, kind: .write(stored, mutation.key, mutation), askedAt: now)
        )
    }

    private func entry(
        for dot: Dot, _ document: Document, _ submission: Submission, _ node: SimNode
    ) -> Ledger.Entry {
        let message = document.message
        var base: Stamp?
        let stamp: Stamp?
        switch submission.mutation.action {
        case .create: stamp = document.conversation?.header.created
        case .send: stamp = message?.header.sent
        case .edit(_, _, let operation):
            stamp = message?.versions.last { $0.operation == operation }?.stamp
            base = message?.header.sent
        case .pin, .unpin: stamp = message?.pin?.stamp
        case .invite(let user): stamp = document.conversation?.invitation(of: user)
        case .seed: stamp = message?.header.sent
        case .setProfile, .seedProfile, .addItem, .editItem, .finishItem, .device:
            // Whoever writes knows every stamp that is in it.
            stamp = Stamp(
                time: document.greatestTime, process: dot.replica, counter: dot.seq)
        case .hide, .retract, .restore, .leave, .archive, .unarchive, .read, .deliver, .hideChat,
            .deleteItem:
            stamp = nil
        }
        var mark: Mark?
        if case .read = submission.mutation.action { mark = document.seat?.read?.value }
        if case .deliver = submission.mutation.action { mark = document.seat?.delivered?.value }
        return Ledger.Entry(
            dot: dot, shard: submission.shard, node: node.index, mutation: submission.mutation,
            past: document.changedBy, stamp: stamp, base: base, mark: mark,
            hidden: submission.mutation.action == .hideChat ? document.seat?.hidden : nil,
            bytes: Hash128(of: document.encoded))
    }

    /// A request that is in the document is not a change once more.
    private func checkRepetition(
        of mutation: Mutation, _ dot: Dot, _ document: Document, _ node: SimNode
    ) throws(Violation) {
        let past = ledger.entries(of: mutation.key).filter {
            document.changedBy.contains($0.dot) && $0.dot != dot
        }
        let isKnown =
            switch mutation.action {
            case .create, .send: !past.isEmpty
            case .edit: past.contains { $0.mutation == mutation && isShown($0, in: document) }
            default: false
            }
        guard isKnown else { return }
        throw Violation(
            invariant: .oneChange,
            explanation: "\(node.name) did \(mutation.action.words) as \(dot.short), though it "
                + "knew \(past.map(\.words))")
    }

    /// Whether an edit belongs to the sending that counts; one of another is not in the document.
    private func isShown(_ edit: Ledger.Entry, in document: Document) -> Bool {
        edit.base == document.message?.header.sent
    }

    /// A stamp is greater than every one that this disk holds, and than the process's last, except
    /// those from so far ahead that they are not believed.
    private func checkStamp(
        _ entry: Ledger.Entry, _ node: SimNode, _ shell: Shell
    ) throws(Violation) {
        guard let time = entry.stamp?.time else { return }
        let stored = node.disk.state.shards[entry.shard].believed
        let wall = wall(of: node)
        let last = [shell.stamped[entry.shard], stored].filter(wall.believes).max() ?? .zero
        shell.stamped[entry.shard] = wall.believes(time) ? max(last, time) : last
        guard time > last else {
            throw Violation(
                invariant: .stamps,
                explanation: "\(node.name) stamps \(entry.words) with \(time.milliseconds) ms, "
                    + "not later than \(last.milliseconds) ms, which it gave or stored before")
        }
    }

    /// Who serves has caught up with what all the others held when it started.
    func checkNotBehind(_ node: SimNode, _ shard: Int, _ shell: Shell) throws(Violation) {
        let missing = node.floors[shard].subtracting(shell.machines[shard].copy.current.vector)
        guard !missing.isEmpty else { return }
        let entries = missing.dots.compactMap { ledger[$0, shard] }
        throw Violation(
            invariant: .deleted,
            explanation: "\(node.name) shows an old disk: when it started, all others held what it "
                + "lacks: \(entries.prefix(5).map(\.words))")
    }
}
