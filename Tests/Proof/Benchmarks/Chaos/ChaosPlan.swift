/// The faults of a chaos run and their times: the same seed gives the same plan.
///
/// At some time one node is killed and loses its disk, all are killed at once, a new node joins,
/// and one leaves for good. In addition, nodes are killed and stopped one by one, some at the same
/// time, but never all of them, and connections are cut in both directions and in one. At the end,
/// every node that has not left runs, and every cut is healed.
struct ChaosPlan: Hashable, Sendable {
    enum Act: Hashable, Sendable {
        /// `kill -9`.
        case kill
        /// The folder of a stopped node is removed.
        case wipe
        case start
        /// SIGSTOP and SIGCONT.
        case stop, resume
        /// A new node joins, with an empty folder.
        case join
        /// The node hands over its shards and ends.
        case leave
        case cut(Cut)
        /// Every cut ends, on every node.
        case heal
    }

    /// A cut of the connections between some nodes and all others.
    struct Cut: Hashable, Sendable {
        let side: [Int]
        /// Whether only the side does not hear the others, which hear it.
        let isOneWay: Bool
    }

    struct Step: Hashable, Sendable {
        let milliseconds: Int
        /// The node's index from 0; for a cut and its heal, the first node of the side.
        let node: Int
        let act: Act
    }

    static let pauseMillisecondsMax = 3_000
    /// The least duration, in seconds, for the wipe, the kill of all nodes, and the departure.
    static let secondsMin = 10
    /// The sizes of clusters that a node joins and a node leaves: a smaller one would be left with
    /// one node, and a larger one has no name for the new node.
    static let growingNodes = 3...8

    let seed: UInt64
    /// The number of nodes at the beginning.
    let nodes: Int
    let seconds: Int
    /// The steps in the order of time.
    let steps: [Step]

    init(seed: UInt64, nodes: Int, seconds: Int) {
        precondition(nodes > 0 && seconds >= Self.secondsMin, "a plan needs nodes and time")
        self.seed = seed
        self.nodes = nodes
        self.seconds = seconds
        var faultPlan = FaultPlan(seed: seed, nodes: nodes, milliseconds: seconds * 1_000)
        faultPlan.draw()
        steps = faultPlan.steps.enumerated().sorted {
            ($0.element.milliseconds, $0.offset) < ($1.element.milliseconds, $1.offset)
        }.map(\.element)
    }

    /// The number of nodes that ever run.
    var nodesEver: Int { nodes + (Self.growingNodes.contains(nodes) ? 1 : 0) }

    /// One line per step.
    var text: String {
        steps.map { step in
            "  \(decimal(Double(step.milliseconds) / 1_000, digits: 3)) s  \(step.text)"
        }.joined(separator: "\n")
    }
}

extension ChaosPlan.Step {
    var text: String {
        switch act {
        case .kill: "kill -9 \(name)"
        case .wipe: "remove the folder of \(name)"
        case .start: "start \(name)"
        case .stop: "SIGSTOP \(name)"
        case .resume: "SIGCONT \(name)"
        case .join: "start \(name) for the first time"
        case .leave: "LEAVE \(name)"
        case .cut(let cut): cut.text
        case .heal: "heal every cut"
        }
    }

    private var name: String { "n\(node + 1)" }
}

extension ChaosPlan.Cut {
    var text: String {
        let names = side.map { "n\($0 + 1)" }.joined(separator: ",")
        return isOneWay ? "\(names): deaf to the others" : "cut \(names) from the others"
    }
}
