/// The number of a shard, 0 up to the cluster's shard count.
public struct ShardID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let number: UInt16

    public init(_ number: UInt16) { self.number = number }

    /// The shard of a partition key: a conversation's id, a user's, an item's.
    ///
    /// - Parameter count: how many shards the cluster has; fixed when it is created.
    public init(of key: String, count: UInt16) {
        precondition(count > 0, "a cluster has at least one shard")
        number = UInt16(truncatingIfNeeded: checksum(of: key) % UInt64(count))
    }

    public var description: String { String(number) }

    public static func < (left: ShardID, right: ShardID) -> Bool { left.number < right.number }
}

/// 128 random bits that name something for ever: a replica, a cluster, a process, an operation.
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

/// A process that has written: minted at its first write and never continued by another.
public typealias ReplicaID = RandomID

/// A process that reads lines: minted at each start and never kept for another.
public typealias ProcessID = RandomID

/// A cluster, from its creation to its end.
public typealias ClusterID = RandomID
