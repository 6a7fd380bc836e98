/// What is done to the nodes of a chaos run, and when: the same seed gives the same plan.
///
/// Every node is up when it ends. Somewhere in it one node is killed and loses its disk, and all
/// are killed at once; around that, nodes are killed and stopped one by one, some at the same time,
/// but never all of them.
struct ChaosPlan: Hashable, Sendable {
    enum Act: Hashable, Sendable {
        /// `kill -9`.
        case kill
        /// The folder of a node that is down is removed.
        case wipe
        case start
        /// SIGSTOP and SIGCONT.
        case stop, resume
    }

    struct Step: Hashable, Sendable {
        let milliseconds: Int
        /// From 0.
        let node: Int
        let act: Act
    }

    static let pauseMillisecondsMax = 3_000
    /// A run needs room for the wiped disk and for the end of all.
    static let secondsMin = 10

    let seed: UInt64
    let nodes: Int
    let seconds: Int
    /// In the order of time.
    let steps: [Step]

    init(seed: UInt64, nodes: Int, seconds: Int) {
        precondition(nodes > 0 && seconds >= Self.secondsMin, "a plan needs nodes and time")
        self.seed = seed
        self.nodes = nodes
        self.seconds = seconds
        var sketch = Sketch(seed: seed, nodes: nodes, milliseconds: seconds * 1_000)
        sketch.draw()
        steps = sketch.steps.enumerated().sorted {
            ($0.element.milliseconds, $0.offset) < ($1.element.milliseconds, $1.offset)
        }.map(\.element)
    }

    /// One line for each step.
    var text: String {
        steps.map { step in
            let time = decimal(Double(step.milliseconds) / 1_000, digits: 3)
            let act =
                switch step.act {
                case .kill: "kill -9"
                case .wipe: "remove the folder of"
                case .start: "start"
                case .stop: "SIGSTOP"
                case .resume: "SIGCONT"
                }
            return "  \(time) s  \(act) n\(step.node + 1)"
        }.joined(separator: "\n")
    }
}

/// A plan while it is drawn.
private struct Sketch {
    /// A node that was started is left alone for a while, so that it comes to serve.
    static let restMilliseconds = 700

    private(set) var steps: [ChaosPlan.Step] = []
    private var random: SeededRandom
    private let nodes: Int
    private let milliseconds: Int
    /// When each node is down, stopped or resting.
    private var busy: [[ClosedRange<Int>]]

    init(seed: UInt64, nodes: Int, milliseconds: Int) {
        random = SeededRandom(seed: seed)
        self.nodes = nodes
        self.milliseconds = milliseconds
        busy = .init(repeating: [], count: nodes)
    }

    mutating func draw() {
        drawEndOfAll()
        if nodes > 1 { drawWipe() }
        // One whatever the dice say; nothing else lies there yet.
        drawFault(at: milliseconds * random.within(4...8) / 100, isPause: true)
        var time = 500
        while time < milliseconds - 1_000 {
            drawFault(at: time, isPause: random.chance(percent: 30))
            time += random.within(200...1_200)
        }
    }

    private mutating func drawEndOfAll() {
        let time = milliseconds * random.within(55...70) / 100
        for node in 0..<nodes {
            let start = time + random.within(200...1_500)
            add(time, node, .kill)
            add(start, node, .start)
            occupy(node, time...start)
        }
    }

    private mutating func drawWipe() {
        let time = milliseconds * random.within(20...35) / 100
        let node = random.below(nodes)
        // Before the end of all, also in the shortest run.
        let start = time + random.within(500...min(2_000, milliseconds * 12 / 100))
        add(time, node, .kill)
        add(time + 100, node, .wipe)
        add(start, node, .start)
        occupy(node, time...start)
    }

    /// Draws nothing where the node is taken, or is the last that is up.
    private mutating func drawFault(at time: Int, isPause: Bool) {
        let node = random.below(nodes)
        // A pause of the first tenth stays clear of the wipe.
        let longest =
            isPause ? min(3_000, milliseconds / 10) : random.chance(percent: 80) ? 3_000 : 6_000
        let end = min(time + random.within(150...longest), milliseconds - 100)
        guard end > time, isFree(node, time...(end + Self.restMilliseconds)) else { return }
        let others = (0..<nodes).filter { $0 != node && isFree($0, time...end) }
        guard !others.isEmpty || nodes == 1 else { return }
        add(time, node, isPause ? .stop : .kill)
        add(end, node, isPause ? .resume : .start)
        occupy(node, time...end)
    }

    private func isFree(_ node: Int, _ time: ClosedRange<Int>) -> Bool {
        !busy[node].contains { $0.overlaps(time) }
    }

    private mutating func occupy(_ node: Int, _ time: ClosedRange<Int>) {
        busy[node].append(time.lowerBound...(time.upperBound + Self.restMilliseconds))
    }

    private mutating func add(_ milliseconds: Int, _ node: Int, _ act: ChaosPlan.Act) {
        steps.append(ChaosPlan.Step(milliseconds: milliseconds, node: node, act: act))
    }
}
