import CRDT
import Chat
import Replication
import Wire

/// The execution of operations that another node may have executed already, or that arrive late.
extension ShardMachine {
    /// Returns whether the operation changes anything; throws if it must not be executed.
    mutating func judge(
        _ operation: Operation, _ attempt: PeerRequest.Attempt, conversation: Conversation?,
        target: Document?, reached: HistoryPosition?, files: [File?] = [], in world: ShardWorld
    ) throws(ShardFailure) -> Bool {
        let mutation = operation.mutation
        let standing = mutation.standing(of: operation.stamp, in: target)
        // The operation was executed before, or is superseded by a later operation of its process.
        guard standing != .done else { return false }
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
        if !isChange {
            // The operation must nevertheless leave a record, which late operations find on this
            // node or where an earlier attempt was executed.
            isChange =
                try isRecorded(operation, over: target)
                || (attempt == .again && (mutation.isInvitation || mutation.isDeparture))
        }
        if isChange, case .stale(let time) = standing, !isPlantedToWriteStale { throw .stale(time) }
        return isChange
    }

    private func isRecorded(
        _ operation: Operation, over target: Document?
    ) throws(ShardFailure) -> Bool {
        do throws(Refusal) {
            return try operation.mutation.isRecorded(over: target, after: operation.unsettled)
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
        if let invitation = chat?.invitation(of: mutation.user), time < invitation.time {
            throw .stale(invitation.time)
        }
        if case .message(let id)? = mutation.action.marking {
            return try find(.message(id, in: conversation), in: world)?.document.historyPosition
        }
        // Hiding applies to all messages on this node; if a message is later than the operation,
        // the operation is not executed.
        let isBounded = attempt == .again && !isHiding
        let page = HistoryPage(isBounded ? .before(.start(of: time.next)) : .newest, limit: 1)
        var newest: HistoryPosition?
        let pending = pendingMessages(of: conversation)
        try walk(page, of: conversation, among: pending, in: world) {
            newest = $0.historyPosition
            return false
        }
        if let newest, time < newest.time { throw .stale(newest.time) }
        return newest
    }

    /// Returns the stamp that the client's node has given to the operation.
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

    private var isPlantedToWriteStale: Bool {
        #if PlantedBugs
            return PlantedBug.staleWritten.isOn
        #else
            return false
        #endif
    }
}
