import Wire

/// The judgement of a node on the time that a client has given to an operation.
///
/// A client repeats an operation, with the same time, until a node answers. It may give the
/// operation a new time once no node can still execute it with the first one. Therefore nodes
/// execute no operation older than `ageMaxMilliseconds`, and the answer `expired` means that no
/// node will.
///
/// The clocks of two nodes differ by at most twice the greatest offset that nodes accept of each
/// other. Nodes therefore stop executing operations by that difference earlier than they answer
/// `expired`: when the first node answers so, the last node has stopped.
public enum Timeliness: UInt8, Hashable, Sendable {
    /// The operation may be executed.
    case inTime = 0
    /// The operation's time is further ahead of the node's than clocks may differ.
    case early = 1
    /// The operation is not executed by this node any more; another node may still execute it.
    case closing = 2
    /// No node executes the operation any more.
    case expired = 3

    /// The age in milliseconds from which an operation is executed by no node.
    public static let ageMaxMilliseconds: UInt64 = 600_000
}

extension WallTime {
    /// Returns the judgement on an operation's time.
    public func timeliness(of time: HybridTimestamp) -> Timeliness {
        guard believes(time) else { return .early }
        #if PlantedBugs
            if PlantedBug.expiredExecuted.isOn { return .inTime }
        #endif
        let age = milliseconds - min(milliseconds, time.milliseconds)
        guard age < Timeliness.ageMaxMilliseconds else { return .expired }
        let offset = latest.milliseconds - milliseconds
        let margin = offset > Timeliness.ageMaxMilliseconds ? offset : 2 * offset
        return age + margin < Timeliness.ageMaxMilliseconds ? .inTime : .closing
    }
}
