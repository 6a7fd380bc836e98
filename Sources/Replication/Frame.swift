import CRDT
import Wire

/// What copies of a shard say to each other.
public enum Frame: Hashable, Sendable {
    /// Documents that the sender has just accepted; not yet on its disk.
    case push(ShardID, [Parcel])
    /// Seqs that are on the sender's disk, of those that the receiver sent it.
    case confirm(ShardID, Vector)
    /// A hash over all that the two share: equal means level. Also the sign of life.
    case summary(UInt64)
    /// A hash for each shard, in order: which ones differ.
    case hashes([UInt64])
    /// What the sender's disk holds of a shard.
    case offer(Offer)
    /// Asks for what the receiver holds beyond this vector.
    case pull(ShardID, number: UInt64, Vector)
    /// One part of what a pull asked for, counted from 0.
    case batch(ShardID, number: UInt64, index: UInt64, [Parcel])
    /// The end of a pull: all that the claim counts was in its batches, or was known already.
    case done(ShardID, number: UInt64, batches: UInt64, Claim)
    /// The sender will not finish this pull.
    case broken(ShardID, number: UInt64)

    /// The most bytes of a frame.
    public static let bytesMax = 4 << 20

    public struct Offer: Hashable, Sendable {
        public let shard: ShardID
        public let claim: Claim
        public let digest: Hash128
        /// Whether it answers another offer: an answer is not answered.
        public let isAnswer: Bool
    }

    /// What a copy says that it holds.
    public struct Claim: Hashable, Sendable {
        public let vector: Vector
        public let isComplete: Bool
    }

    /// The shard that it is about, where it is about one.
    public var shard: ShardID? {
        switch self {
        case .push(let shard, _), .confirm(let shard, _), .pull(let shard, _, _): shard
        case .batch(let shard, _, _, _), .done(let shard, _, _, _), .broken(let shard, _): shard
        case .offer(let offer): offer.shard
        case .summary, .hashes: nil
        }
    }
}
