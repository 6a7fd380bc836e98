import Node
import Placement
import Replication

/// Something that goes wrong with a whole node, and for how long.
struct ClusterFault {
    enum Kind: String, CaseIterable {
        /// `kill -9`, started again after a while.
        case kill
        /// `kill -9` of every node at once.
        case killAll = "kill-all"
        /// Killed, and its folder emptied: it joins again under the same name.
        case wipe
        /// Told to stop by `SHUTDOWN`, and started again.
        case stop
        /// `SIGSTOP`.
        case pause
        /// The machine is suspended: its monotonic clock stands still.
        case suspend
        /// Nothing travels between `node` and `other`.
        case cut
        /// Nothing travels from `node` to `other`; the other way works.
        case cutOneWay = "cut-one-way"
        /// Cut from everybody.
        case isolate
        /// The connections between the two break, with all that is in flight.
        case reset
        /// Commits fail.
        case diskFull = "disk-full"
        /// Commits take up to half a second.
        case diskSlow = "disk-slow"
        /// `node` is asked to drop what comes from `other`, what goes there, or both.
        case block
        case blockIn = "block-in"
        case blockOut = "block-out"
        /// The wall clock of `node` is years ahead, or behind where `other` is odd.
        case wrongClock = "wrong-clock"
    }

    let at: UInt64
    let kind: Kind
    let node: Int
    let other: Int
    /// How long it lasts.
    let milliseconds: UInt64

    var isBlock: Bool { [.block, .blockIn, .blockOut].contains(kind) }
}

