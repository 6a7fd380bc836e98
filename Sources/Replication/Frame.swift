import CRDT
import Wire

/// The messages that two nodes exchange about the shard replicas that they hold.
public enum Frame: Hashable, Sendable {
    /// Documents that the sender has just accepted and that are not on its disk yet; `cause` holds
    /// the seqs that the sender had merged by then and that the receiver has neither confirmed nor
    /// been sent in the cause of an earlier push.
    case push(ShardID, [EncodedDocument], cause: Vector)
    /// Seqs that are on the sender's disk, of those that the receiver has sent or asked for.
    case confirm(ShardID, Vector)
    /// A request to confirm those of these seqs that the receiver has, once they are on its disk.
    case check(ShardID, Vector)
    /// The combined hash of all shards that both nodes own; it also shows that the sender is alive.
    case summary(Summary)
    /// A hash of each shard that both nodes own in the sender's view, ascending by shard; sent
    /// where the summaries differ.
    case hashes([ShardHash])
    /// The sender's claim of what its disk holds of a shard.
    case offer(Offer)
    /// A request for the documents that the receiver holds beyond this vector.
    case pull(ShardID, number: UInt64, SaidVector)
    /// One part of the reply to a pull; `index` counts from 0.
    case batch(ShardID, number: UInt64, index: UInt64, [EncodedDocument])
    /// The end of the reply to a pull: everything that the claim counts was in the batches or in
    /// the vector of the request.
    case done(ShardID, number: UInt64, batches: UInt64, VersionClaim)
    /// The sender will not finish its reply to this pull.
    case broken(ShardID, number: UInt64)
    /// A request for the receiver's claim of a shard, answered by `offer` or by `absent`.
    case seek(ShardID)
    /// The same, answered by `report` with the same number: unlike an offer, a report was certainly
    /// made after the inquiry.
    case inquiry(ShardID, number: UInt64)
    /// The sender's claim of what its disk holds of a shard, as an answer to an inquiry; nil if it
    /// has no replica.
    case report(ShardID, number: UInt64, VersionClaim?)
    /// The sender has no replica of the shard.
    case absent(ShardID)
    /// An offer of a replica by a holder that does not own the shard; `mark` names the offered
    /// state.
    case handover(ShardID, mark: UInt64, VersionClaim)
    /// The acceptance of a handover: the sender owns the shard and has on disk all of the replica
    /// that was offered under this mark, and claims this.
    case accept(ShardID, mark: UInt64, VersionClaim)

    /// The first version of the wire format with inquiries and reports.
    static let inquiryWireVersion: UInt8 = 2
    /// The first version of the wire format with requests to confirm.
    static let checkWireVersion: UInt8 = 3
    /// The latest version of the wire format that this build writes.
    public static let wireVersion = checkWireVersion

    /// The greatest size of a document in a frame, in bytes.
    public static let documentBytesMax = 48 << 20

    public struct Offer: Hashable, Sendable {
        public let shard: ShardID
        public internal(set) var claim: VersionClaim
        /// Whether this offer answers another one; such an offer is not answered.
        public let isAnswer: Bool
    }

    /// The state of all shards that two nodes both own, as held by one of the two.
    public struct Summary: Hashable, Sendable {
        /// The hash over the shards' hashes; equal hashes mean that the two nodes are in sync.
        public let hash: UInt64
        /// The shards that the sender owns and must not show yet, ascending.
        public let unready: [ShardID]

        public init(hash: UInt64, unready: [ShardID]) {
            self.hash = hash
            self.unready = unready
        }
    }

    /// The state of one shard replica, reduced to a hash of eight bytes.
    public struct ShardHash: Hashable, Sendable {
        public let shard: ShardID
        public let hash: UInt64
        /// Whether other replicas may rely on this one to serve.
        public let isServing: Bool

        public init(_ shard: ShardID, _ hash: UInt64, isServing: Bool) {
            self.shard = shard
            self.hash = hash
            self.isServing = isServing
        }
    }

    /// The state that a shard replica claims to have on disk.
    public struct VersionClaim: Hashable, Sendable {
        var said: SaidVector
        /// The sum of the documents' digests; replicas with equal vectors have equal sums.
        public let digest: Hash128
        public let isComplete: Bool
        /// Whether the sender may show the replica: a replica that is still catching up makes no
        /// other one complete.
        public let isServing: Bool

        init(vector: Vector, digest: Hash128, isComplete: Bool, isServing: Bool) {
            said = SaidVector(vector)
            self.digest = digest
            self.isComplete = isComplete
            self.isServing = isServing
        }

        /// The vector; it is whole only after `SaidVectors.hear` has completed it.
        public var vector: Vector { said.vector }
    }

    /// The answer of a node without a replica of the shard to a sender that assumes one; nil if the
    /// frame needs no answer.
    public var answerWithoutReplica: Frame? {
        switch self {
        case .seek(let shard), .pull(let shard, _, _): .absent(shard)
        case .inquiry(let shard, let number): .report(shard, number: number, nil)
        default: nil
        }
    }

    /// The shard that the frame is about; nil for frames about all shards.
    public var shard: ShardID? {
        switch self {
        case .push(let shard, _, _), .pull(let shard, _, _): shard
        case .confirm(let shard, _), .check(let shard, _): shard
        case .batch(let shard, _, _, _), .done(let shard, _, _, _), .broken(let shard, _): shard
        case .offer(let offer): offer.shard
        case .seek(let shard), .absent(let shard): shard
        case .inquiry(let shard, _), .report(let shard, _, _): shard
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
        case .report(let shard, let number, .some(var claim)):
            body(shard, &claim.said)
            self = .report(shard, number: number, claim)
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
    /// Whether a replica that has fetched all of the claimed state is complete and may serve.
    var isVouching: Bool {
        #if PlantedBugs
            if PlantedBug.vouchesWhileCatchingUp.isOn { return isComplete }
        #endif
        return isComplete && isServing
    }
}
