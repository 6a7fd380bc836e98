import Node
import Placement
import Replication

/// A fault of whole nodes at a given moment, with its duration.
struct ClusterFault {
    enum Kind: String, CaseIterable {
        /// `kill -9`; the node starts again after `milliseconds`.
        case kill
        /// `kill -9` of every node at once.
        case killAll = "kill-all"
        /// The process is killed and its folder emptied; the node joins again under the same name.
        case wipe
        /// The process receives `SHUTDOWN`, and starts again.
        case stop
        /// `SIGSTOP`.
        case pause
        /// The machine is suspended: its monotonic clock stops.
        case suspend
        /// Nothing travels between `node` and `other`.
        case cut
        /// Nothing travels from `node` to `other`; the other direction works.
        case cutOneWay = "cut-one-way"
        /// The node is cut off from all others.
        case isolate
        /// The connections between the two nodes break; all bytes in flight are lost.
        case reset
        /// Commits fail.
        case diskFull = "disk-full"
        /// Commits take up to half a second.
        case diskSlow = "disk-slow"
        /// `node` receives `BLOCK` for `other`: it drops what comes from there, what goes there, or
        /// both.
        case block
        case blockIn = "block-in"
        case blockOut = "block-out"
        /// The wall clock of `node` is ten years ahead, or behind if `other` is odd.
        case wrongClock = "wrong-clock"
    }

    let at: UInt64
    let kind: Kind
    let node: Int
    let other: Int
    /// The duration of the fault.
    let milliseconds: UInt64

    var isBlock: Bool { [.block, .blockIn, .blockOut].contains(kind) }
}

/// The inputs that decide a run of whole nodes.
struct ClusterPlan {
    let seed: UInt64
    let nodes: Int
    let shards: Int
    /// The number of owners of each shard.
    let replicas: Replicas
    let clients: Int
    /// The number of watchers.
    let watchers: Int
    /// The number of devices that fetch notifications.
    let phones: Int
    /// The number of devices that are told of notifications by pushes.
    let pushedDevices: Int
    /// The duration of faults and client load, in milliseconds after the cluster has formed.
    let chaosMilliseconds: UInt64
    let faults: [ClusterFault]
    let moves: [ClusterMove]
    /// The time after which a dead member is evicted.
    let evictAfterMilliseconds: UInt64
    /// Whether one node is cut off for longer than the eviction time, which must not change its
    /// answers.
    let cutsMinority: Bool
    /// Whether a node is killed in the end whose clients carry its tokens to the others.
    let losesCarrier: Bool
    /// The limits of the queues to one peer.
    let peerLimits: PeerLimits
    /// Whether clients pin messages and set read marks.
    let setsMarks: Bool
    /// Whether clients set profiles.
    let setsProfiles: Bool
    /// Whether clients read lists over all shards.
    let readsLists: Bool
    /// Whether a user blocks another; a stream of its own, and never in seeds that were kept before
    /// there were blocks, whose runs would change.
    let blocksUsers: Bool
    /// Whether the clients' users have accounts.
    let hasAccounts: Bool
    /// Whether clients upload files, and send messages with them.
    let sendsFiles: Bool
    /// The length of the padding of message texts, in bytes; nil for short texts.
    let textBytes: Int?
    /// The time for which a node holds an event back whose cause is missing.
    let causePatienceMilliseconds: UInt64
    /// Whether watchers disconnect often and return quickly.
    let isRestless: Bool
    /// How long each look at the fine clock takes, in microseconds; if it takes any time, the work
    /// of a turn is cut into slices.
    let lookMicroseconds: UInt64

    /// The greatest length of a token, in bytes.
    let tokenBytesMax: Int

    /// Whether a node's wall clock is wrong for a while.
    var hasWrongClock: Bool { faults.contains { $0.kind == .wrongClock } }

    /// The lengths of tokens, in bytes: all that was seen fits, some of it is named, or all of it.
    private static let tokenBytes = [2_048, 2_048, 2_048, 104, 72]

    private static func blocksUsers(_ seed: UInt64) -> Bool {
        var random = SeededRandom(seed: seed, stream: 140)
        return random.chance(percent: 40) && !KeptSeeds.wholeBeforeBlocks.contains(seed)
    }

    /// The number of clients that number their writes; as with blocks.
    var numberingClients: Int {
        var random = SeededRandom(seed: seed, stream: 142)
        let isKept = KeptSeeds.wholeBeforeNumbering.contains(seed)
        return random.chance(percent: 40) && !isKept ? 1 + random.below(2) : 0
    }

