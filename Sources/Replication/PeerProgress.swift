import CRDT
import Wire

/// The state of a shard at another node, as known to this node's replica while the connection
/// lasts.
struct PeerProgress: Sendable {
    let name: NodeName
    /// The seqs known to be on the peer's disk; never more.
    private(set) var confirmed = Vector()
    /// The number of ranges confirmed since `confirmed` was last cut down to its limits.
    private var rangesUnchecked = 0
    /// The seqs that the peer was lately asked to confirm.
    var checked = Vector()
    /// Seqs merged here that no push to the peer has named as a cause; the next push names them,
    /// since its documents may answer those changes.
    var untold = Vector()
    /// The kind of replica that the peer last claimed to hold.
    var holding = Holding.unknown {
        didSet { hasClaimed = true }
    }
    /// Whether the peer has said what it holds since it was last asked.
    private var hasClaimed = false
    /// The hash of what is on this disk, when the peer was last known to hold just that.
    var caughtUpHash: UInt64?
    /// Whether the peer last claimed that its replica may be shown.
    var isServing = false
    /// Whether the peer owns the shard, as this node sees it.
    var isOwner = false
    /// The mark of the replica that the peer wants to hand over and that has not been fetched
    /// entirely.
    var wanted: UInt64?
    /// When the peer was last asked what it holds, in milliseconds.
    private(set) var askedAt: UInt64?
    /// When the latest inquiry was sent that the peer has answered, in milliseconds.
    private var answeredInquiry: UInt64?
    /// Whether the peer knows `inquiry`.
    private let answersInquiries: Bool
    /// Whether the peer knows `check`.
    let confirmsOnRequest: Bool
    /// The peer's pull that is being served.
    var serving: Serving?
    /// The number of a pull of the peer's whose reply was dropped on the way; the peer is told so
    /// with the next offer.
    var unserved: UInt64?
    /// The earliest time of the next pull from the peer after one broke, in milliseconds.
    var pullableFrom: UInt64 = 0
    /// The number of unreadable frames since the last finished pull from the peer.
    var badFrames: UInt64 = 0
    /// The earliest time of the next full comparison after digests differed at equal vectors, and
    /// the pause that led to it; in milliseconds.
    var comparableFrom: UInt64 = 0
    var comparisonPause: UInt64 = 0

    /// - Parameter wire: the version of the wire format on the connection.
    init(name: NodeName, wire: UInt8) {
        self.name = name
        answersInquiries = wire >= Frame.inquiryWireVersion
        confirmsOnRequest = wire >= Frame.checkWireVersion
    }

    /// Returns the request for the peer's claim of a shard.
    mutating func ask(for shard: ShardID, now: UInt64) -> Frame {
        askedAt = now
        hasClaimed = false
        return answersInquiries ? .inquiry(shard, number: now) : .seek(shard)
    }

    /// Records that the peer has answered the inquiry that was sent at this time; its claim is
    /// noted separately.
    mutating func onReport(_ number: UInt64) {
        guard let askedAt, number <= askedAt else { return }
        answeredInquiry = max(answeredInquiry ?? 0, number)
    }

    /// Whether the peer has said what it holds after it was asked at this time or later.
    ///
    /// A peer that knows no inquiries may have sent its offer before it was asked.
    func hasAnswered(since time: UInt64) -> Bool {
        let answered = answersInquiries ? answeredInquiry : hasClaimed ? askedAt : nil
        return answered.map { $0 >= time } ?? false
    }

    /// Whether the peer last claimed to hold a replica.
    var isHolder: Bool { holding == .complete || holding == .incomplete }

    /// Discards what is known of the peer's replica, which the peer may have given away since.
    mutating func forgetCopy() {
        confirmed = Vector()
        checked = Vector()
        holding = .unknown
        isServing = false
        caughtUpHash = nil
    }

    /// Records the peer's claim.
    ///
    /// - Parameter known: the vector of this node's replica.
    mutating func recordClaim(_ claim: Frame.VersionClaim, known: Vector) {
        confirm(claim.vector, known: known)
        holding = claim.isComplete ? .complete : .incomplete
        isServing = claim.isServing
    }

