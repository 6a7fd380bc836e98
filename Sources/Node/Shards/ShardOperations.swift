import CRDT
import Chat
import Replication
import Wire

/// The execution of operations that another node may have executed already, or that arrive late.
extension ShardMachine {
    /// The effect of an operation that is accepted.
    enum Effect {
        case change
        /// The operation has been executed before.
        case done
        /// The state is as requested already.
        case none
        /// The client's operation is earlier than what is there, and keeps its time.
        case superseded
    }

    /// Returns the operation's effect; throws if it must not be executed.
    mutating func judge(
        _ operation: Operation, _ attempt: PeerRequest.Attempt, conversation: Conversation?,
        target: Document?, reached: HistoryPosition?, files: [File?] = [], in world: ShardWorld
    ) throws(ShardFailure) -> Effect {
        let mutation = operation.mutation
        let standing = standing(of: operation, attempt, conversation: conversation, target: target)
        // The operation was executed before, or is superseded by a later operation of its process.
        guard standing != .done || isPlantedToJudge(attempt) else { return .done }
        if let refusal = operation.refusal { throw .refused(refusal) }
        try checkDeviceCount(for: mutation, over: target, in: world)
        var isChange: Bool
        do {
            isChange = try mutation.judge(
                conversation: conversation, target: target, reached: reached, files: files,
                by: world.judge)
        } catch {
            // A first attempt may have executed the leave: then the user is not a participant any
            // more.
            let isAgain = attempt == .again && mutation.isDeparture
            guard isAgain, conversation.hasLeft(mutation.user), error == .notParticipant else {
                throw .refused(try refusal(error, of: mutation, in: world))
            }
            isChange = true
        }
        if standing == .full {
            guard !isChange else { throw .refused(.documentFull) }
            return .none
        }
        if !isChange {
            // The operation must nevertheless leave a record, which late operations find on this
            // node or where an earlier attempt was executed.
            isChange =
                try isRecorded(operation, attempt, over: target)
                || (attempt == .again && (mutation.isInvitation || mutation.isDeparture))
        }
        guard isChange, case .stale(let time) = standing, !isPlantedToWriteStale else {
            return isChange ? .change : .none
        }
        guard attempt == .client, !isPlantedToRaiseLate else { throw .stale(time) }
        return mutation.isAppliedLate(operation.stamp, to: target) ? .change : .superseded
    }

    private func standing(
        of operation: Operation, _ attempt: PeerRequest.Attempt, conversation: Conversation?,
        target: Document?
    ) -> Standing {
        let (mutation, stamp) = (operation.mutation, operation.stamp)
        let standing = mutation.standing(of: stamp, in: target)
        guard attempt == .client, standing != .done,
            mutation.action.marking != nil || mutation.action.hides,
            let invitation = conversation?.invitation(of: mutation.user),
            stamp.time < invitation.time
        else { return standing }
        return .stale(invitation.time)
    }

    /// A client's own operation is recorded wherever one of its earlier operations may arrive.
    private func isRecorded(
        _ operation: Operation, _ attempt: PeerRequest.Attempt, over target: Document?
    ) throws(ShardFailure) -> Bool {
        // A user who has left can leave no more.
        let isOfClient = attempt == .client && !operation.mutation.isDeparture
        var ofClient = isOfClient ? operation.stamp.time : .zero
        #if PlantedBugs
            if PlantedBug.sameValueUnrecorded.isOn { ofClient = .zero }
        #endif
        do throws(Refusal) {
            return try operation.mutation.isRecorded(
                over: target, after: max(operation.unsettled.time, ofClient))
        } catch {
            throw .refused(error)
        }
    }

    /// Returns the position of the message up to which a mark is set; nil if there is no such
    /// message.
    ///
    /// If the newest message is requested, messages after the operation's time do not count, so
    /// that a late execution marks no more messages than a prompt execution.
    mutating func position(
        reachedBy operation: Operation, _ attempt: PeerRequest.Attempt, in chat: Conversation?,
        _ world: ShardWorld
    ) throws(ShardFailure) -> HistoryPosition? {
        let (mutation, time) = (operation.mutation, operation.stamp.time)
        let isHiding = mutation.action.hides
        guard let conversation = mutation.conversation, isHiding || mutation.action.marking != nil
        else {
            return nil
        }
        // Reading or hiding before an invitation has no effect after the invitation.
        if attempt != .client, let invitation = chat?.invitation(of: mutation.user),
            time < invitation.time
        {
            throw .stale(invitation.time)
        }
        if case .message(let id)? = mutation.action.marking {
            return try find(.message(id, in: conversation), in: world)?.document.historyPosition
        }
        // Hiding applies to all messages on this node; if a message is later than the operation,
        // the operation is not executed, or hides none of the later messages.
        guard attempt != .client || !isHiding else { return nil }
        var isBounded = (attempt == .again || attempt == .client) && !isHiding
        #if PlantedBugs
            if PlantedBug.lateMarkUnbounded.isOn, attempt == .client { isBounded = false }
        #endif
        let page = HistoryPage(isBounded ? .before(.start(of: time.next)) : .newest, limit: 1)
        var newest: HistoryPosition?
        let pending = pendingMessages(of: conversation)
        try walk(page, of: conversation, among: pending, in: world) {
            newest = $0.historyPosition
            return false
        }
        if let newest, time < newest.time, attempt != .client { throw .stale(newest.time) }
        return newest
    }

