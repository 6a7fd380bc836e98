import CRDT
import Chat
import Node
import Replication
import Wire

/// Where operations go: to the node that executes them, sometimes to two, sometimes late.
///
/// The node that reads the line names the operation before it goes anywhere. An answer may be lost,
/// so that the next member is asked; and a request may be executed when nobody waits for it any
/// more, also after everything else, as where the clock stood still of a process that had it.
extension World {
    /// A request that is on its way to a member.
    struct Forward {
        let operation: Operation
        let attempt: PeerRequest.Attempt
        let level: AckLevel
        /// Whose reply it is; nil where nobody waits any longer.
        let session: Int?
        /// What its client had asked for before, and might come late.
        let lost: [ProcessCounter]
    }

    /// What becomes of a request.
    private enum Fate {
        case answered
        /// It is executed, and once more later.
        case answeredThenLate
        /// The answer is lost: the next member is asked.
        case answeredElsewhere
        /// Nobody answers: its client is told that it may be done, and later it is.
        case late
        /// Likewise, and it was done at once, too.
        case lost
    }

    /// How often an operation may get a greater time.
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

    /// What takes a mutation back, if it adds something to a set.
    private func undoing(_ mutation: Mutation) -> Mutation? {
        guard let conversation = mutation.conversation else { return nil }
        let user = mutation.user
        return switch mutation.action {
        case .archive: Mutation(.unarchive, in: conversation, by: user)
        case .hide(let message): Mutation(.restore(message), in: conversation, by: user)
        case .invite(let guest): Mutation(.leave, in: conversation, by: guest)
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

    private func shard(of mutation: Mutation) -> Int {
        Int(ShardID(of: mutation.partition, count: UInt16(plan.shards)).number)
    }

    /// Whether a node would execute what it is asked of a shard.
    private func answers(_ shard: Int, at node: SimNode) -> Bool {
        guard let shell = node.shell, !shell.isUnwell, shell.isHeld[shard] else { return false }
        return node.pausedUntil <= now && shell.machines[shard].copy.isReady
    }

    /// Some of what is on its way arrives.
    func arriveLate() throws(Violation) {
        guard !late.isEmpty, workRandom.chance(percent: 10) else { return }
        try arriveLate(late.remove(at: workRandom.below(late.count)))
    }

    /// All that is on its way arrives.
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

    /// Executes an operation at a node.
    ///
    /// - Parameter reader: who read its line and is answered, and may give it a greater time as
    ///   long as it was executed nowhere; nil where the answer does not come.
    /// - Returns: what was executed.
    @discardableResult
    private func execute(
        _ forward: Forward, in shard: Int, at node: SimNode, from reader: SimNode?
    ) throws(Violation) -> Operation? {
        guard let shell = node.shell else { return nil }
        var operation = forward.operation
        for _ in 0..<World.raisesMax {
            let known = shell.machines[shard].copy.current.vector
            let slot = forward.session.map {
                ReplySlot(session: UInt64($0), number: UInt64(requests.count))
            }
            let accepted: ShardMachine.Accepted
            do throws(ShardFailure) {
                accepted = try shell.machines[shard].submit(
                    operation, for: slot, level: forward.level, attempt: forward.attempt,
                    in: world(of: node, shell))
            } catch {
                try onAskingFailed(error, node, shell)
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

    private func onExecuted(
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