    /// Records that a full comparison with the peer begins, and doubles the pause until the next
    /// one.
    mutating func noteComparison(now: UInt64) {
        comparisonPause = min(
            max(2 * comparisonPause, PeerProgress.comparisonPauseMilliseconds),
            PeerProgress.comparisonPauseMillisecondsMax)
        comparableFrom = now + comparisonPause
    }

    /// Records an unreadable frame, and doubles the pause before the next pull from the peer.
    ///
    /// - Returns: for how long the peer is not pulled from, in milliseconds.
    mutating func noteBadFrame(now: UInt64) -> UInt64 {
        // Frames that were on their way together with the first bad one count once.
        guard badFrames == 0 || now >= pullableFrom else { return pullableFrom - now }
        let pause = min(
            Pull.pauseMilliseconds << min(badFrames, 8), Pull.pauseMillisecondsMax)
        badFrames += 1
        pullableFrom = now + pause
        return pause
    }

    /// Records that the peer is in sync with this replica.
    mutating func confirmAll(of vector: Vector) { confirmed = vector }

    /// Adds to the seqs that are on the peer's disk.
    ///
    /// Whatever the peer claims, memory is bounded by what this replica holds: of the seqs that are
    /// unknown here, only so many are kept as show that there is something to fetch.
    ///
    /// - Parameter known: the vector of this node's replica.
    mutating func confirm(_ vector: Vector, known: Vector) {
        confirmed.formUnion(vector)
        rangesUnchecked += vector.rangesCount
        guard rangesUnchecked > PeerProgress.rangesUncheckedMax || !known.covers(vector) else {
            return
        }
        rangesUnchecked = 0
        let unknown = confirmed.subtracting(known).prefix(
            replicas: PeerProgress.unknownReplicasMax, ranges: PeerProgress.unknownRangesMax)
        let rangesMax = known.rangesCount + PeerProgress.unknownRangesMax
        confirmed = confirmed.intersection(known).prefix(replicas: .max, ranges: rangesMax)
            .union(unknown)
    }

    private static let rangesUncheckedMax = 4_096
    /// The limits for the seqs that the peer has confirmed and this replica does not hold.
    static let unknownReplicasMax = 256
    static let unknownRangesMax = 1_024

    /// The kinds of replica of a shard that a node can hold.
    enum Holding: Hashable, Sendable {
        case unknown
        case nothing
        case incomplete
        case complete
    }

    /// How long an answer to `seek` may take before it is sent again, in milliseconds.
    static let seekMilliseconds: UInt64 = 500
    /// The pause after the first full comparison, in milliseconds; meanwhile both nodes check their
    /// disks.
    ///
    /// The pause doubles with each comparison, up to the maximum.
    static let comparisonPauseMilliseconds: UInt64 = 1_000
    static let comparisonPauseMillisecondsMax: UInt64 = 60_000
}

/// An open pull from a peer.
struct Pull: Sendable {
    let peer: NodeName
    let number: UInt64
    /// The mark of the peer's handover that was known when the pull began; `done` of the pull
    /// accepts it.
    let mark: UInt64?
    var batches: UInt64 = 0
    /// When a part of the reply last arrived, in milliseconds.
    var heardAt: UInt64

    /// How long a pull may stay silent before another peer is asked, in milliseconds.
    static let patienceMilliseconds: UInt64 = 3_000
    /// The same, in milliseconds, while a request waits for the pull; a request waits for one
    /// second.
    static let patienceOfBarrierRoundsMilliseconds: UInt64 = 200
    /// How long a peer is not pulled from after a pull from it broke, in milliseconds.
    static let pauseMilliseconds: UInt64 = 300
    /// The longest such pause after unreadable frames, in milliseconds.
    static let pauseMillisecondsMax: UInt64 = 60_000
}

/// A peer's pull that this node is answering.
struct Serving: Sendable {
    let number: UInt64
    let theirs: Vector
    /// The state on disk before the scan, which `done` will claim.
    let claim: Frame.VersionClaim
    /// The dot behind which the scan continues.
    var cursor: Dot?
    var batches: UInt64 = 0
}

/// The parameters of the next disk read for a peer's pull.
public struct Scan: Sendable {
    public let number: UInt64
    public let theirs: Vector
    public let ours: Vector
    public let cursor: Dot?

    /// The greatest size of the documents in one batch, in bytes; a larger document is a batch by
    /// itself.
    public static let batchBytesMax = 64 << 10
}
