import CRDT
import Chat
import Node
import Replication
import Wire

/// One simulated machine: a disk and clocks that outlive processes, and at most one process.
final class SimNode {
    let index: Int
    let name: NodeName
    let disk: SimDisk
    var shell: Shell?
    /// The number of processes that have started here.
    var starts = 0
    /// Whether the process ends once the node holds no shard replica.
    var isLeaving = false
    /// The time until which the process is stopped, as by `SIGSTOP`, in microseconds.
    var pausedUntil: UInt64 = 0
    var wall = SimWall()
    /// The time at which data on its disk was last destroyed, in microseconds.
    var destroyedAt: UInt64 = 0
    /// The time at which its disk last dropped a shard replica after a handover, in microseconds.
    var droppedAt: UInt64 = 0
    /// The members as this node knows them: per node, how often it joined or left; an even number
    /// means that it is a member.
    var view: [Int]
    /// Per shard, the changes that this process must hold before it serves: those that all other
    /// complete replicas held when it started.
    var minimums: [Vector]
    /// Per shard, the time from which on the minimum holds, in milliseconds.
    var minimumsSince: [UInt64]
    /// The deletions that this node has shown or acknowledged.
    var deletions = Deletions()

    init(_ index: Int, disk: SimDisk, shards: Int, ring: [Int]) {
        self.index = index
        self.disk = disk
        name = NodeName(checked: "n\(index + 1)")
        minimums = Array(repeating: Vector(), count: shards)
        minimumsSince = Array(repeating: 0, count: shards)
        view = ring
    }
}

extension SimNode {
    /// Sets what the process must hold of a shard that it begins to catch up on.
    func begin(_ shard: Int, with minimum: Vector, at milliseconds: UInt64) {
        minimums[shard] = minimum
        minimumsSince[shard] = milliseconds
    }
}

/// A wall clock that faults can set, freeze and move.
struct SimWall {
    /// Milliseconds since 1970 at the beginning of every run.
    static let start: Int64 = 1_790_000_000_000

    private var offset: Int64 = start
    private var frozen: Int64?
    /// The earliest time since `takeEarliest` that the node was given, or that a change of the
    /// clock replaced or set; nil if there was neither.
    private var earliest: UInt64?
    /// Whether the node's clock has forgotten the times that it had seen, since `takeEarliest`.
    var hasForgotten = false

    /// - Parameter now: microseconds since the run began.
    func milliseconds(now: UInt64) -> UInt64 { UInt64(max(0, frozen ?? running(now))) }

    /// Notes that the node is given the time, by which it judges what it takes in.
    mutating func noteGiven(now: UInt64) {
        earliest = min(earliest ?? .max, milliseconds(now: now))
    }

    /// - Returns: the earliest time that the node may have judged by since the last call; nil if
    ///   the node has forgotten since then what it had seen.
    mutating func takeEarliest(now: UInt64) -> WallTime? {
        defer { (earliest, hasForgotten) = (nil, false) }
        guard !hasForgotten else { return nil }
        return WallTime(milliseconds: min(earliest ?? .max, milliseconds(now: now)))
    }

    mutating func jump(by milliseconds: Int64, now: UInt64) {
        change(now) { $0.offset += milliseconds }
    }

    mutating func set(to milliseconds: Int64, now: UInt64) {
        change(now) { $0.offset += milliseconds - $0.running(now) }
    }

    mutating func freeze(now: UInt64) { frozen = max(0, running(now)) }

    mutating func thaw(now: UInt64) { change(now) { $0.frozen = nil } }

    private mutating func change(_ now: UInt64, _ body: (inout SimWall) -> Void) {
        let before = min(earliest ?? .max, milliseconds(now: now))
        body(&self)
        earliest = min(before, milliseconds(now: now))
    }

    private func running(_ now: UInt64) -> Int64 { offset + Int64(now / 1_000) }
}

/// The deletions that a node has shown; the deleted content must never show again.
struct Deletions {
    struct Hide {
        let user: UserID
        let dot: Dot
        let number: Int
    }

    /// The number of deletions; a reply is judged by those that were known when it was made.
    private(set) var count = 0
    /// By message and sender: what others sent under the same id is another message.
    private var retracted: [DocumentKey: [UserID: Int]] = [:]
    private(set) var hides: [DocumentKey: [Hide]] = [:]

    /// Removes the deletions of a dropped replica: they bind the owners, whose disks may be
    /// destroyed.
    mutating func removeDocuments(where isGone: (DocumentKey) -> Bool) {
        retracted = retracted.filter { !isGone($0.key) }
        hides = hides.filter { !isGone($0.key) }
    }

    mutating func noteRetracted(_ key: DocumentKey, from sender: UserID) {
        guard retracted[key]?[sender] == nil else { return }
        count += 1
        retracted[key, default: [:]][sender] = count
    }

    /// Whether a message was seen deleted for everyone among the first so many deletions.
    func isRetracted(_ key: DocumentKey, from sender: UserID?, among known: Int) -> Bool {
        sender.flatMap { retracted[key]?[$0] }.map { $0 <= known } ?? false
    }

