import Membership
import Wire

/// A machine in the world of members: an address at which processes run.
final class MembersNode {
    /// One end of a connection, as this machine's process sees it.
    struct End {
        let link: Int
        /// The time at which a frame last arrived over it, in milliseconds.
        var heardAt: UInt64
        /// The name that the other end has stated; nil before its hello.
        var name: NodeName?
    }

    /// The state of dialling one address; times in milliseconds.
    struct Dial {
        var attempt: Int?
        var givenUpAt: UInt64 = 0
        var nextAt: UInt64 = 0
        var pauseMilliseconds: UInt64 = MembersNode.dialPauseMin
    }

    static let dialPauseMin: UInt64 = 100
    static let dialPauseMax: UInt64 = 500
    /// The time after which an unanswered dial is abandoned, in milliseconds.
    static let dialTimeout: UInt64 = 300
    /// The silence after which a connection is given up and dialled anew, in milliseconds.
    static let linkSilenceMax: UInt64 = 2_000

    let slot: Int
    let name: NodeName
    var core: Membership?
    /// The number of processes started here; events for an earlier one are dropped.
    var generation = 0
    var isPaused = false
    /// The events that wait for the end of a pause.
    var inbox: [MembersEvent] = []
    /// The ends of open connections, by the slot of the other machine.
    var ends: [Int: End] = [:]
    var dials: [Int: Dial] = [:]
    /// The slot that a process without a member table dials.
    var contact: Int?
    /// The member table that the last process left on disk.
    var savedTable: MemberTable?
    var lastTickAt: UInt64 = 0
    var lastIncarnation: UInt64 = 0
    /// Per name, how often the process was told that the member restarted.
    var restartsSeen: [NodeName: Int] = [:]
    /// The times since which more than half of the members can be heard here (`majoritySince`) or
    /// cannot (`minoritySince`), in milliseconds.
    ///
    /// The world knows this; no process does.
    var majoritySince: UInt64?
    var minoritySince: UInt64?
    var hasSeenTwin = false
    var hasLeft = false

    init(slot: Int, name: NodeName) {
        self.slot = slot
        self.name = name
    }

    var isRunning: Bool { core != nil }
    var isAwake: Bool { core != nil && !isPaused }
}

/// A message that travels over a connection.
enum MembersFrame {
    case hello(NodeName, RandomID, MemberTable)
    /// Any other traffic between two nodes; it shows that the sender lives.
    case beat
    case gossip(Gossip)
}

enum MembersEvent {
    case tick(generation: Int)
    case beat(generation: Int)
    /// A dial arrives at the machine.
    case dialled(from: Int, attempt: Int)
    case accepted(by: Int, attempt: Int, link: Int)
    case refused(by: Int, attempt: Int)
    case frame(from: Int, link: Int, MembersFrame)
    /// The other end has closed or reset the connection.
    case closed(from: Int, link: Int)
}
