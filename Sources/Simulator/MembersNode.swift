import Membership
import Wire

/// A machine in the world of members: a place with an address, where processes run.
final class MembersNode {
    /// The end of a link, as this machine's process sees it.
    struct End {
        let link: Int
        /// When something last came over it, in milliseconds.
        var heardAt: UInt64
        /// What the other end has said it is called.
        var name: NodeName?
    }

    /// How it goes with dialling one address.
    struct Dial {
        var attempt: Int?
        var givenUpAt: UInt64 = 0
        var nextAt: UInt64 = 0
        var pauseMilliseconds: UInt64 = MembersNode.dialPauseMin
    }

    static let dialPauseMin: UInt64 = 100
    static let dialPauseMax: UInt64 = 500
    /// How long a dial may hang.
    static let dialTimeout: UInt64 = 300
    /// After which silence a link is given up and dialled anew.
    static let linkSilenceMax: UInt64 = 2_000

    let slot: Int
    let name: NodeName
    var core: Membership?
    /// Counts the processes that ran here: what was meant for an older one is dropped.
    var generation = 0
    var isPaused = false
    /// What waits for the end of a pause.
    var inbox: [MembersEvent] = []
    /// By the slot of the other machine.
    var ends: [Int: End] = [:]
    var dials: [Int: Dial] = [:]
    /// Whom a process without a table dials.
    var contact: Int?
    /// What the last process kept on its disk.
    var savedTable: MemberTable?
    var lastTickAt: UInt64 = 0
    var lastIncarnation: UInt64 = 0
    /// How often the process was told of another life of a name.
    var restartsSeen: [NodeName: Int] = [:]
    /// Since when more than half of the members can be heard here, or cannot, in milliseconds: as
    /// the world knows it, which no process does.
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

/// What travels over a link.
enum MembersFrame {
    case hello(NodeName, RandomID, MemberTable)
    /// Whatever else the nodes say to each other.
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
    /// The other side has closed or reset the link.
    case closed(from: Int, link: Int)
}
