import CRDT
import Chat
import Node
import Replication
import Wire

/// An operation at the node that executes it, with what that node knew before.
struct Submission {
    let operation: Operation
    /// The vector of the shard replica before the execution.
    let known: Vector
    let shard: Int
    /// The session that waits for the reply; nil if none does.
    let session: Int?
    /// Operations that the client requested before and that may still be executed late.
    let lost: [ProcessCounter]

    var mutation: Mutation { operation.mutation }

    /// Whether the client's device has numbered the operation.
    var isOfDevice: Bool { operation.stamp.process.isOfDevice }
}

/// The checks that are made when a node accepts a mutation.
extension World {
    func noteAccepted(
        _ accepted: ShardMachine.Accepted, _ submission: Submission, _ node: SimNode,
        _ shell: Shell
    ) throws(Violation) {
        let mutation = submission.mutation
        let document = accepted.document
        let changedBy = document?.changedBy ?? accepted.receipt.context
        let fresh = changedBy.dots.filter { !submission.known.contains($0) }
        trace(
            12, fresh.first?.seq ?? 0,
            "\(node.name) takes \(mutation.user) \(mutation.words)")
        try checkNotBehind(node, submission.shard, shell)
        if submission.isOfDevice { try checkLate(accepted, submission, node) }
        coverage.count((accepted.receipt.isRepeated ? "repeated " : "") + mutation.action.verb)
        var stored = changedBy
        if !accepted.receipt.isRepeated {
            guard let document, let dot = fresh.first, fresh.count == 1 else {
                throw Violation(
                    invariant: .oneDot,
                    explanation: "\(node.name) gave \(mutation.words) a dot that its copy "
                        + "claimed before, of \(changedBy.dots.map(\.short))")
            }
            try checkRepetition(of: submission.operation, dot, document, node)
            try ledger.add(entry(for: dot, document, submission, mutation, node))
            for file in accepted.files { try noteFile(file, submission, node) }
            stored = Context(dot)
        } else if !fresh.isEmpty {
            throw Violation(
                invariant: .oneChange,
                explanation: "\(node.name) repeated \(mutation.words) as a change")
        }
        guard let session = submission.session else { return }
        requests.append(
            Request(
                session: session, user: mutation.user, address: shell.address,
                shard: submission.shard,
                kind: .write(stored, awaitedKey(of: mutation, document), mutation), askedAt: now,
                ofDevice: submission.isOfDevice ? submission.operation.stamp : nil))
    }

    /// Returns the document whose changes a write's reply waits for: its own, or the conversation's
    /// if its own does not exist because there was nothing to mark.
    ///
    /// A context belongs to one document: its last seq of a replica includes every earlier change
    /// of that document, and none of any other.
    ///
    /// - Parameter document: the mutation's own document; nil if there is none.
    private func awaitedKey(of mutation: Mutation, _ document: Document?) -> DocumentKey {
        guard document == nil, let conversation = mutation.conversation else { return mutation.key }
        return .conversation(conversation)
    }

    /// Records the change of a message's file that came with that of the message.
    private func noteFile(
        _ file: Document, _ submission: Submission, _ node: SimNode
    ) throws(Violation) {
        let fresh = file.changedBy.dots.filter { !submission.known.contains($0) }
        guard let dot = fresh.first, fresh.count == 1,
            let action = submission.mutation.changeOfFiles,
            file.key.kind == .file, file.key.partition == submission.mutation.partition
        else {
            throw Violation(
                invariant: .oneDot,
                explanation: "\(node.name) changed the file \(file.key.id) as \(fresh.map(\.short))"
            )
        }
        coverage.count("file with message: \(submission.mutation.action.verb)")
        let change = Mutation(action, at: file.key, by: submission.mutation.user)
        try ledger.add(entry(for: dot, file, submission, change, node))
    }