    mutating func noteHidden(_ key: DocumentKey, from user: UserID, by dot: Dot) {
        guard hides[key]?.contains(where: { $0.dot == dot }) != true else { return }
        count += 1
        hides[key, default: []].append(Hide(user: user, dot: dot, number: count))
    }
}

/// One process: the shard machines, and the minimum that a node does around them.
final class Shell {
    struct Address: Hashable {
        let node: Int
        /// The number of the process on its node.
        let start: Int
    }

    let address: Address
    let entropy: SimEntropy
    let startedAt: UInt64
    /// One machine per shard; those of shards without a replica here are unused.
    var machines: [ShardMachine]
    var isHeld: [Bool]
    /// The shards with a replica here, ascending.
    var held: [Int] { machines.indices.filter { isHeld[$0] } }
    /// Per shard, the ticket of the commit that drops its replica; nil if none does.
    var drops: [UInt64?]
    /// The number of shard replicas that this process has dropped.
    var copiesDropped: UInt64 = 0
    /// By the peer's index, the state of the peer connection; nil if it is down.
    var links: [PeerSync?]
    /// By the peer's index, the connection's index in the world; nil if it is down.
    var connections: [Int?]
    var queues: [SendQueue]
    /// By the peer's index and the shard, the peer's last report on the connection.
    var reports: [[Int: Report]]
    /// By the peer's index, the shards whose handover it has accepted on the connection.
    var accepted: [Set<Int>]
    /// By the peer's index, the time of the next dial, in microseconds.
    var dialAt: [UInt64]
    var ticket: UInt64 = 0
    var isTurnDue = false
    /// The time since which no connection is up, in microseconds.
    var aloneSince: UInt64
    var wasAlone = false
    /// The time of the disk's last report; reports keep their order.
    var reportedAt: UInt64 = 0
    /// Per shard, the repair of its bad documents; until every repair is done, no frame is accepted
    /// and no connection stays open.
    var repairs: [Repair?]
    /// The last ticket whose failure was handled; reports up to it are ignored.
    var failedThrough: UInt64 = 0
    /// The source of identities and times for the operations of lines that this process reads.
    var operations: OperationSource

    init(_ address: Address, machines: [ShardMachine], nodes: Int, seed: UInt64, now: UInt64) {
        self.address = address
        self.machines = machines
        isHeld = machines.map { $0.replica.ownership.isOwnedHere || $0.replica.stored.isAnything }
        drops = machines.map { _ in nil }
        entropy = SimEntropy(seed: seed)
        startedAt = now
        aloneSince = now
        links = Array(repeating: nil, count: nodes)
        connections = Array(repeating: nil, count: nodes)
        queues = Array(repeating: SendQueue(), count: nodes)
        reports = Array(repeating: [:], count: nodes)
        accepted = Array(repeating: [], count: nodes)
        dialAt = Array(repeating: now, count: nodes)
        repairs = Array(repeating: nil, count: machines.count)
        operations = OperationSource(
            process: ProcessID(high: UInt64(address.node), low: UInt64(address.start)))
    }

    /// What a peer reported that it holds of a shard, and when it was asked, in milliseconds.
    struct Report {
        let askedAt: UInt64
        let vector: Vector
    }

    /// A shard whose bad documents are being removed.
    struct Repair {
        var bad: [DocumentKey]
        /// The header after the removal; nil before the removal is handed to the disk.
        var header: ReplicaHeader?
        var ticket: UInt64 = 0
    }

    var isUnwell: Bool { repairs.contains { $0 != nil } }

    /// Returns the hashes of the shards that this node and `peer` own, as this node knows them.
    func hashes(sharedWith peer: NodeName) -> [Frame.ShardHash] {
        machines.lazy.filter { $0.replica.isShared(with: peer) }
            .map(\.replica.shardHash)
    }

    /// The shards that the node owns but may not serve yet.
    var unready: [ShardID] {
        machines.lazy.map(\.replica).filter { $0.ownership.isOwnedHere && !$0.isReady }.map(\.shard)
    }

    var isAlone: Bool { connections.allSatisfy { $0 == nil } }
}

/// A bounded queue of frames to one peer; when it is full, it drops the next frame and records the
/// shard.
struct SendQueue {
    /// The limit of frames in the queue.
    static let framesMax = 6
    /// The number of frames below which the next batch of a pull is read.
    static let servingMax = 2

    var frames: [[UInt8]] = []
    /// The shards of frames that were dropped, ascending.
    var dropped: [Int] = []
    /// Whether a frame about no particular shard was dropped.
    var hasDroppedComparison = false

    mutating func drop(_ shard: ShardID?) {
        guard let shard else {
            hasDroppedComparison = true
            return
        }
        let number = Int(shard.number)
        if !dropped.contains(number) {
            dropped.append(number)
            dropped.sort()
        }
    }
}

extension ReplicaHeader {
    /// Whether a disk with this header holds a replica.
    var isAnything: Bool { isComplete || documents > 0 || !vector.isEmpty }
}
