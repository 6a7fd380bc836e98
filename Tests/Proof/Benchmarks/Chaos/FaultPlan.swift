/// A chaos plan while it is drawn.
struct FaultPlan {
    /// The time for which a started node is left alone, so that it begins to serve, in
    /// milliseconds.
    static let restMilliseconds = 700
    /// The limit of a cut, in milliseconds: long enough for both sides to consider the other dead.
    static let cutMillisecondsMax = 8_000

    private(set) var steps: [ChaosPlan.Step] = []
    private var random: SeededRandom
    private let nodes: Int
    private let milliseconds: Int
    /// Per node, the times when it is absent, down, stopped or resting; the joining node is last.
    private var busy: [[ClosedRange<Int>]]

    init(seed: UInt64, nodes: Int, milliseconds: Int) {
        random = SeededRandom(seed: seed)
        self.nodes = nodes
        self.milliseconds = milliseconds
        busy = .init(repeating: [], count: nodes)
    }

    mutating func draw() {
        if ChaosPlan.growingNodes.contains(nodes) {
            drawJoin()
            drawLeave()
        }
        drawEndOfAll()
        if nodes > 1 {
            drawWipe()
            drawCuts()
        }
        drawFirstPause()
        var time = 500
        while time < milliseconds - 1_000 {
            drawFault(of: random.below(busy.count), at: time)
            time += random.within(200...1_200)
        }
    }

    /// Draws a join before the kill of all nodes.
    private mutating func drawJoin() {
        let time = milliseconds * random.within(38...45) / 100
        add(time, nodes, .join)
        busy.append([0...(time + Self.restMilliseconds)])
    }

    /// Draws a departure after all nodes have returned, since a leaving node waits for every owner.
    private mutating func drawLeave() {
        let time = milliseconds * random.within(80...84) / 100
        let node = random.below(nodes)
        add(time, node, .leave)
        busy[node].append(time...milliseconds)
    }

    private mutating func drawEndOfAll() {
        let time = milliseconds * random.within(50...60) / 100
        for node in busy.indices {
            let start = time + random.within(200...min(1_500, milliseconds * 8 / 100))
            add(time, node, .kill)
            add(start, node, .start)
            occupy(node, time...start)
        }
    }

    /// Draws a wipe before the departure: until then it is known on whose disk a change may be.
    private mutating func drawWipe() {
        let time = milliseconds * random.within(20...35) / 100
        let node = random.below(nodes)
        // Before the kill of all nodes, also in the shortest run.
        let start = time + random.within(500...min(2_000, milliseconds * 8 / 100))
        add(time, node, .kill)
        add(time + 100, node, .wipe)
        add(start, node, .start)
        occupy(node, time...start)
    }

    /// Draws cuts one after another, in both directions and in one by turns.
    private mutating func drawCuts() {
        var isOneWay = random.chance(percent: 50)
        let longest = min(Self.cutMillisecondsMax, milliseconds * 18 / 100)
        var time = milliseconds * random.within(8...12) / 100
        while true {
            let end = time + random.within(longest / 3...longest)
            guard end < milliseconds - 100 else { return }
            var rest = Array(0..<nodes)
            var side: [Int] = []
            for _ in 0..<random.within(1...(nodes - 1)) {
                side.append(rest.remove(at: random.below(rest.count)))
            }
            side.sort()
            add(time, side[0], .cut(ChaosPlan.Cut(side: side, isOneWay: isOneWay)))
            add(end, side[0], .heal)
            isOneWay.toggle()
            time = end + random.within(300...1_500)
        }
    }

    /// Draws a pause in any case: no other fault occurs yet, and it ends before the wipe.
    private mutating func drawFirstPause() {
        let (node, time) = (random.below(nodes), milliseconds * random.within(4...8) / 100)
        let longest = milliseconds * 19 / 100 - Self.restMilliseconds - time
        let end = time + random.within(150...min(ChaosPlan.pauseMillisecondsMax, longest))
        add(time, node, .stop)
        add(end, node, .resume)
        occupy(node, time...end)
    }

    /// Draws a fault unless the node is busy or is the last that runs.
    private mutating func drawFault(of node: Int, at time: Int) {
        let isPause = random.chance(percent: 30)
        let longest =
            isPause ? ChaosPlan.pauseMillisecondsMax : random.chance(percent: 80) ? 3_000 : 6_000
        let end = min(time + random.within(150...longest), milliseconds - 100)
        guard end > time, isFree(node, time...(end + Self.restMilliseconds)) else { return }
        let others = busy.indices.filter { $0 != node && isFree($0, time...end) }
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
