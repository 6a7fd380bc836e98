import CRDT
import Wire

/// The state of a shard at another node, as known to this node's replica while the connection
/// lasts.
struct PeerProgress: Sendable {
    let name: NodeName
    /// The seqs known to be on the peer's disk; seqs that may be missing there are never included.
    private(set) var confirmed = Vector()
    /// The number of ranges confirmed since `confirmed` was last reduced to its limits.
    private var rangesUnchecked = 0
    /// The seqs in the `check` frames that were sent to the peer.
    var checked = Vector()
    /// Seqs merged into this replica that no push to the peer has named as a cause; the next push
    /// names them, since the documents in the push may depend on those changes.
    var untold = Vector()
    /// The kind of replica that the peer last claimed to have.
    var holding = Holding.unknown {
        didSet { hasClaimed = true }
    }
    /// Whether a claim of the peer has arrived since this node last requested one.
    private var hasClaimed = false
    /// The hash of this replica's stored state when the peer was last known to have the same state.
    var caughtUpHash: UInt64?
    /// Whether the peer's last claim reports that its replica may serve clients.
    var isServing = false
    /// Whether the peer owns the shard, as this node sees it.
    var isOwner = false
    /// The mark of the peer's handover offer whose replica this node has not fetched entirely.
    var wanted: UInt64?
    /// When this node last requested the peer's claim, in milliseconds.
    private(set) var askedAt: UInt64?
    /// When this node sent the latest inquiry that the peer has answered, in milliseconds.
    private var answeredInquiry: UInt64?
    /// Whether the peer's version of the wire format has the frame `inquiry`.
    private let answersInquiries: Bool
    /// Whether the peer's version of the wire format has the frame `check`.
    let confirmsOnRequest: Bool
    /// The peer's pull that is being served.
    var serving: Serving?
    /// The number of the peer's pull whose reply was dropped; `broken` with this number is sent
    /// before the next offer to the peer.
    var unserved: UInt64?
    /// The earliest time of the next pull from the peer after a pull from the peer broke, in
    /// milliseconds.
    var pullableFrom: UInt64 = 0
    /// The number of unreadable frames since the last finished pull from the peer.
    var badFrames: UInt64 = 0
    /// The earliest time of the next full comparison after digests differed at equal vectors, and
    /// the pause before that comparison; both in milliseconds.
    var comparableFrom: UInt64 = 0
    var comparisonPause: UInt64 = 0

    /// - Parameter wire: the version of the wire format on the connection.
    init(name: NodeName, wire: UInt8) {
        self.name = name
        answersInquiries = wire >= Frame.inquiryWireVersion
        confirmsOnRequest = wire >= Frame.checkWireVersion
    }

    /// Returns the frame that requests the peer's claim of a shard, and records the time of the
    /// request.
    mutating func ask(for shard: ShardID, now: UInt64) -> Frame {
        askedAt = now
        hasClaimed = false
        return answersInquiries ? .inquiry(shard, number: now) : .seek(shard)
    }

    /// Records that the peer has answered the inquiry that was sent at this time; the caller
    /// records the peer's claim separately.
    mutating func onReport(_ number: UInt64) {
        guard let askedAt, number <= askedAt else { return }
        answeredInquiry = max(answeredInquiry ?? 0, number)
    }

    /// Whether the peer has answered a request for its claim that was sent at this time or later.
    ///
    /// A peer without inquiries answers with an offer, and it may have sent that offer before the
    /// request arrived.
    func hasAnswered(since time: UInt64) -> Bool {
        let answered = answersInquiries ? answeredInquiry : hasClaimed ? askedAt : nil
        return answered.map { $0 >= time } ?? false
    }

    /// Whether the peer last claimed to have a replica.
    var isHolder: Bool { holding == .complete || holding == .incomplete }

