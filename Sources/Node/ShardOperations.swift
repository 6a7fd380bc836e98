import CRDT
import Chat
import Replication
import Wire

/// How a shard executes an operation that another may have executed, or that comes late.
extension ShardMachine {
    /// Whether an operation may be executed, and whether that changes anything.
    mutating func judge(
        _ operation: Operation, _ attempt: PeerRequest.Attempt, conversation: Conversation?,
        target: Document?, reached: HistoryPosition?, in world: ShardWorld
    ) throws(ShardFailure) -> Bool {
        let mutation = operation.mutation
        let standing = mutation.standing(of: operation.stamp, in: target)
        // Executed before, or superseded by what its process issued later.
        guard standing != .done else { return false }
        try checkRoom(for: mutation, over: target, in: world)
        var isChange: Bool
        do {
            isChange = try mutation.judge(
                conversation: conversation, target: target, reached: reached, by: world.judge)
        } catch {
            // Who has left by the first attempt is no participant at the second.
            let isAgain = attempt == .again && mutation.action == .leave
            let wasIn = conversation?.participants.hasHeld(mutation.user) ?? false
            guard isAgain, wasIn, error == .notParticipant else { throw .refused(error) }
            isChange = true
        }
        if !isChange {
            // It must be found by what may come late, here or where an earlier attempt went.
            isChange =
                try isRecorded(operation, over: target)
                || (attempt == .again && mutation.isInvitation)
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

    /// Where the message stands up to which a mark is set; nil where there is none.
    ///
    /// The newest message is bounded by the operation's time, so that a late execution reaches no
    /// further than a prompt one.
    mutating func position(
        reachedBy operation: Operation, _ attempt: PeerRequest.Attempt, in room: Conversation?,
        _ world: ShardWorld
    ) throws(ShardFailure) -> HistoryPosition? {
        let (mutation, time) = (operation.mutation, operation.stamp.time)
        let isHiding = mutation.action == .hideChat
        guard let conversation = mutation.conversation, isHiding || mutation.marking != nil else {
            return nil
        }
        // What was read or hidden before an invitation is not read or hidden after it.
        if let invitation = room?.invitation(of: mutation.user), time < invitation.time {
            throw .stale(invitation.time)
        }
        if case .message(let id)? = mutation.marking {
            return try find(.message(id, in: conversation), in: world)?.document.historyPosition
        }
        // What a conversation is hidden up to has no bound but what is here: it is not executed
        // where that is later than the operation.
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

    /// That of the node that read its line.
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