    /// How long a file may be unsent.
    static let unsentMilliseconds: UInt64 = 2_000

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
        var listRandom = SeededRandom(seed: seed, stream: 130)
        readsLists = listRandom.chance(percent: 50)
        hasAccounts = listRandom.chance(percent: 50)
        blocksUsers = ClusterPlan.blocksUsers(seed)
        var lookRandom = SeededRandom(seed: seed, stream: 132)
        lookMicroseconds = lookRandom.pick([0, 0, 700, 2_500])
        var tokenRandom = SeededRandom(seed: seed, stream: 133)
        tokenBytesMax = tokenRandom.pick(ClusterPlan.tokenBytes)
        var fileRandom = SeededRandom(seed: seed, stream: 124)
        sendsFiles = fileRandom.chance(percent: 40)
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
        var carrierRandom = SeededRandom(seed: seed, stream: 128)
        // A majority of the owners is left, and stays the same.
        losesCarrier =
            nodes >= 3 && replicas != .count(2) && moves.isEmpty && minority == nil
            && carrierRandom.chance(percent: 60)
        var clockRandom = SeededRandom(seed: seed, stream: 116)
        // Notifications and read marks depend on timestamps; their checks assume clocks that are
        // right.
        if phones == 0, !setsMarks, clockRandom.chance(percent: 50) {
            faults.append(ClusterPlan.fault(nodes, chaos, of: [.wrongClock], &clockRandom))
        }
        var pushRandom = SeededRandom(seed: seed, stream: 126)
        let hasRightClocks = !faults.contains { $0.kind == .wrongClock }
        // Who fetches notifications acknowledges them by itself.
        pushedDevices = phones == 0 && hasRightClocks ? pushRandom.pick([0, 1, 2, 3]) : 0
        var limitRandom = SeededRandom(seed: seed, stream: 107)
        let isTight = limitRandom.chance(percent: 25)
        if isTight, nodes > 1 { faults.append(ClusterPlan.longCut(nodes, chaos, &limitRandom)) }
        peerLimits =
            isTight ? ClusterPlan.tight : seed % 2 == 0 ? ClusterPlan.shortLists : .standard
        textBytes = isTight ? 8_000 : nil
        self.faults = faults.sorted { $0.at < $1.at }
        chaosMilliseconds =
            chaos + (minority?.fault.milliseconds ?? 0) + (isTight ? 3_000 : 0)
            + (moves.isEmpty ? 0 : moveRandom.between(1_000...6_000))
    }

    /// Draws a cut behind which queues fill, too short for a connection to be given up.
    private static func longCut(_ nodes: Int, _ chaos: UInt64, _ random: inout SeededRandom)
        -> ClusterFault
    {
        let node = random.below(nodes)
        return ClusterFault(
            at: random.between(20...chaos), kind: random.pick([.cut, .cutOneWay]), node: node,
            other: (node + 1 + random.below(nodes - 1)) % nodes, milliseconds: 5_000)
    }

    /// The time until a cut-off node is considered dead, in milliseconds: silence of 6 s.
    private static let deathMilliseconds: UInt64 = 6_500

    /// Draws a node that is cut off for longer than the eviction time.
    ///
    /// Uses a random stream of its own, so that these draws change nothing else of a seed's plan.
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

    /// Limits so low that the load of a few clients reaches them behind a cut; no single response
    /// exceeds them.
    private static let tight = PeerLimits(
        queueBytesMax: 8 << 10, queueBytesShort: 4 << 10, controlBytesMax: 4 << 10,
        answerBytesMax: 1_536 << 10, vectorBytesMax: 64, listBytesMax: 256)

    /// Limits under which most lists count as large.
    private static let shortLists = PeerLimits(
        queueBytesMax: 8 << 20, queueBytesShort: 512 << 10, controlBytesMax: 1 << 20,
        answerBytesMax: 32 << 20, vectorBytesMax: 1 << 20, listBytesMax: 64)

    /// The numbers of replicas to draw from; each is as likely as it is frequent in the list.
    private static let replicasDrawn: [Replicas] = [.all, .count(2), .count(3)]

    /// Draws whether watchers reconnect often, and how long nodes wait for the cause of an event.
    ///
    /// With the product's patience, a watcher rarely reconnects while some causes are awaited and
    /// others were given up. Uses a random stream of its own, so that these draws change nothing
    /// else of a seed's plan.
    private static func restlessness(_ seed: UInt64) -> (Bool, causeMilliseconds: UInt64) {
        var random = SeededRandom(seed: seed, stream: 124)
        guard random.chance(percent: 25) else { return (false, Causes.patienceMillisecondsDefault) }
        return (true, random.pick([5, 20, 60, 200]))
    }

    /// Uses a random stream of its own, so that these draws change nothing else of a seed's plan.
    private static func replicas(_ seed: UInt64) -> Replicas {
        var random = SeededRandom(seed: seed, stream: 106)
        return random.pick(replicasDrawn)
    }

    /// Uses a random stream of its own, too.
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

    /// The kinds of fault to draw from; a kind is as likely as it is frequent in the list.
    private static let lots: [ClusterFault.Kind] = [
        .kill, .kill, .kill, .killAll, .wipe, .wipe, .stop, .pause, .cut, .cut, .cutOneWay,
        .isolate, .reset, .diskFull, .diskFull, .diskSlow,
    ]
    private static let lotsAlone: [ClusterFault.Kind] = [
        .kill, .kill, .stop, .pause, .diskFull, .diskSlow,
    ]
    private static let lotsOfOperators: [ClusterFault.Kind] = [.block, .blockIn, .blockOut]
}
