import CRDT
import Wire

/// The messages that two nodes exchange about their shard replicas.
public enum Frame: Hashable, Sendable {
    /// Documents that the sender has just accepted and that are not on the sender's disk yet;
    /// `cause` contains the seqs that the sender had merged before the push and that the receiver
    /// has neither confirmed nor been sent in the cause of an earlier push.
    case push(ShardID, [EncodedDocument], cause: Vector)
    /// Seqs that are on the sender's disk, of the seqs that the receiver has sent or named in a
    /// `check`.
    case confirm(ShardID, Vector)
    /// A request to confirm the seqs of this vector that the receiver has, once they are on the
    /// receiver's disk.
    case check(ShardID, Vector)
    /// The combined hash of all shards that both nodes own; the frame also shows that the sender is
    /// alive.
    case summary(Summary)
    /// A hash of each shard that both nodes own in the sender's view, ascending by shard; sent if
    /// the summaries differ.
    case hashes([ShardHash])
    /// The sender's claim about the state of one shard on its disk.
    case offer(Offer)
    /// A request for the receiver's documents whose changes this vector does not contain.
    case pull(ShardID, number: UInt64, SaidVector)
    /// One part of the reply to a pull; `index` counts from 0.
    case batch(ShardID, number: UInt64, index: UInt64, [EncodedDocument])
    /// The end of the reply to a pull: every change that the claim contains was in a batch or in
    /// the vector of the pull.
    case done(ShardID, number: UInt64, batches: UInt64, VersionClaim)
    /// A notice that the sender will not finish its reply to the pull with this number.
    case broken(ShardID, number: UInt64)
    /// A request for the receiver's claim of a shard, answered by `offer` or by `absent`.
    case seek(ShardID)
    /// A request for the receiver's claim of a shard, answered by `report` with the same number:
    /// unlike an offer, a report was certainly made after the inquiry.
    case inquiry(ShardID, number: UInt64)
    /// The answer to an inquiry: the sender's claim about the state of the shard on its disk; nil
    /// if the sender has no replica.
    case report(ShardID, number: UInt64, VersionClaim?)
    /// A notice that the sender has no replica of the shard.
    case absent(ShardID)
    /// An offer of a replica by a holder that does not own the shard; `mark` names the offered
    /// state.
    case handover(ShardID, mark: UInt64, VersionClaim)
    /// The acceptance of a handover: the sender owns the shard and has on disk all of the replica
    /// that was offered under this mark. The claim is the sender's own.
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
        /// Whether the receiver must not answer this offer with its own offer, so that two nodes do
        /// not answer each other endlessly.
        public let isAnswer: Bool
    }

    /// The state of all shards that two nodes both own, as stored by one of the two.
    public struct Summary: Hashable, Sendable {
        /// The hash over the shards' hashes; equal hashes mean that the two nodes are in sync.
        public let hash: UInt64
        /// The shards that the sender owns and must not show to clients yet, ascending.
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
        /// Whether a replica that is in sync with this replica may serve clients.
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
        /// Whether a replica that fetches all of this replica becomes complete; a replica that is
        /// still catching up makes no other replica complete.
        public let isServing: Bool

        init(vector: Vector, digest: Hash128, isComplete: Bool, isServing: Bool) {
            said = SaidVector(vector)
            self.digest = digest
            self.isComplete = isComplete
            self.isServing = isServing
        }

        /// The claimed vector; in a received frame, the vector is whole only after
        /// `SaidVectors.hear` has added its base.
        public var vector: Vector { said.vector }
    }

    /// The answer of a node that has no replica of the shard; nil if the frame needs no answer.
    public var answerWithoutReplica: Frame? {
        switch self {
        case .seek(let shard), .pull(let shard, _, _): .absent(shard)
        case .inquiry(let shard, let number): .report(shard, number: number, nil)
        default: nil
        }
    }

    /// The shard to which the frame belongs; nil for frames about all shards.
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
