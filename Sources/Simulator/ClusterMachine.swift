import Node
import Replication
import Session
import Wire

/// One simulated machine: a disk and an address that outlive processes, and at most one process.
final class ClusterMachine {
    let index: Int
    let name: String
    let disk: ClusterDisk
    let executor = ClusterExecutor()
    /// Whom its next process asks for the cluster.
    var join: [String]
    var process: ClusterProcess?
    /// `SIGSTOP` until then, in microseconds.
    var pausedUntil: UInt64 = 0
    /// How long it was suspended since the run began.
    var suspendedMicroseconds: UInt64 = 0
    /// It is no member at the moment, and nothing starts it before it is one again.
    var isOut = false
    /// It never comes back.
    var isGone = false
    /// Asked to leave.
    var isLeaving = false
    /// When a start is due, while there is no process.
    var isStartDue = false
    /// How many faults have filled the disk.
    var fullBy = 0
    /// When one last filled it, or ended.
    var fullChangedAt: UInt64 = 0
    /// How many faults make every commit take up to half a second.
    var isSlow = 0
    /// When a fault last kept it from others or was to end, in microseconds.
    var disturbedAt: UInt64?
    private let wallOffsetMilliseconds: UInt64
    /// Whether its processes say what they hear.
    private let isTraced: Bool
    /// How far the wall clock is off, in milliseconds.
    var wallErrorMilliseconds: Int64 = 0

    /// Milliseconds since 1970 at the beginning of every run.
    static let wallStartMilliseconds: UInt64 = 1_790_000_000_000

    init(
        _ index: Int, shards: Int, join: [String], wallAheadMilliseconds: UInt64, isTraced: Bool
    ) {
        self.index = index
        self.isTraced = isTraced
        self.join = join
        name = ClusterMachine.name(of: index)
        disk = ClusterDisk(shards: shards, on: executor)
        wallOffsetMilliseconds = ClusterMachine.wallStartMilliseconds + wallAheadMilliseconds
    }

    var address: String { ClusterMachine.address(of: index) }

    /// What its wall clock says, in milliseconds since 1970.
    func wallMilliseconds(at now: UInt64) -> UInt64 {
        UInt64(clamping: Int64(wallOffsetMilliseconds + now / 1_000) + wallErrorMilliseconds)
    }

    static func name(of index: Int) -> String { "n\(index + 1)" }

    static func address(of index: Int) -> String { "\(name(of: index)):7101" }

    /// Puts a process together, as `Server` does.
    ///
    /// - Parameter id: no other process of the run has it.
    func boot(_ id: Int, by plan: ClusterPlan, now: UInt64, random: inout SeededRandom)
        -> ClusterProcess
    {
        let desk = ClusterDesk(
            on: executor, wallOffsetMilliseconds: wallOffsetMilliseconds, isDebugging: isTraced)
        let entropy = SimEntropy(seed: random.next())
        let behind = suspendedMicroseconds
        let process = executor.run {
            desk.assumeIsolated { [wallErrorMilliseconds] in
                $0.setNow(now, behind: behind)
                $0.setWallError(wallErrorMilliseconds)
            }
            disk.assumeIsolated { $0.serve(desk) }
            let node = makeNode(by: plan, desk: desk, entropy: entropy)
            return ClusterProcess(id, node: node, desk: desk)
        }
        self.process = process
        return process
    }

    private func makeNode(by plan: ClusterPlan, desk: ClusterDesk, entropy: SimEntropy) -> Node {
        Node(
            NodeOptions(
                name: NodeName(checked: name), gossip: address, admin: "\(name):7201", join: join,
                cluster: nil, shards: UInt16(plan.shards), replicas: plan.replicas,
                ackLevel: .majority, editWindowMilliseconds: 900_000,
                evictAfterMilliseconds: plan.evictAfterMilliseconds, mayBlock: true,
                peerLimits: plan.peerLimits,
                restRangesMax: VectorBase.restRangesMaxOfSimulation, earlierMessagesMax: 2,
                causePatienceMilliseconds: plan.causePatienceMilliseconds),
            ports: NodePorts(
                executor: executor, store: disk, entropy: entropy, clock: desk, host: desk))
    }

    /// A session for a client that connected.
    func makeSession(_ id: UInt64, in process: ClusterProcess) -> Session {
        let session = Session(
            id, node: process.node, clock: process.desk,
            output: ClusterOutput(id, desk: process.desk), executor: executor, ackLevel: .majority)
        process.node.assumeIsolated { $0.attach(session, as: id) }
        if process.isHoldingClients { session.assumeIsolated { $0.setHeld(true) } }
        return session
    }
}

/// A running node.
final class ClusterProcess {
    let id: Int
    let node: Node
    let desk: ClusterDesk
    var isTurnDue = false
    var isWriting = false
    var isReady = false
    var isHoldingClients = false
    var isToldToStop = false
    /// Since when each shard was ready at every tick, in microseconds.
    var readySince: [ShardID: UInt64] = [:]
    /// When it last read from its disk for who was away, or waited for who does; in microseconds.
    var readBackAt: UInt64?
    /// How many of its pulls broke, and when that was last seen to grow, in microseconds.
    var pullsBroken: UInt64 = 0
    var pullBrokenAt: UInt64?
    /// When it is cut short, once it was told to stop; in microseconds.
    var stopBy: UInt64?

    /// How long an orderly end may take, in microseconds.
    static let stopMicroseconds: UInt64 = 3_000_000

    init(_ id: Int, node: Node, desk: ClusterDesk) {
        self.id = id
        self.node = node
        self.desk = desk
    }
}

/// A process by name: what is meant for one that is gone reaches nobody.
struct ClusterAddress: Hashable {
    let machine: Int
    let process: Int
}
