/// The inputs that decide a run: a seed for every random choice, and the faults with their times.
package struct Plan: Hashable, Sendable {
    package let seed: UInt64
    package let nodes: Int
    package let shards: Int
    /// The number of owners of each shard; 0 for all members.
    package let replicas: Int
    /// The duration of faults and client load, in milliseconds.
    package let chaosMilliseconds: UInt64
    package var faults: [Fault]

    /// Draws the plan of a seed.
    package init(seed: UInt64) {
        var random = SeededRandom(seed: seed, stream: 1)
        self.seed = seed
        nodes = random.pick([2, 3, 3, 3, 3, 4, 5, 5, 6])
        replicas = random.pick([0, 0, 1, 2, 2, 3])
        shards = random.pick([1, 1, 2, 3])
        chaosMilliseconds = random.between(1_500...5_000)
        faults = []
        let count = random.chance(percent: 10) ? 0 : random.below(16)
        for _ in 0..<count { addFault(&random) }
        addJoin(&random)
        addIndexFlips()
        faults.sort { $0.at < $1.at }
    }

    /// In some plans, lets the last node join during the chaos instead of at the start.
    private mutating func addJoin(_ random: inout SeededRandom) {
        guard nodes > 2, random.chance(percent: 30) else { return }
        let at = random.between(200...chaosMilliseconds)
        faults.removeAll { $0.node == nodes - 1 && $0.at <= at }
        faults.append(Fault(at: at, .join, node: nodes - 1))
    }

    /// Uses a random stream of its own, so that these draws change nothing else of a seed's plan.
    private mutating func addIndexFlips() {
        var random = SeededRandom(seed: seed, stream: 16)
        guard random.chance(percent: 15) else { return }
        let node = random.below(nodes)
        let at = random.between(200...chaosMilliseconds)
        faults.append(Fault(at: at, .flipIndex, node: node, other: random.below(1_000)))
        // A leaving node reads all its documents before the handover, and so meets the damage.
        guard random.chance(percent: 60) else { return }
        faults.append(
            Fault(
                at: at + random.between(0...300), .leave, node: node,
                amount: Plan.amount(.leave, &random)))
    }

    /// Whether users sign up, sign in and out; a stream of its own, and never in seeds that were
    /// kept before there were accounts, whose runs would change.
    package var hasAccounts: Bool {
        var random = SeededRandom(seed: seed, stream: 17)
        return random.chance(percent: 30) && !KeptSeeds.machinesBeforeAccounts.contains(seed)
    }

    /// Whether users upload, send and delete files; as with accounts.
    package var hasFiles: Bool {
        var random = SeededRandom(seed: seed, stream: 19)
        return random.chance(percent: 30) && !KeptSeeds.machinesBeforeAccounts.contains(seed)
    }

    /// Whether users block each other; as with accounts.
    package var hasBlocks: Bool {
        var random = SeededRandom(seed: seed, stream: 21)
        return random.chance(percent: 30) && !KeptSeeds.machinesBeforeBlocks.contains(seed)
    }

    /// Whether clients number and time their operations themselves; as with accounts.
    package var hasDevices: Bool {
        var random = SeededRandom(seed: seed, stream: 23)
        return random.chance(percent: 40) && !KeptSeeds.machinesBeforeBlocks.contains(seed)
    }

    /// The nodes that are no members at the start.
    var joiners: Set<Int> { Set(faults.lazy.filter { $0.kind == .join }.map(\.node)) }

    private mutating func addFault(_ random: inout SeededRandom) {
        let kind = random.pick(Plan.lots)
        let node = random.below(nodes)
        let other =
            kind == .flip ? random.below(1_000) : (node + 1 + random.below(nodes - 1)) % nodes
        let at = random.between(50...chaosMilliseconds)
        faults.append(
            Fault(at: at, kind, node: node, other: other, amount: Plan.amount(kind, &random)))
        if kind == .restore {
            faults.append(Fault(at: random.between(10...max(at, 20)), .snapshot, node: node))
        }
        // Faults often coincide: adds a second fault within 120 ms.
        guard random.chance(percent: 25) else { return }
        let second = random.pick(Plan.lots)
        guard second != .restore else { return }
        let victim = random.chance(percent: 50) ? node : random.below(nodes)
        faults.append(
            Fault(
                at: at + random.between(0...120), second, node: victim,
                other: (victim + 1 + random.below(nodes - 1)) % nodes,
                amount: Plan.amount(second, &random)))
    }

    /// The kinds of fault to draw from; a kind is as likely as it is frequent in the list.
    private static let lots: [Fault.Kind] = [
        .crash, .crash, .crash, .crash, .crash, .crashAll, .wipe, .wipe, .snapshot, .restore,
        .restore, .clone, .pause, .cut, .cut, .cut, .cut, .cutOneWay, .isolate, .isolate, .reset,
        .reset, .slow, .slow, .narrow, .narrow, .clockJump, .clockJump, .clockFreeze, .clockZero,
        .clockFuture, .diskFull, .diskFull, .diskSlow, .diskSlow, .flip, .leave, .leave, .leave,
        .evict, .evict, .evict,
    ]

    private static func amount(_ kind: Fault.Kind, _ random: inout SeededRandom) -> Int {
        switch kind {
        case .crash, .crashAll, .wipe, .restore, .clone: Int(random.between(5...1_500))
        case .clockJump: Int(random.between(0...7_200_000)) - 3_600_000
        case .pause: Int(random.between(100...7_000))
        case .snapshot, .reset, .clockZero, .clockFuture, .flip, .flipIndex, .join: 0
        case .leave, .evict: Int(random.between(50...4_000))
        case .diskFull: Int(random.between(1...400))
        case .cut, .cutOneWay, .isolate, .slow, .narrow, .clockFreeze, .diskSlow:
            Int(random.between(50...3_000))
        }
    }
}

