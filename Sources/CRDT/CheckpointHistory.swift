import Wire

/// The name of a vector: 64 bits of a hash of its canonical bytes.
public struct CheckpointID: Hashable, Comparable, Sendable {
    public let bits: UInt64

    public init(bits: UInt64) { self.bits = bits }

    public init(of vector: Vector) { self.init(bits: checksum(vector.encoded)) }

    /// The 32 bits that a token spends on it.
    var short: UInt32 { UInt32(truncatingIfNeeded: bits) }

    /// How long a full history keeps it: half of all names have level 0, a quarter level 1, ….
    var level: Int { bits.leadingZeroBitCount }

    public static func < (left: Self, right: Self) -> Bool { left.bits < right.bits }
}

/// The checkpoints of one shard: vectors that an owner has named, so that a token can refer to all
/// of one by a hash, however many replicas it lists.
///
/// A checkpoint is a name and claims nothing: to know one does not mean to hold its changes.
/// Whoever needs that compares the vector with its own. So histories of two nodes may be united at
/// any time, and one that is lost costs tokens their precision and nothing else.
///
/// The history is bounded by `countMax`. The newest `recentMax` stay; of the older ones those with
/// the lowest level go first. The names being hashes, the ones that stay are ever sparser with age,
/// and all nodes keep the same ones.
public struct CheckpointHistory: Hashable, Sendable {
    struct Checkpoint: Hashable, Sendable {
        let id: CheckpointID
        /// How many changes the vector counts: the age, for vectors only grow.
        let size: UInt64
        /// The entries of the vector that are not in `common`.
        var changes: Vector
    }

    /// The entries that all the vectors share; no replica in it is in any `changes`.
    private(set) var common = Vector()
    /// Ascending by size, then id.
    private(set) var checkpoints: [Checkpoint] = []

    public static let countMax = 64
    static let recentMax = 32
    /// The most replica ids of a vector that is named: the process starts of five nodes in two
    /// years of daily restarts.
    static let replicasMax = 4_096
    /// The most replica ids by which a vector may differ from the others; one that differs by more
    /// replaces them all.
    static let changesMax = 256

    public init() {}

    public var isEmpty: Bool { checkpoints.isEmpty }

    public var newest: CheckpointID? { checkpoints.last?.id }

    public func contains(_ id: CheckpointID) -> Bool { checkpoints.contains { $0.id == id } }

    /// The vector of that name; nil where none or more than one has it.
    public func vector(named id: CheckpointID) -> Vector? {
        checkpoints.first { $0.id == id }.map(vector)
    }

    func vector(named short: UInt32) -> Vector? {
        let found = checkpoints.filter { $0.id.short == short }
        return found.count == 1 ? found.first.map(vector) : nil
    }

    /// The newest vector; empty where there is none.
    public var newestVector: Vector { checkpoints.last.map(vector) ?? Vector() }

    /// The checkpoints whose changes are all in `vector`, the newest first.
    func within(_ vector: Vector) -> [Checkpoint] {
        guard vector.covers(common) else { return [] }
        return checkpoints.reversed().filter { vector.covers($0.changes) }
    }

    /// What of `vector` is beyond a checkpoint of this history.
    func rest(of vector: Vector, beyond checkpoint: Checkpoint) -> Vector {
        vector.subtracting(common).subtracting(checkpoint.changes)
    }

    private func vector(of checkpoint: Checkpoint) -> Vector {
        common.union(checkpoint.changes)
    }

    // MARK: Changes

    /// Names a vector.
    ///
    /// - Returns: whether it had no name yet.
    @discardableResult
    public mutating func add(_ vector: Vector) -> Bool {
        defer { share() }
        return insert(vector)
    }

    private mutating func insert(_ vector: Vector) -> Bool {
        let id = CheckpointID(of: vector)
        guard !contains(id), vector.entries.count <= CheckpointHistory.replicasMax else {
            return false
        }
        separate(from: vector)
        let checkpoint = Checkpoint(
            id: id, size: vector.count, changes: vector.subtracting(common))
        let differing = checkpoint.changes.entries.count
        if differing > CheckpointHistory.changesMax { checkpoints = [] }
        let index = checkpoints.firstIndex {
            (checkpoint.size, checkpoint.id) < ($0.size, $0.id)
        }
        checkpoints.insert(checkpoint, at: index ?? checkpoints.count)
        if checkpoints.count > CheckpointHistory.countMax { thin() }
        return true
    }

    public mutating func formUnion(_ other: CheckpointHistory) {
        for checkpoint in other.checkpoints { _ = insert(other.vector(of: checkpoint)) }
        share()
    }

    /// Takes out of `common` what a vector does not share.
    private mutating func separate(from vector: Vector) {
        for entry in common.entries where vector.seqs(of: entry.replica) != entry.seqs {
            common.remove(entry.replica)
            for index in checkpoints.indices {
                checkpoints[index].changes.insert(entry.seqs, of: entry.replica)
            }
        }
    }

    /// Moves into `common` what all vectors share.
    private mutating func share() {
        guard let first = checkpoints.first else { return }
        for entry in first.changes.entries {
            let isShared = checkpoints.allSatisfy {
                $0.changes.seqs(of: entry.replica) == entry.seqs
            }
            guard isShared else { continue }
            common.insert(entry.seqs, of: entry.replica)
            for index in checkpoints.indices { checkpoints[index].changes.remove(entry.replica) }
        }
    }

    private mutating func thin() {
        let older = checkpoints.dropLast(CheckpointHistory.recentMax)
        let least = older.indices.min { older[$0].id.level < older[$1].id.level }
        if let least { checkpoints.remove(at: least) }
    }
}

extension CheckpointHistory: WireValue {
    public func encode(into writer: inout ByteWriter) {
        common.encode(into: &writer)
        writer.write(count: checkpoints.count)
        for checkpoint in checkpoints { checkpoint.changes.encode(into: &writer) }
    }

    /// Names are made anew from the vectors, so that no sender gives one to another vector.
    public init(from reader: inout ByteReader) throws(WireError) {
        let common = try Vector(from: &reader)
        for _ in 0..<(try reader.readCount(limit: CheckpointHistory.countMax)) {
            _ = insert(common.union(try Vector(from: &reader)))
        }
        share()
    }
}

/// The checkpoints of all shards, as far as a node knows them.
public struct Checkpoints: Hashable, Sendable {
    private var histories: [ShardID: CheckpointHistory] = [:]

    public init() {}

    public subscript(shard: ShardID) -> CheckpointHistory {
        histories[shard] ?? CheckpointHistory()
    }

    public mutating func add(_ vector: Vector, to shard: ShardID) {
        histories[shard, default: CheckpointHistory()].add(vector)
    }

    public mutating func formUnion(_ history: CheckpointHistory, of shard: ShardID) {
        histories[shard, default: CheckpointHistory()].formUnion(history)
    }

    /// The vector that a token names of a shard.
    ///
    /// - Parameter current: a vector that may have the name without being a checkpoint.
    func vector(named short: UInt32, of shard: ShardID, or current: Vector) -> Vector? {
        if let vector = histories[shard]?.vector(named: short) { return vector }
        return CheckpointID(of: current).short == short ? current : nil
    }
}