    /// The most messages later than a client's request to hide a conversation that the request
    /// leaves out.
    private static let laterMessagesMax = 1_000

    /// Returns the vector of the messages that an operation hides: everything that this node holds,
    /// without what followed a client's operation.
    ///
    /// Of each replica id, everything from the first later message on is left out: what a replica
    /// executed after that message, it executed after the operation.
    mutating func vectorToHide(
        by operation: Operation, _ attempt: PeerRequest.Attempt, in world: ShardWorld
    ) throws(ShardFailure) -> Vector {
        var vector = replica.current.vector
        guard attempt == .client, let conversation = operation.mutation.conversation else {
            return vector
        }
        #if PlantedBugs
            if PlantedBug.lateHideTakesAll.isOn { return vector }
        #endif
        let later = HistoryPage(
            .after(.start(of: operation.stamp.time.next)), limit: Self.laterMessagesMax + 1)
        var count = 0
        try walk(later, of: conversation, among: pendingMessages(of: conversation), in: world) {
            for dot in $0.sendings { vector.remove(from: dot) }
            count += 1
            return count <= Self.laterMessagesMax
        }
        guard count <= Self.laterMessagesMax else {
            throw .untimely(.closing, now: world.judge.wall.milliseconds)
        }
        return vector
    }

    /// Returns the stamp that the client, or the client's node, has given to the operation.
    mutating func stamp(
        of operation: Operation, executedAs dot: Dot, over target: Document?, in world: ShardWorld
    ) -> Stamp {
        let stamp = operation.stamp
        #if PlantedBugs
            if PlantedBug.tagOfExecution.isOn {
                return Stamp(time: stamp.time, process: dot.replica, counter: dot.seq)
            }
            if PlantedBug.operationTimedByExecutor.isOn {
                let time = clock.next(
                    at: world.judge.wall, replacing: target?.greatestTime ?? .zero)
                return Stamp(time: time, process: stamp.process, counter: stamp.counter)
            }
        #endif
        return stamp
    }

    /// Throws if a client's operation is so old that other nodes may answer that no node executes
    /// it any more, or if its time is ahead.
    func checkTime(of operation: Operation, in world: ShardWorld) throws(ShardFailure) {
        let wall = world.judge.wall
        let timeliness = wall.timeliness(of: operation.stamp.time)
        guard timeliness != .inTime else { return }
        throw .untimely(
            timeliness == .expired ? .closing : timeliness, now: wall.milliseconds)
    }

    private func isPlantedToJudge(_ attempt: PeerRequest.Attempt) -> Bool {
        #if PlantedBugs
            return PlantedBug.repetitionJudged.isOn && attempt == .client
        #else
            return false
        #endif
    }

    private var isPlantedToRaiseLate: Bool {
        #if PlantedBugs
            return PlantedBug.lateOperationRaised.isOn
        #else
            return false
        #endif
    }

    private var isPlantedToWriteStale: Bool {
        #if PlantedBugs
            return PlantedBug.staleWritten.isOn
        #else
            return false
        #endif
    }
}

extension ShardMachine.Effect {
    /// Returns the time with which a client's operation is answered that has changed nothing now.
    ///
    /// A repetition is answered as the first time: the times of later changes are not shown, since
    /// its user may be no participant any more. A mark, or a part to hide, of an earlier invitation
    /// is shown nowhere, and has no time.
    ///
    /// - Parameter valueTime: when the value has last changed.
    func time(
        of operation: Operation, orElse valueTime: HybridTimestamp?
    ) -> HybridTimestamp? {
        let action = operation.mutation.action
        switch self {
        case .done where action is RetractMessage: return valueTime
        case .superseded where action.marking != nil || action.hides: return nil
        case .done, .superseded: return operation.stamp.time
        case .change, .none: return valueTime
        }
    }
}
