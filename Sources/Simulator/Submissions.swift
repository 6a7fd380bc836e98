import CRDT
import Chat
import Node
import Replication
import Wire

/// An operation as it came to where it was executed, and what that node knew then.
struct Submission {
    let operation: Operation
    /// What the copy claimed before.
    let known: Vector
    let shard: Int
    /// Whose reply it is; nil where nobody waits.
    let session: Int?
    /// What its client had asked for before, and might come late.
    let lost: [ProcessCounter]

    var mutation: Mutation { operation.mutation }
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
            try checkRepetition(of: submission.operation, dot, document, node)
            try ledger.add(entry(for: dot, document, submission, node))
            stored = Context(dot)
        } else if !fresh.isEmpty {
            throw Violation(
                invariant: .oneChange,
                explanation: "\(node.name) repeated \(mutation.action.words) as a change")
        }
        guard let session = submission.session else { return }
        requests.append(
            Request(
                session: session, user: mutation.user, address: shell.address,
                shard: submission.shard, kind: .write(stored, mutation.key, mutation), askedAt: now)
        )
    }

    private func entry(
        for dot: Dot, _ document: Document, _ submission: Submission, _ node: SimNode
    ) -> Ledger.Entry {
        let operation = submission.operation.stamp
        let stamp: Stamp?
        switch submission.mutation.action {
        case .create, .send, .seed, .edit, .pin, .unpin, .setProfile, .seedProfile, .addItem,
            .editItem, .finishItem, .device:
            stamp = operation
        case .invite(let user):
            // Who is in it stays under the invitation that they have.
            let isNoted = document.conversation?.invitation(of: user) == operation
            stamp = isNoted ? operation : nil
        case .hide, .retract, .restore, .leave, .archive, .unarchive, .read, .deliver, .hideChat,
            .deleteItem:
            stamp = nil
        }
        var base: Stamp?
        if case .edit = submission.mutation.action { base = document.message?.header.sent }
        var mark: Mark?
        if case .read = submission.mutation.action { mark = document.participantState?.read?.value }
        if case .deliver = submission.mutation.action {
            mark = document.participantState?.delivered?.value
        }
        return Ledger.Entry(
            dot: dot, shard: submission.shard, node: node.index, mutation: submission.mutation,
            operation: operation, unsettled: submission.lost,
            past: document.changedBy, stamp: stamp, base: base, mark: mark,
            hidden: submission.mutation.action == .hideChat
                ? document.participantState?.hidden : nil,
            bytes: Hash128(of: document.encoded))
    }

    /// A request that is in the document is not a change once more.
    private func checkRepetition(
        of operation: Operation, _ dot: Dot, _ document: Document, _ node: SimNode
    ) throws(Violation) {
        let mutation = operation.mutation
        let past = ledger.entries(of: mutation.key).filter {
            document.changedBy.contains($0.dot) && $0.dot != dot
        }
        let isKnown =
            switch mutation.action {
            case .create, .send: !past.isEmpty
            case .edit:
                past.contains { $0.operation == operation.stamp && isShown($0, in: document) }
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

    /// The next operation that a process reads: later than everything on its disk, and than its
    /// last, except what is from so far ahead that it is not believed.
    func nextOperation(_ node: SimNode, _ shell: Shell) throws(Violation) -> Stamp {
        let wall = wall(of: node)
        let known = node.disk.state.shards.map(\.believed) + [shell.operations.greatestTime]
        let last = known.filter(wall.believes).max() ?? .zero
        let stamp = shell.operations.next(at: wall)
        guard stamp.time > last else {
            throw Violation(
                invariant: .stamps,
                explanation: "\(node.name) stamps an operation with \(stamp.time.milliseconds) "
                    + "ms, not later than \(last.milliseconds) ms, which it gave or stored before")
        }
        return stamp
    }

    /// A node sees a time that its clients are shown.
    func observe(_ time: HybridTimestamp, _ node: SimNode, _ shell: Shell) {
        shell.operations.observe(time, at: wall(of: node))
    }

    /// Who serves has caught up with what all the others held when it started.
    func checkNotBehind(_ node: SimNode, _ shard: Int, _ shell: Shell) throws(Violation) {
        let missing = node.minimums[shard].subtracting(shell.machines[shard].copy.current.vector)
        guard !missing.isEmpty else { return }
        let entries = missing.dots.compactMap { ledger[$0, shard] }
        throw Violation(
            invariant: .deleted,
            explanation: "\(node.name) shows an old disk: when it started, all others held what it "
                + "lacks: \(entries.prefix(5).map(\.words))")
    }
}
