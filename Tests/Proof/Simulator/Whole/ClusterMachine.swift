import Chat
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
    /// The addresses that its next process dials to join the cluster.
    var join: [String]
    var process: ClusterProcess?
    /// The time until which the process is stopped, as by `SIGSTOP`, in microseconds.
    var pausedUntil: UInt64 = 0
    /// The time for which the machine was suspended since the run began, in microseconds; a
    /// suspension counts in full from its beginning.
    private(set) var suspendedMicroseconds: UInt64 = 0
    /// The end of the last suspension, in microseconds.
    private var suspendedUntil: UInt64 = 0
    /// Whether it is no member at the moment; nothing starts it before it is one again.
    var isOut = false
    /// Whether it never returns.
    var isGone = false
    /// Whether it was requested to leave.
    var isLeaving = false
    /// Whether a start is scheduled, while no process runs.
    var isStartDue = false
    /// The number of active faults that fill the disk.
    var fullBy = 0
    /// The time at which such a fault last began or ended, in microseconds.
    var fullChangedAt: UInt64 = 0
    /// The number of active faults that make every commit take up to half a second.
    var isSlow = 0
    /// The time at which a fault last kept it from others, or will end, in microseconds.
    var disturbedAt: UInt64?
    /// The bytes of every document on its disk.
    var documents: [DocumentKey: [UInt8]] {
        executor.run { disk.assumeIsolated { $0.documents } }
    }
    /// The same without those that a commit under way drops.
    var documentsKept: [DocumentKey: [UInt8]] {
        executor.run { disk.assumeIsolated { $0.documentsKept } }
    }
    private let wallOffsetMilliseconds: UInt64
    /// Whether its processes log at debug level.
    private let isTraced: Bool
    /// The error of the wall clock, in milliseconds.
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

    func holds(_ key: DocumentKey) -> Bool {
        executor.run { disk.assumeIsolated { $0.holds(key) } }
    }

    func hasReplica(of shard: ShardID) -> Bool {
        executor.run { disk.assumeIsolated { $0.headers[shard] != nil } }
    }

    /// Stops the process and the monotonic clock for a time.
    func suspend(for microseconds: UInt64, now: UInt64) {
        suspendedUntil = now + microseconds
        suspendedMicroseconds += microseconds
        pausedUntil = suspendedUntil
    }

    /// Ends a pause or a suspension before its time, as a restart of the machine does.
    func wake(now: UInt64) {
        pausedUntil = 0
        guard suspendedUntil > now else { return }
        suspendedMicroseconds -= suspendedUntil - now
        suspendedUntil = now
    }

    /// Returns the time that its wall clock shows, in milliseconds since 1970.
    func wallMilliseconds(at now: UInt64) -> UInt64 {
        UInt64(clamping: Int64(wallOffsetMilliseconds + now / 1_000) + wallErrorMilliseconds)
    }

    static func name(of index: Int) -> String { "n\(index + 1)" }

    static func address(of index: Int) -> String { "\(name(of: index)):7101" }

    /// Creates a process, as `Server` does.
    ///
    /// - Parameter id: unique within the run.
    func boot(_ id: Int, by plan: ClusterPlan, now: UInt64, random: inout SeededRandom)
        -> ClusterProcess
    {
        let host = ClusterHost(
            on: executor, wallOffsetMilliseconds: wallOffsetMilliseconds,
            lookMicroseconds: plan.lookMicroseconds, isDebugging: isTraced)
        let entropy = SimEntropy(seed: random.next())
        let behind = suspendedMicroseconds
        let process = executor.run {
            host.assumeIsolated { [wallErrorMilliseconds] in
                $0.setNow(now, behind: behind)
                $0.setWallError(wallErrorMilliseconds)
            }
            disk.assumeIsolated { $0.serve(host) }
            let node = makeNode(by: plan, host: host, entropy: entropy)
            let process = ClusterProcess(id, node: node, host: host)
            if plan.pushedDevices > 0 {
                let pusher = ClusterPusher(of: node, host: host, on: executor)
                pusher.assumeIsolated { $0.start() }
                process.pusher = pusher
            }
            return process
        }
        self.process = process
        return process
    }

    private func makeNode(by plan: ClusterPlan, host: ClusterHost, entropy: SimEntropy) -> Node {
        Node(
            NodeOptions(
                name: NodeName(checked: name), gossip: address, admin: "\(name):7201", join: join,
                cluster: nil, shards: UInt16(plan.shards), replicas: plan.replicas,
                ackLevel: .majority, editWindowMilliseconds: 900_000,
                evictAfterMilliseconds: plan.evictAfterMilliseconds, mayBlock: true,
                peerLimits: plan.peerLimits,
                restRangesMax: VectorBase.restRangesMaxOfSimulation, earlierMessagesMax: 2,
                causePatienceMilliseconds: plan.causePatienceMilliseconds,
                unsentMilliseconds: ClusterPlan.unsentMilliseconds,
                tokenBytesMax: plan.tokenBytesMax),
            ports: NodePorts(
                executor: executor, store: disk, entropy: entropy, clock: host, host: host))
    }

    /// Creates a session for a client that connected.
    func makeSession(_ id: UInt64, in process: ClusterProcess, seed: UInt64) -> Session {
        let session = Session(
            id, node: process.node, clock: process.host,
            output: ClusterOutput(id, host: process.host), executor: executor, ackLevel: .majority)
        let sink = ClusterSink(session, id, seed: seed)
        process.node.assumeIsolated { $0.attach(sink, as: id) }
        if process.isHoldingClients { session.assumeIsolated { $0.setHeld(true) } }
        return session
    }
}

/// A running node.
final class ClusterProcess {
    let id: Int
    let node: Node
    let host: ClusterHost
    /// Nil where no device is told by pushes.
    var pusher: ClusterPusher?
    var isTurnDue = false
    var isWriting = false
    var isReady = false
    var isHoldingClients = false
    var isToldToStop = false
    /// Per shard, the time since which it was ready at every step, in microseconds.
    var readySince: [ShardID: UInt64] = [:]
    /// The time of its last replay, in microseconds: it read missed events from disk, or one of its
    /// watchers lacked some.
    var readBackAt: UInt64?
    /// The number of its broken pulls, and the time at which it was last seen to grow, in
    /// microseconds.
    var pullsBroken: UInt64 = 0
    var pullBrokenAt: UInt64?
    /// The time at which a stopping process is killed, in microseconds.
    var stopBy: UInt64?

    /// The limit of the time for an orderly end, in microseconds.
    static let stopMicroseconds: UInt64 = 3_000_000

    init(_ id: Int, node: Node, host: ClusterHost) {
        self.id = id
        self.node = node
        self.host = host
    }
}

/// The name of one process: an event for a process that is gone has no effect.
struct ClusterAddress: Hashable {
    let machine: Int
    let process: Int
}
