/// What is done to the nodes of a chaos run, and when: the same seed gives the same plan.
///
/// Somewhere in it one node is killed and loses its disk, all are killed at once, one joins that
/// was never there, and one leaves for good; around that, nodes are killed and stopped one by one,
/// some at the same time, but never all of them, and cables are cut, both ways and one way. Every
/// node that has not left is up when it ends, and every cable whole.
struct ChaosPlan: Hashable, Sendable {
    enum Act: Hashable, Sendable {
        /// `kill -9`.
        case kill
        /// The folder of a node that is down is removed.
        case wipe
        case start
        /// SIGSTOP and SIGCONT.
        case stop, resume
        /// A node more, with an empty folder.
        case join
        /// The node hands everything over and goes.
        case leave
        case cut(Cut)
        /// Every cut, on every node.
        case heal
    }

    /// The cables between some nodes and all others.
    struct Cut: Hashable, Sendable {
        let side: [Int]
        /// The side does not hear the others; they hear it.
        let isOneWay: Bool
    }

    struct Step: Hashable, Sendable {
        let milliseconds: Int
        /// From 0; of a cut the first of its side, of a heal the same.
        let node: Int
        let act: Act
    }

    static let pauseMillisecondsMax = 3_000
    /// A run needs room for the wiped disk, the end of all, and the one that leaves.
    static let secondsMin = 10
    /// A node more joins clusters of these sizes, and one leaves: fewer would be left with one
    /// node, and more have no name for it.
    static let growingNodes = 3...8

    let seed: UInt64
    /// How many there are at the beginning.
    let nodes: Int
    let seconds: Int
    /// In the order of time.
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

    /// How many nodes there ever are.
    var nodesEver: Int { nodes + (Self.growingNodes.contains(nodes) ? 1 : 0) }

    /// One line for each step.
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