/// The text format of a saved plan: one line per field and per fault.
extension Plan {
    package static let title = "grapevine-plan 1"

    package var text: String {
        let head = [
            Plan.title, "seed \(seed)", "nodes \(nodes)", "shards \(shards)",
            "replicas \(replicas)",
            "chaos \(chaosMilliseconds)",
        ]
        let lines = faults.map {
            "fault \($0.at) \($0.kind.rawValue) \($0.node) \($0.other) \($0.amount)"
        }
        return (head + lines).joined(separator: "\n") + "\n"
    }

    /// The error of parsing a plan: the line that is not understood.
    package struct Unreadable: Error, Hashable, Sendable {
        package let line: String
    }

    package init(parsing text: String) throws(Unreadable) {
        var numbers: [String: UInt64] = [:]
        var faults: [Fault] = []
        for line in text.split(separator: "\n") where line != Plan.title {
            let words = line.split(separator: " ")
            if words.first == "fault", let fault = Fault(words: words.dropFirst()) {
                faults.append(fault)
            } else if words.count == 2, let number = UInt64(words[1]) {
                numbers[String(words[0])] = number
            } else {
                throw Unreadable(line: String(line))
            }
        }
        guard let seed = numbers["seed"], let nodes = numbers["nodes"],
            let shards = numbers["shards"], let chaos = numbers["chaos"],
            let replicas = numbers["replicas"],
            (2...9).contains(nodes), (1...9).contains(shards), replicas <= 9, chaos < 1 << 40,
            faults.allSatisfy({ $0.node < nodes && ($0.isFlip || $0.other < nodes) })
        else {
            throw Unreadable(line: "seed, nodes (2–9), shards (1–9), replicas (0–9), chaos; nodes")
        }
        self.seed = seed
        self.nodes = Int(nodes)
        self.shards = Int(shards)
        self.replicas = Int(replicas)
        chaosMilliseconds = chaos
        self.faults = faults.sorted { $0.at < $1.at }
    }
}

extension Fault {
    /// Parses `AT KIND NODE OTHER AMOUNT`; nil for anything else.
    init?(words: ArraySlice<Substring>) {
        let words = Array(words)
        guard words.count == 5, let at = UInt64(words[0]),
            let kind = Kind(rawValue: String(words[1])),
            let node = Int(words[2]), let other = Int(words[3]), let amount = Int(words[4]),
            node >= 0, other >= 0, abs(amount) < 1 << 40, at < 1 << 40
        else { return nil }
        self.init(at: at, kind, node: node, other: other, amount: amount)
    }
}
