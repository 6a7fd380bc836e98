import CRDT
import Chat
import Node
import Replication
import Wire

/// The path of operations to the nodes that execute them: normally once, sometimes twice or late.
///
/// The node that reads a line gives the operation its identity before it goes anywhere. A response
/// may be lost, so that the next owner gets the same request; and a request may be executed when
/// nobody waits for it any more, even after everything else, as when a stopped process resumes.
extension World {
    /// A request on its way to another member.
    struct Forward {
        let operation: Operation
        let attempt: PeerRequest.Attempt
        let level: AckLevel
        /// The session that waits for the reply; nil if none does.
        let session: Int?
        /// Operations that the client requested before and that may still be executed late.
        let lost: [ProcessCounter]
    }

    /// The outcome of a request on the network.
    private enum Fate {
        case answered
        /// The request is executed and answered, and executed once more later.
        case answeredThenLate
        /// The request is executed, but the response is lost; the next owner gets the same request.
        case answeredElsewhere
        /// The request is not answered: the client learns that it may have been executed, and it is
        /// executed later.
        case late
        /// The request is executed at once and again later, and never answered.
        case lost
    }

    /// The limit of times that an operation may be given a greater timestamp.
    private static let raisesMax = 8

    func submit(
        _ mutation: Mutation, _ level: AckLevel, _ index: Int, at node: Int, isFresh: Bool
    ) throws(Violation) {
        let shard = shard(of: mutation)
        let reader = nodes[node]
        guard let first = route(shard, from: reader), let shell = reader.shell else { return }
        if shell.isHeld[shard] == false { coverage.count("forwarded") }
        let stamp = try nextOperation(reader, shell)
        let operation = Operation(
            mutation, stamp, after: clients.sessions[index].unsettled)
        let lost = clients.sessions[index].lost
        let attempt: PeerRequest.Attempt = isFresh ? .minted : .first
        func forward(_ attempt: PeerRequest.Attempt, waits: Bool) -> Forward {
            Forward(
                operation: operation, attempt: attempt, level: level,
                session: waits ? index : nil, lost: lost)
        }
        let fate = fate(isForwarded: first !== reader)
        switch fate {
        case .answered, .answeredThenLate:
            let executed = try execute(
                forward(attempt, waits: true), in: shard, at: first, from: reader)
            if fate == .answeredThenLate, let executed {
                late.append(
                    Forward(
                        operation: executed, attempt: .first, level: level, session: nil,
                        lost: lost))
            }
        case .answeredElsewhere:
            coverage.count("executed again")
            try execute(forward(attempt, waits: false), in: shard, at: first, from: nil)
            let willing = nodes.filter { answers(shard, at: $0) }
            guard !willing.isEmpty else { return }
            try execute(
                forward(.again, waits: true), in: shard, at: workRandom.pick(willing), from: reader)
        case .late, .lost:
            coverage.count("may be done")
            if fate == .lost {
                try execute(forward(attempt, waits: false), in: shard, at: first, from: nil)
            }
            late.append(forward(isFresh ? .first : attempt, waits: false))
            clients.sessions[index].lose(stamp)
            clients.sessions[index].undoing = undoing(mutation)
        }
    }

    /// Returns the mutation that undoes a mutation which adds an element to a set; nil for others.
    private func undoing(_ mutation: Mutation) -> Mutation? {
        guard let conversation = mutation.conversation else { return nil }
        let user = mutation.user
        return switch mutation.action {
        case is ArchiveChat: Mutation(UnarchiveChat(), in: conversation, by: user)
        case is HideMessage: Mutation(RestoreMessage(), at: mutation.key, by: user)
        case let invitation as InviteUser:
            Mutation(LeaveConversation(), in: conversation, by: invitation.guest)
        default: nil
        }
    }

    private func fate(isForwarded: Bool) -> Fate {
        let draw = workRandom.below(isForwarded ? 40 : 200)
        switch draw {
        case 0, 1: return .answeredThenLate
        case 2, 3: return .answeredElsewhere
        case 4, 5: return .late
        case 6: return .lost
        default: return .answered
        }
    }

