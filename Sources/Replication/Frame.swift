import CRDT
import Wire

/// What copies of a shard say to each other.
public enum Frame: Hashable, Sendable {
    /// Documents that the sender has just accepted, not yet on its disk; and what it had merged
    /// by then that the receiver has neither confirmed nor been told of with an earlier push.
    case push(ShardID, [EncodedDocument], cause: Vector)
    /// Seqs that are on the sender's disk, of those that the receiver sent it.
    case confirm(ShardID, Vector)
    /// What all that the two share comes to. Also the sign of life.
    case summary(Summary)
    /// A hash for each shard that the sender takes both to own, ascending: which ones differ.
    case hashes([ShardHash])
    /// What the sender's disk holds of a shard.
    case offer(Offer)
    /// Asks for what the receiver holds beyond this vector.
    case pull(ShardID, number: UInt64, SaidVector)
    /// One part of what a pull asked for, counted from 0.
    case batch(ShardID, number: UInt64, index: UInt64, [EncodedDocument])
    /// The end of a pull: all that the claim counts was in its batches, or was known already.
    case done(ShardID, number: UInt64, batches: UInt64, VersionClaim)
    /// The sender will not finish this pull.
    case broken(ShardID, number: UInt64)
    /// Asks what the receiver holds of a shard: answered by an offer, or by `absent`.
    case seek(ShardID)
    /// The sender holds nothing of the shard.
    case absent(ShardID)
    /// The sender holds the shard and should not: this is all of it, under this mark.
    case handover(ShardID, mark: UInt64, VersionClaim)
    /// All that the receiver held under this mark is on the sender's disk, who owns the shard and
    /// holds this.
    case accept(ShardID, mark: UInt64, VersionClaim)

    /// The most bytes of a document in a frame.
    public static let documentBytesMax = 48 << 20

    public struct Offer: Hashable, Sendable {
        public let shard: ShardID
        public internal(set) var claim: VersionClaim
        /// Whether it answers another offer: an answer is not answered.
        public let isAnswer: Bool
    }

    /// The state of all shards that two nodes own, as one of the two holds them.
    public struct Summary: Hashable, Sendable {
        /// Over the hashes of the shards: equal means level.
        public let hash: UInt64
        /// The shards that the sender owns and may not show yet, ascending.
        public let unready: [ShardID]

        public init(hash: UInt64, unready: [ShardID]) {
            self.hash = hash
            self.unready = unready
        }
    }

    /// The state of one shard's copy, in eight bytes.
    public struct ShardHash: Hashable, Sendable {
        public let shard: ShardID
        public let hash: UInt64
        /// Whether the copy may be shown.
        public let isServing: Bool

        public init(_ shard: ShardID, _ hash: UInt64, isServing: Bool) {
            self.shard = shard
            self.hash = hash
            self.isServing = isServing
        }
    }

    /// What a copy says that it holds on disk.
    public struct VersionClaim: Hashable, Sendable {
        var said: SaidVector
        /// The sum of the documents: equal for equal vectors.
        public let digest: Hash128
        public let isComplete: Bool
        /// Whether it may be shown: one that is catching up itself makes nobody else complete.
        public let isServing: Bool

        init(vector: Vector, digest: Hash128, isComplete: Bool, isServing: Bool) {
            said = SaidVector(vector)
            self.digest = digest
            self.isComplete = isComplete
            self.isServing = isServing
        }

        /// The whole vector, once `SaidVectors.hear` has completed it.
        public var vector: Vector { said.vector }
    }

    /// Whether its sender believes that the receiver holds a copy, and has to be told if not.
    public var asksForCopy: Bool {
        switch self {
        case .seek, .pull: true
        default: false
        }
    }

    /// The shard that it is about, where it is about one.
    public var shard: ShardID? {
        switch self {
        case .push(let shard, _, _), .confirm(let shard, _), .pull(let shard, _, _): shard
        case .batch(let shard, _, _, _), .done(let shard, _, _, _), .broken(let shard, _): shard
        case .offer(let offer): offer.shard
        case .seek(let shard), .absent(let shard): shard
        case .handover(let shard, _, _), .accept(let shard, _, _): shard
        case .summary, .hashes: nil
        }
    }
}

extension Frame: VectorCarrier {
    public mutating func eachVector(_ body: (ShardID, inout SaidVector) -> Void) {
        switch self {
        case .pull(let shard, let number, var vector):
            body(shard, &vector)
            self = .pull(shard, number: number, vector)
        case .offer(var offer):
            body(offer.shard, &offer.claim.said)
            self = .offer(offer)
        case .done(let shard, let number, let batches, var claim):
            body(shard, &claim.said)
            self = .done(shard, number: number, batches: batches, claim)
        case .handover(let shard, let mark, var claim):
            body(shard, &claim.said)
            self = .handover(shard, mark: mark, claim)
        case .accept(let shard, let mark, var claim):
            body(shard, &claim.said)
            self = .accept(shard, mark: mark, claim)
        default: break
        }
    }
}

extension Frame.VersionClaim {
    /// Whether who has all of it holds all that there is, and may show it.
    var isVouching: Bool {
        #if PlantedBugs
            if PlantedBug.vouchesWhileCatchingUp.isOn { return isComplete }
        #endif
        return isComplete && isServing
    }
}
