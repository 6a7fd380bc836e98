import Wire

/// The name of a vector: 64 bits of a hash of its canonical bytes.
public struct CheckpointID: Hashable, Comparable, Sendable {
    public let bits: UInt64

    public init(bits: UInt64) { self.bits = bits }

    public init(of vector: Vector) { self.init(bits: checksum(vector.encoded)) }

    /// The lower 32 bits of the name, by which tokens refer to the vector.
    var short: UInt32 { UInt32(truncatingIfNeeded: bits) }

    /// The level of the name, which decides how long a full history keeps the checkpoint: half of
    /// all names have level 0, a quarter have level 1, and so on.
    var level: Int { bits.leadingZeroBitCount }

    public static func < (left: Self, right: Self) -> Bool { left.bits < right.bits }
}

/// The checkpoints of one shard: vectors that an owner has named, so that a token can refer to a
/// vector with any number of replica ids by a hash.
///
/// A checkpoint is only a name: a node that stores it need not have received the changes in its
/// vector. Code that depends on these changes compares the vector with the replica's own. Therefore
/// the histories of two nodes may be united at any time, and the loss of a history only makes
/// tokens less precise.
///
/// The history has at most `countMax` checkpoints. A full history keeps the newest `recentMax`
/// checkpoints, and the newest `lastsMax` of those after which a further replica id appears. The
/// vector beyond such a checkpoint has only a few entries, however much is written, so the history
/// reaches back over process starts and not over seconds. Of the other checkpoints, those not
/// followed by a further replica id are removed first, and among these the one with the lowest
/// level. Levels come from hashes, so the remaining checkpoints become sparser with age, and all
/// nodes keep the same ones.
public struct CheckpointHistory: Hashable, Sendable {
    struct Checkpoint: Hashable, Sendable {
        let id: CheckpointID
        /// The number of changes in the vector, which orders checkpoints by age, since vectors only
        /// grow.
        let size: UInt64
        /// The entries of the checkpoint's vector that are not in `common`.
        var changes: Vector
    }

    /// The entries that all vectors share; no replica id in it is in any `changes`.
    private(set) var common = Vector()
    /// The checkpoints, ascending by size, then by id.
    private(set) var checkpoints: [Checkpoint] = []

    public static let countMax = 64
    static let recentMax = 12
    /// The process starts over which a checkpoint is certainly kept: nine restarts of three nodes.
    static let lastsMax = 28
    /// The greatest number of replica ids of a named vector: the process starts of five nodes in
    /// two years of daily restarts.
    static let replicasMax = 4_096
    /// The greatest number of replica ids by which a vector may differ from the others; a vector
    /// that differs by more replaces them all.
    static let changesMax = 256

    public init() {}

    public var isEmpty: Bool { checkpoints.isEmpty }

    public var newest: CheckpointID? { checkpoints.last?.id }

    /// The names of the checkpoints; their order has no meaning.
    public var ids: [CheckpointID] { checkpoints.map(\.id) }

    public func contains(_ id: CheckpointID) -> Bool { checkpoints.contains { $0.id == id } }

    /// Returns the vector with the name `id`; nil if no checkpoint has that name.
    public func vector(named id: CheckpointID) -> Vector? {
        checkpoints.first { $0.id == id }.map(vector)
    }

    func vector(named short: UInt32) -> Vector? {
        let found = checkpoints.filter { $0.id.short == short }
        return found.count == 1 ? found.first.map(vector) : nil
    }

    /// Returns the names in `ids` of checkpoints whose vectors `vector` contains, oldest first.
    public func covered(by vector: Vector, of ids: Set<CheckpointID>) -> [CheckpointID] {
        guard vector.covers(common) else { return [] }
        return checkpoints.filter { ids.contains($0.id) && vector.covers($0.changes) }.map(\.id)
    }

    /// The vector of the newest checkpoint; empty if there is no checkpoint.
    public var newestVector: Vector { checkpoints.last.map(vector) ?? Vector() }

    /// Returns the checkpoints within `vector` that suit a token best: the one that a full history
    /// keeps longest, the newest one after which a further replica id appears, and the newest one.
    func longestKept(within vector: Vector) -> [Checkpoint] {
        guard vector.covers(common) else { return [] }
        // The first checkpoint of an order is nearly always within the vector, so the search stops
        // early; comparing all checkpoints would take most of the time of making a token.
        func first(_ indices: [Int]) -> Int? {
            indices.first { vector.covers(checkpoints[$0].changes) }
        }
        let newest = Array(checkpoints.indices.reversed())
        let longest = newest.sorted { durability(of: $1) < durability(of: $0) }
        let last = newest.filter(isLastOfItsReplicas)
        var kept: [Int] = []
        for index in [first(longest), first(last), first(newest)].compactMap(\.self)
        where !kept.contains(index) {
            kept.append(index)
        }
        return kept.map { checkpoints[$0] }
    }

    /// Whether the checkpoint after the one at `index` has a further replica id.
    private func isLastOfItsReplicas(_ index: Int) -> Bool {
        index + 1 < checkpoints.count
            && checkpoints[index].changes.entries.count
                < checkpoints[index + 1].changes.entries.count
    }

    /// Returns the sort key of a checkpoint: a full history removes the least of its older ones.
    private func durability(of index: Int) -> (isLast: Int, level: Int, age: Int) {
        (isLastOfItsReplicas(index) ? 1 : 0, checkpoints[index].id.level, index)
    }

    /// Returns the part of `vector` that is beyond a checkpoint of this history.
    func rest(of vector: Vector, beyond checkpoint: Checkpoint) -> Vector {
        vector.subtracting(common).subtracting(checkpoint.changes)
    }

    private func vector(of checkpoint: Checkpoint) -> Vector {
        common.union(checkpoint.changes)
    }

    // MARK: Changes

    /// Adds a vector as a checkpoint.
    ///
    /// - Returns: true if it was added; false if the vector is known or has too many replica ids.
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

    /// Removes from `common` the entries that a vector does not share.
    private mutating func separate(from vector: Vector) {
        for entry in common.entries where vector.seqs(of: entry.replica) != entry.seqs {
            common.remove(entry.replica)
            for index in checkpoints.indices {
                checkpoints[index].changes.insert(entry.seqs, of: entry.replica)
            }
        }
    }

    /// Moves the entries that all vectors share into `common`.
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
        var older = Array(checkpoints.indices.dropLast(CheckpointHistory.recentMax))
        let lasts = Set(
            older.filter(isLastOfItsReplicas).suffix(CheckpointHistory.lastsMax))
        older.removeAll(where: lasts.contains)
        let least = older.min { durability(of: $0) < durability(of: $1) }
        if let least { checkpoints.remove(at: least) }
    }
}

extension CheckpointHistory: WireValue {
    public func encode(into writer: inout ByteWriter) {
        common.encode(into: &writer)
        checkpoints.map(\.changes).encode(into: &writer)
    }

    /// Computes the names from the vectors, so that no sender can give a name to another vector.
    public init(from reader: inout ByteReader) throws(WireError) {
        let common = try Vector(from: &reader)
        for changes in try reader.readList(of: Vector.self, limit: CheckpointHistory.countMax) {
            _ = insert(common.union(changes))
        }
        share()
    }
}

/// The checkpoints of all shards that a node knows.
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

    /// Returns the vector that a token names for a shard.
    ///
    /// - Parameter current: a vector that may have the name without being a checkpoint.
    func vector(named short: UInt32, of shard: ShardID, or current: Vector) -> Vector? {
        if let vector = histories[shard]?.vector(named: short) { return vector }
        return CheckpointID(of: current).short == short ? current : nil
    }
}