    /// Records the changes that rules have made in a shard since the last call, so that each dot
    /// names one change.
    func noteDerived(_ shard: Int, _ node: SimNode, _ shell: Shell) throws(Violation) {
        for change in shell.machines[shard].takeDerived() {
            coverage.count("derived: \(change.mutation.action.verb)")
            try ledger.add(
                Ledger.Entry(
                    dot: change.dot, shard: shard, node: node.index, mutation: change.mutation,
                    operation: Stamp(
                        time: change.document.greatestTime, process: change.dot.replica,
                        counter: change.dot.seq),
                    past: change.document.changedBy, stamp: nil, base: nil,
                    bytes: Hash128(of: change.document.encoded)))
        }
    }

    private func entry(
        for dot: Dot, _ document: Document, _ submission: Submission, _ mutation: Mutation,
        _ node: SimNode
    ) -> Ledger.Entry {
        let operation = submission.operation.stamp
        let action = mutation.action
        let stamp: Stamp?
        switch action {
        case let invitation as InviteUser:
            // A user who is already a participant keeps the earlier invitation.
            let isNoted = document.conversation?.invitation(of: invitation.guest) == operation
            stamp = isNoted ? operation : nil
        case is LeaveConversation, is HideMessage, is RetractMessage, is RestoreMessage,
            is DeleteItem, is any ParticipantAction:
            stamp = nil
        default: stamp = operation
        }
        let base = action is EditMessage ? document.message?.header.sent : nil
        var mark: Mark?
        if action.marking != nil {
            let state = document.participantState
            mark = mutation.marksRead ? state?.read?.value : state?.delivered?.value
        }
        return Ledger.Entry(
            dot: dot, shard: submission.shard, node: node.index, mutation: mutation,
            operation: operation, unsettled: submission.lost,
            past: document.changedBy, stamp: stamp, base: base, mark: mark,
            hidden: action.hides ? document.participantState?.hidden : nil,
            bytes: Hash128(of: document.encoded))
    }

    /// Throws if an operation that the document already contains was executed as another change.
    private func checkRepetition(
        of operation: Operation, _ dot: Dot, _ document: Document, _ node: SimNode
    ) throws(Violation) {
        let mutation = operation.mutation
        let past = ledger.entries(of: mutation.key).filter {
            document.changedBy.contains($0.dot) && $0.dot != dot
        }
        let isKnown =
            switch mutation.action {
            case is CreateConversation, is SendMessage: !past.isEmpty
            case is EditMessage:
                past.contains { $0.operation == operation.stamp && isShown($0, in: document) }
            default: false
            }
        guard isKnown else { return }
        throw Violation(
            invariant: .oneChange,
            explanation: "\(node.name) did \(mutation.words) as \(dot.short), though it "
                + "knew \(past.map(\.words))")
    }

    /// Whether an edit belongs to the winning sending; the document has no edits of others.
    private func isShown(_ edit: Ledger.Entry, in document: Document) -> Bool {
        edit.base == document.message?.header.sent
    }

    /// Issues the next operation of a process, and checks that it is later than its last one and
    /// than every time on its disk, except times so far ahead that the clock does not believe them.
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

    /// Advances a node's clock to a time that its clients are shown.
    func observe(_ time: HybridTimestamp, _ node: SimNode, _ shell: Shell) {
        shell.operations.observe(time, at: wall(of: node))
    }

    /// Throws if a node serves a shard before it has what all others held when it started.
    func checkNotBehind(_ node: SimNode, _ shard: Int, _ shell: Shell) throws(Violation) {
        let missing = node.minimums[shard].subtracting(shell.machines[shard].replica.current.vector)
        guard !missing.isEmpty else { return }
        let entries = missing.dots.compactMap { ledger[$0, shard] }
        throw Violation(
            invariant: .deleted,
            explanation: "\(node.name) shows an old disk: when it started, all others held what it "
                + "lacks: \(entries.prefix(5).map(\.words))")
    }
}
