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
    /// How many processes have started here.
    var starts = 0
    /// Whether it goes once it holds nothing.
    var isLeaving = false
    /// `SIGSTOP` until then, in microseconds.
    var pausedUntil: UInt64 = 0
    var wall = SimWall()
    /// When something on its disk was last destroyed, in microseconds.
    var destroyedAt: UInt64 = 0
    /// When its disk last dropped a copy that others had taken over, in microseconds.
    var droppedAt: UInt64 = 0
    /// Which members it takes to own shards, as far as it has heard: per member, how often that
    /// changed; even where it does.
    var view: [Int]
    /// What this start may not fall behind: per shard, what all the others held when it began.
    var minimums: [Vector]
    /// What it has shown as deleted, or acknowledged to be.
    var deletions = Deletions()

    init(_ index: Int, disk: SimDisk, shards: Int, ring: [Int]) {
        self.index = index
        self.disk = disk
        name = NodeName(checked: "n\(index + 1)")
        minimums = Array(repeating: Vector(), count: shards)
        view = ring
    }
}

/// A wall clock that somebody plays with.
struct SimWall {
    /// Milliseconds since 1970 at the beginning of every run.
    static let start: Int64 = 1_790_000_000_000

    private var offset: Int64 = start
    private var frozen: Int64?
    /// The earliest that was shown when it was last tampered with, since somebody asked.
    private var earliest: UInt64?
    /// The node's clock has forgotten what it had seen since somebody asked.
    var hasForgotten = false

    /// - Parameter now: microseconds since the run began.
    func milliseconds(now: UInt64) -> UInt64 { UInt64(max(0, frozen ?? running(now))) }

    /// - Returns: the earliest that was shown since it was last asked for, or is shown; nil where
    ///   the node has forgotten since what it had seen.
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

/// What a node has shown as deleted: never to be shown again.
struct Deletions {
    struct Hide {
        let user: UserID
        let dot: Dot
        let number: Int
    }

    /// Grows with each deletion, so that a reply is judged by what was known when it was made.
    private(set) var count = 0
    private(set) var retracted: [DocumentKey: Int] = [:]
    private(set) var hides: [DocumentKey: [Hide]] = [:]

    /// What was shown from a copy that is gone binds the owners, whose disks may be destroyed.
    mutating func forget(where isGone: (DocumentKey) -> Bool) {
        retracted = retracted.filter { !isGone($0.key) }
        hides = hides.filter { !isGone($0.key) }
    }

    mutating func noteRetracted(_ key: DocumentKey) {
        guard retracted[key] == nil else { return }
        count += 1
        retracted[key] = count
    }

    mutating func noteHidden(_ key: DocumentKey, from user: UserID, by dot: Dot) {
        guard hides[key]?.contains(where: { $0.dot == dot }) != true else { return }
        count += 1
        hides[key, default: []].append(Hide(user: user, dot: dot, number: count))
    }
}

/// One process: the shards as machines, and the little that a node does around them.
final class Shell {
    struct Address: Hashable {
        let node: Int
        /// Which of its processes.
        let start: Int
    }

    let address: Address
    let entropy: SimEntropy
    let startedAt: UInt64
    /// One for each shard; those that are not held here stand idle.
    var machines: [ShardMachine]
    var isHeld: [Bool]
    /// The shards that are held here, ascending.
    var held: [Int] { machines.indices.filter { isHeld[$0] } }
    /// The commits by which the disk drops copies.
    var drops: [UInt64?]
    /// How many copies it has dropped so far.
    var copiesDropped: UInt64 = 0
    /// By the peer's index: nil where no connection is up.
    var links: [PeerSync?]
    /// The connection of each link: its index in the world.
    var connections: [Int?]
    var queues: [SendQueue]
    /// When each peer is dialled next, in microseconds.
    var dialAt: [UInt64]
    var ticket: UInt64 = 0
    var isTurnDue = false
    /// Since when no link was up, in microseconds.
    var aloneSince: UInt64
    var wasAlone = false
    /// The last report of the disk, so that reports keep their order.
    var reportedAt: UInt64 = 0
    /// The shards in which bad documents were met: nothing is taken or given until they are set
    /// aside.
    var repairs: [Repair?]
    /// Up to which ticket a failure was handled.
    var failedThrough: UInt64 = 0
    /// The operations of the lines that it reads.
    var operations: OperationSource

    init(_ address: Address, machines: [ShardMachine], nodes: Int, seed: UInt64, now: UInt64) {
        self.address = address
        self.machines = machines
        isHeld = machines.map { $0.copy.ownership.isOwnedHere || $0.copy.stored.isAnything }
        drops = machines.map { _ in nil }
        entropy = SimEntropy(seed: seed)
        startedAt = now
        aloneSince = now
        links = Array(repeating: nil, count: nodes)
        connections = Array(repeating: nil, count: nodes)
        queues = Array(repeating: SendQueue(), count: nodes)
        dialAt = Array(repeating: now, count: nodes)
        repairs = Array(repeating: nil, count: machines.count)
        operations = OperationSource(
            process: ProcessID(high: UInt64(address.node), low: UInt64(address.start)))
    }

    /// A shard whose bad documents are being set aside.
    struct Repair {
        var bad: [DocumentKey]
        /// What it becomes once the disk has dropped them; nil before that is handed to the disk.
        var header: ReplicaHeader?
        var ticket: UInt64 = 0
    }

    var isUnwell: Bool { repairs.contains { $0 != nil } }

    /// The hash of each shard that this node and the other own, as this one sees it.
    func hashes(sharedWith peer: NodeName) -> [Frame.ShardHash] {
        machines.lazy.filter { $0.copy.isShared(with: peer) }
            .map(\.copy.shardHash)
    }

    /// The shards that it owns and may not show yet.
    var unready: [ShardID] {
        machines.lazy.map(\.copy).filter { $0.ownership.isOwnedHere && !$0.isReady }.map(\.shard)
    }

    var isAlone: Bool { connections.allSatisfy { $0 == nil } }
}

/// Frames that wait for room on a connection; full, it drops the next and remembers the shard.
struct SendQueue {
    /// The most frames that wait.
    static let framesMax = 6
    /// Below this many, the next batch of a pull is read.
    static let servingMax = 2

    var frames: [[UInt8]] = []
    /// The shards of frames that were dropped, ascending.
    var dropped: [Int] = []
    /// A frame about no shard was dropped.
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
    /// Whether a disk that says so holds a copy.
    var isAnything: Bool { isComplete || documents > 0 || !vector.isEmpty }
}
