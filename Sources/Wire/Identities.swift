/// The number of a shard, from 0 to the cluster's shard count minus one.
public struct ShardID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let number: UInt16

    public init(_ number: UInt16) { self.number = number }

    /// Computes the shard of a partition key: the id of a conversation, a user or an item.
    ///
    /// - Parameter count: the number of shards of the cluster, fixed when it is created.
    public init(of key: String, count: UInt16) {
        precondition(count > 0, "a cluster has at least one shard")
        number = UInt16(truncatingIfNeeded: checksum(of: key) % UInt64(count))
    }

    public var description: String { String(number) }

    public static func < (left: ShardID, right: ShardID) -> Bool { left.number < right.number }
}

/// 128 random bits that are a unique name for ever: of a replica, a cluster or a process.
public struct RandomID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    public init(from generator: inout some RandomNumberGenerator) {
        self.init(high: generator.next(), low: generator.next())
    }

    /// 32 lower-case hexadecimal digits.
    public var description: String { hexadecimal(high) + hexadecimal(low) }

    public static func < (left: RandomID, right: RandomID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

/// The id of one process's numbering of changes, generated at its first write and never continued
/// by another process.
public typealias ReplicaID = RandomID

/// The id of a process that reads lines, generated at each start.
public typealias ProcessID = RandomID

/// The id of a cluster, generated at its creation.
public typealias ClusterID = RandomID