    /// Discards the recorded state of the peer's replica, which the peer may have given away.
    mutating func forgetCopy() {
        confirmed = Vector()
        checked = Vector()
        holding = .unknown
        isServing = false
        caughtUpHash = nil
    }

    /// Records a claim that the peer has sent.
    ///
    /// - Parameter known: the vector of this node's replica.
    mutating func recordClaim(_ claim: Frame.VersionClaim, known: Vector) {
        confirm(claim.vector, known: known)
        holding = claim.isComplete ? .complete : .incomplete
        isServing = claim.isServing
    }

    /// Records that a full comparison with the peer begins, and doubles the pause until the next
    /// comparison.
    mutating func noteComparison(now: UInt64) {
        comparisonPause = min(
            max(2 * comparisonPause, PeerProgress.comparisonPauseMilliseconds),
            PeerProgress.comparisonPauseMillisecondsMax)
        comparableFrom = now + comparisonPause
    }

    /// Records an unreadable frame, and doubles the pause before the next pull from the peer.
    ///
    /// - Returns: how long this node sends no pull to the peer, in milliseconds.
    mutating func noteBadFrame(now: UInt64) -> UInt64 {
        // Unreadable frames that arrive during the pause count as one.
        guard badFrames == 0 || now >= pullableFrom else { return pullableFrom - now }
        let pause = min(
            Pull.pauseMilliseconds << min(badFrames, 8), Pull.pauseMillisecondsMax)
        badFrames += 1
        pullableFrom = now + pause
        return pause
    }

    /// Replaces the seqs that the peer has confirmed by this vector.
    mutating func confirmAll(of vector: Vector) { confirmed = vector }

    /// Adds a vector to the seqs that are known to be on the peer's disk.
    ///
    /// The vector in memory is bounded whatever the peer claims: of the seqs that this replica
    /// lacks, only a limited number is kept, which is enough to open a pull.
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
    /// The limits for the seqs that the peer has confirmed and this replica does not contain.
    static let unknownReplicasMax = 256
    static let unknownRangesMax = 1_024

    /// The kinds of replica of a shard that a node can have.
    enum Holding: Hashable, Sendable {
        case unknown
        case nothing
        case incomplete
        case complete
    }

    /// How long the answer to `seek` may take before `seek` is sent again, in milliseconds.
    static let seekMilliseconds: UInt64 = 500
    /// The pause after the first full comparison, in milliseconds; both nodes check their disks
    /// during the pause.
    ///
    /// The pause doubles with each comparison, up to `comparisonPauseMillisecondsMax`.
    static let comparisonPauseMilliseconds: UInt64 = 1_000
    static let comparisonPauseMillisecondsMax: UInt64 = 60_000
}

/// An open pull from a peer.
struct Pull: Sendable {
    let peer: NodeName
    let number: UInt64
    /// The mark of the peer's handover that was known when the pull began; the end of the pull
    /// accepts that handover.
    let mark: UInt64?
    var batches: UInt64 = 0
    /// When a part of the reply last arrived, in milliseconds.
    var heardAt: UInt64

    /// How long no part of the reply may arrive before the pull is ended, in milliseconds.
    static let patienceMilliseconds: UInt64 = 3_000
    /// How long no part of the reply may arrive while a client's request waits for the pull, in
    /// milliseconds; the request waits for at most one second.
    static let patienceOfBarrierRoundsMilliseconds: UInt64 = 200
    /// How long a peer gets no new pull after a pull from that peer broke, in milliseconds.
    static let pauseMilliseconds: UInt64 = 300
    /// The longest pause between pulls from a peer that sent unreadable frames, in milliseconds.
    static let pauseMillisecondsMax: UInt64 = 60_000
}

/// A peer's pull that this node is answering.
struct Serving: Sendable {
    let number: UInt64
    let theirs: Vector
    /// The claim of the state on disk before the scan began; `done` carries this claim.
    let claim: Frame.VersionClaim
    /// The dot after which the scan continues; nil at the beginning of the scan.
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