    func shard(of mutation: Mutation) -> Int {
        Int(ShardID(of: mutation.partition, count: UInt16(plan.shards)).number)
    }

    /// Whether a node would execute a request for a shard now.
    func answers(_ shard: Int, at node: SimNode) -> Bool {
        guard let shell = node.shell, !shell.isUnwell, shell.isHeld[shard] else { return false }
        return node.pausedUntil <= now && shell.machines[shard].replica.isReady
    }

    /// Executes, with a probability of 10 %, one of the late requests.
    func arriveLate() throws(Violation) {
        guard !late.isEmpty, workRandom.chance(percent: 10) else { return }
        try arriveLate(late.remove(at: workRandom.below(late.count)))
    }

    /// Executes all late requests.
    func arriveAllLate() throws(Violation) {
        let all = late
        late = []
        for forward in all { try arriveLate(forward) }
    }

    private func arriveLate(_ forward: Forward) throws(Violation) {
        let shard = shard(of: forward.operation.mutation)
        let willing = nodes.filter { answers(shard, at: $0) }
        guard !willing.isEmpty else { return }
        coverage.count("executed late")
        try execute(forward, in: shard, at: workRandom.pick(willing), from: nil)
    }

    /// Has a node's machine execute an operation, with a slot for the session that waits.
    func submit(
        _ operation: Operation, as forward: Forward, in shard: Int, at node: SimNode, _ shell: Shell
    ) throws(ShardFailure) -> ShardMachine.Accepted {
        let slot = forward.session.map {
            ReplySlot(session: UInt64($0), number: UInt64(requests.count))
        }
        return try shell.machines[shard].submit(
            operation, for: slot, level: forward.level, attempt: forward.attempt,
            in: world(of: node, shell))
    }

    /// Executes an operation at a node.
    ///
    /// - Parameter reader: the node that read the line and gets the response; as long as the
    ///   operation was executed nowhere, it may give it a greater timestamp. Nil if the response is
    ///   lost.
    /// - Returns: the operation as it was executed; nil if it was not.
    @discardableResult
    private func execute(
        _ forward: Forward, in shard: Int, at node: SimNode, from reader: SimNode?
    ) throws(Violation) -> Operation? {
        guard let shell = node.shell else { return nil }
        var operation = forward.operation
        for _ in 0..<World.raisesMax {
            let known = shell.machines[shard].replica.current.vector
            let accepted: ShardMachine.Accepted
            do throws(ShardFailure) {
                accepted = try submit(operation, as: forward, in: shard, at: node, shell)
            } catch {
                try onAskingFailed(error, node, shell)
                if case .refused(let refusal) = error, forward.session != nil {
                    try noteRefused(refusal, of: operation.mutation, in: shard, at: node)
                }
                guard case .stale(let time) = error, forward.attempt.mayBeRaised,
                    let reader, let asking = reader.shell
                else { return nil }
                operation.stamp = asking.operations.raised(
                    operation.stamp, above: time, at: wall(of: reader))
                if asking.operations.greatestTime < operation.stamp.time {
                    ledger.noteAhead(operation.stamp)
                }
                continue
            }
            let submission = Submission(
                operation: operation, known: known, shard: shard, session: forward.session,
                lost: forward.lost)
            try onExecuted(accepted, submission, node, shell, reader)
            return operation
        }
        return nil
    }

    func onExecuted(
        _ accepted: ShardMachine.Accepted, _ submission: Submission, _ node: SimNode,
        _ shell: Shell, _ reader: SimNode?
    ) throws(Violation) {
        let number = requests.count
        try noteAccepted(accepted, submission, node, shell)
        if let session = submission.session { clients.sessions[session].awaited = number }
        let time = shell.machines[submission.shard].greatestTime
        observe(time, node, shell)
        if let reader, let asking = reader.shell { observe(time, reader, asking) }
        scheduleTurn(shell)
    }
}