/// All that decides a run of whole nodes.
struct ClusterPlan {
    let seed: UInt64
    let nodes: Int
    let shards: Int
    /// How many members own each shard.
    let replicas: Replicas
    let clients: Int
    /// How many of their users' events are watched.
    let watchers: Int
    /// How many devices are notified.
    let phones: Int
    /// How long faults and clients go on, in milliseconds after the cluster has formed.
    let chaosMilliseconds: UInt64
    let faults: [ClusterFault]
    let moves: [ClusterMove]
    /// How long a dead member keeps its shards.
    let evictAfterMilliseconds: UInt64
    /// Whether one node is cut off for longer than that, which is to change nothing that it says.
    let cutsMinority: Bool
    /// How much may wait for one other node.
    let peerLimits: PeerLimits
    /// Whether clients pin messages, and say how far they have read.
    let setsMarks: Bool
    /// Whether clients set profiles.
    let setsProfiles: Bool
    /// How long the texts are that are sent, in bytes; nil for short ones.
    let textBytes: Int?
    /// How long who watches waits for what an event may answer.
    let causePatienceMilliseconds: UInt64
    /// Whether those who watch hardly stay, and hardly stay away.
    let isRestless: Bool

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed, stream: 101)
        self.seed = seed
        let nodes = random.pick([1, 2, 3, 3, 3, 3, 4, 5])
        self.nodes = nodes
        shards = random.pick([1, 1, 2, 4])
        replicas = ClusterPlan.replicas(seed)
        clients = random.pick([1, 2, 3, 4])
        (watchers, phones) = ClusterPlan.listeners(seed)
        var markRandom = SeededRandom(seed: seed, stream: 113)
        setsMarks = markRandom.chance(percent: 50)
        var profileRandom = SeededRandom(seed: seed, stream: 122)
        setsProfiles = profileRandom.chance(percent: 50)
        (isRestless, causePatienceMilliseconds) = ClusterPlan.restlessness(seed)
        let chaos = random.between(1_000...5_000)
        let count = random.chance(percent: 10) ? 0 : 1 + random.below(9)
        let lots = nodes > 1 ? ClusterPlan.lots : ClusterPlan.lotsAlone
        var faults = (0..<count).map { _ in ClusterPlan.fault(nodes, chaos, of: lots, &random) }
        var moveRandom = SeededRandom(seed: seed, stream: 108)
        if nodes > 1, moveRandom.chance(percent: 30) {
            faults += (0..<1 + moveRandom.below(3)).map { _ in
                ClusterPlan.fault(nodes, chaos, of: ClusterPlan.lotsOfOperators, &moveRandom)
            }
        }
        var suspendRandom = SeededRandom(seed: seed, stream: 121)
        if nodes > 1, suspendRandom.chance(percent: 20) {
            faults.append(ClusterPlan.fault(nodes, chaos, of: [.suspend], &suspendRandom))
        }
        let (moves, evictAfter) = ClusterPlan.moves(nodes, chaos, &moveRandom)
        self.moves = moves
        let minority = moves.isEmpty ? ClusterPlan.minority(seed, nodes, chaos) : nil
        cutsMinority = minority != nil
        evictAfterMilliseconds = minority?.evictAfter ?? evictAfter
        if let minority { faults.append(minority.fault) }
        var clockRandom = SeededRandom(seed: seed, stream: 116)
        // What devices are notified of, and how far marks reach, goes by timestamps: the rules for
        // both count on clocks that are right.
        if phones == 0, !setsMarks, clockRandom.chance(percent: 50) {
            faults.append(ClusterPlan.fault(nodes, chaos, of: [.wrongClock], &clockRandom))
        }
        var limitRandom = SeededRandom(seed: seed, stream: 107)
        let isTight = limitRandom.chance(percent: 25)
        if isTight, nodes > 1 { faults.append(ClusterPlan.longCut(nodes, chaos, &limitRandom)) }
        peerLimits = isTight ? ClusterPlan.tight : .standard
        textBytes = isTight ? 8_000 : nil
        self.faults = faults.sorted { $0.at < $1.at }
        chaosMilliseconds =
            chaos + (minority?.fault.milliseconds ?? 0) + (isTight ? 3_000 : 0)
            + (moves.isEmpty ? 0 : moveRandom.between(1_000...6_000))
    }

    /// A cut behind which much comes to wait, and which no connection is given up for.
    private static func longCut(_ nodes: Int, _ chaos: UInt64, _ random: inout SeededRandom)
        -> ClusterFault
    {
        let node = random.below(nodes)
        return ClusterFault(
            at: random.between(20...chaos), kind: random.pick([.cut, .cutOneWay]), node: node,
            other: (node + 1 + random.below(nodes - 1)) % nodes, milliseconds: 5_000)
    }

    /// How long a cut takes to become a death, in milliseconds: silence kills in 6 s.
    private static let deathMilliseconds: UInt64 = 6_500

    /// A node that is cut off for longer than members take to be evicted; from dice of its own, so
    /// that what is drawn here changes nothing else of a seed's plan.
    private static func minority(
        _ seed: UInt64, _ nodes: Int, _ chaos: UInt64
    ) -> (fault: ClusterFault, evictAfter: UInt64)? {
        var random = SeededRandom(seed: seed, stream: 115)
        guard nodes > 2, random.chance(percent: 20) else { return nil }
        let evictAfter = random.between(800...3_000)
        let node = random.below(nodes)
        let fault = ClusterFault(
            at: random.between(20...chaos), kind: .isolate, node: node, other: node,
            milliseconds: deathMilliseconds + evictAfter + random.between(1_000...4_000))
        return (fault, evictAfter)
    }

    /// Limits that the load of a few clients meets behind a cut; no single answer is beyond them.
    private static let tight = PeerLimits(
        queueBytesMax: 8 << 10, queueBytesShort: 4 << 10, controlBytesMax: 4 << 10,
        answerBytesMax: 1_536 << 10, vectorBytesMax: 64)

    /// The numbers of copies that are drawn, each as often as it stands here.
    private static let replicasDrawn: [Replicas] = [.all, .count(2), .count(3)]

    /// Whether those who watch come and go while some causes are awaited and others were given up:
    /// that is rare where each is waited for as long as nodes do.
    ///
    /// From dice of its own, so that what is drawn here changes nothing else of a seed's plan.
    private static func restlessness(_ seed: UInt64) -> (Bool, causeMilliseconds: UInt64) {
        var random = SeededRandom(seed: seed, stream: 124)
        guard random.chance(percent: 25) else { return (false, Causes.patienceMillisecondsDefault) }
        return (true, random.pick([5, 20, 60, 200]))
    }

    /// From dice of its own, so that what is drawn here changes nothing else of a seed's plan.
    private static func replicas(_ seed: UInt64) -> Replicas {
        var random = SeededRandom(seed: seed, stream: 106)
        return random.pick(replicasDrawn)
    }

    /// From dice of its own, likewise.
    private static func listeners(_ seed: UInt64) -> (watchers: Int, phones: Int) {
        var random = SeededRandom(seed: seed, stream: 110)
        return (random.pick([0, 1, 1, 2, 3]), random.pick([0, 1, 1, 2]))
    }

    private static func fault(
        _ nodes: Int, _ chaos: UInt64, of lots: [ClusterFault.Kind], _ random: inout SeededRandom
    ) -> ClusterFault {
        let node = random.below(nodes)
        let other = nodes > 1 ? (node + 1 + random.below(nodes - 1)) % nodes : node
        let kind = random.pick(lots)
        let milliseconds =
            switch kind {
            case .kill, .killAll, .wipe, .stop: random.between(5...1_500)
            case .pause: random.between(50...3_000)
            case .suspend: random.between(600...6_000)
            case .cut, .cutOneWay, .isolate: random.between(50...4_000)
            case .reset: UInt64(0)
            case .diskFull: random.between(1...400)
            case .diskSlow: random.between(50...2_000)
            case .block, .blockIn, .blockOut, .wrongClock: random.between(50...4_000)
            }
        return ClusterFault(
            at: random.between(20...chaos), kind: kind, node: node, other: other,
            milliseconds: milliseconds)
    }

    /// How often each kind is drawn.
    private static let lots: [ClusterFault.Kind] = [
        .kill, .kill, .kill, .killAll, .wipe, .wipe, .stop, .pause, .cut, .cut, .cutOneWay,
        .isolate, .reset, .diskFull, .diskFull, .diskSlow,
    ]
    private static let lotsAlone: [ClusterFault.Kind] = [
        .kill, .kill, .stop, .pause, .diskFull, .diskSlow,
    ]
    private static let lotsOfOperators: [ClusterFault.Kind] = [.block, .blockIn, .blockOut]
}
