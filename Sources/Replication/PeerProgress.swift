import CRDT
import Wire

/// What a copy knows of the same shard at a co-owner, while the connection to it lasts.
struct PeerProgress: Sendable {
    let name: NodeName
    /// What is known to be on its disk; never more.
    private(set) var confirmed = Vector()
    /// How many ranges were confirmed since `confirmed` was last held against its limits.
    private var rangesUnchecked = 0
    /// What was merged here and no push to it has named: what is pushed next may answer that.
    var untold = Vector()
    /// What it holds of the shard, as it last said.
    var holding = Holding.unknown {
        didSet { hasAnswered = true }
    }
    /// Whether it said so since it was last asked.
    var hasAnswered = false
    /// Whether what it holds may be shown there, as it last said.
    var isServing = false
    /// Whether it should hold the shard, as this node sees it.
    var isOwner = false
    /// The state of its copy that it wants to be rid of, and this copy has not all of yet.
    var wanted: UInt64?
    /// When it was last asked what it holds, in milliseconds.
    var soughtAt: UInt64?
    /// The pull of its that is being served.
    var serving: Serving?
    /// A pull of its of which something was dropped on the way: it is told with the next offer.
    var unserved: UInt64?
    /// When to ask it again, after a pull from it broke; in milliseconds.
    var pullableFrom: UInt64 = 0
    /// How many frames could not be read since the last pull from it that was finished.
    var badFrames: UInt64 = 0
    /// When a difference at equal vectors is worth another look, and how long after that the next
    /// one is; in milliseconds.
    var comparableFrom: UInt64 = 0
    var comparisonPause: UInt64 = 0

    init(name: NodeName) { self.name = name }

    /// What it held says nothing about what it holds: it may have given that copy away.
    mutating func forgetCopy() {
        confirmed = Vector()
        holding = .unknown
        isServing = false
    }

    /// What it says that it holds.
    ///
    /// - Parameter known: what is here.
    mutating func note(_ claim: Frame.VersionClaim, known: Vector) {
        confirm(claim.vector, known: known)
        holding = claim.isComplete ? .complete : .incomplete
        isServing = claim.isServing
    }

    /// All of its documents are compared from `now` on.
    mutating func noteComparison(now: UInt64) {
        comparisonPause = min(
            max(2 * comparisonPause, PeerProgress.comparisonPauseMilliseconds),
            PeerProgress.comparisonPauseMillisecondsMax)
        comparableFrom = now + comparisonPause
    }

    /// - Returns: how long it is not asked for what is lacked here, in milliseconds.
    mutating func noteBadFrame(now: UInt64) -> UInt64 {
        // Those that were on their way with the first one count once.
        guard badFrames == 0 || now >= pullableFrom else { return pullableFrom - now }
        let pause = min(
            Pull.pauseMilliseconds << min(badFrames, 8), Pull.pauseMillisecondsMax)
        badFrames += 1
        pullableFrom = now + pause
        return pause
    }

    /// It is level with this copy.
    mutating func confirmAll(of vector: Vector) { confirmed = vector }

    /// It says what is on its disk.
    ///
    /// What is kept of that is bounded by what is here, whatever it says: of what is not here, no
    /// more than shows that there is something to be fetched.
    ///
    /// - Parameter known: what is here.
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
    /// How much is kept of what a peer holds and this copy does not.
    static let unknownReplicasMax = 256
    static let unknownRangesMax = 1_024

    /// What a node holds of a shard.
    enum Holding: Hashable, Sendable {
        case unknown
        case nothing
        case incomplete
        case complete
    }

    /// How long an answer to `seek` may take before it is asked again, in milliseconds.
    static let seekMilliseconds: UInt64 = 500
    /// How long after a full comparison the next one waits, in milliseconds: the disks of both are
    /// checked meanwhile.
    ///
    /// Twice as long after each.
    static let comparisonPauseMilliseconds: UInt64 = 1_000
    static let comparisonPauseMillisecondsMax: UInt64 = 60_000
}

/// A pull of ours that is open.
struct Pull: Sendable {
    let peer: NodeName
    let number: UInt64
    /// The peer's mark that was known when the pull began: at its end that is all here.
    let mark: UInt64?
    var batches: UInt64 = 0
    /// When something of it was last heard.
    var heardAt: UInt64

    /// How long a pull may stay silent before another peer is asked, in milliseconds.
    static let patienceMilliseconds: UInt64 = 3_000
    /// The same while a request waits for it, which waits for a second.
    static let patienceOfBarrierRoundsMilliseconds: UInt64 = 200
    /// How long a peer whose pull broke is left alone, in milliseconds.
    static let pauseMilliseconds: UInt64 = 300
    /// The longest that it is after frames that could not be read, in milliseconds.
    static let pauseMillisecondsMax: UInt64 = 60_000
}

/// A pull of a peer's that is being answered.
struct Serving: Sendable {
    let number: UInt64
    let theirs: Vector
    /// What was on disk before the scan: what `done` will claim.
    let claim: Frame.VersionClaim
    /// Behind which the scan goes on.
    var cursor: Dot?
    var batches: UInt64 = 0
}

/// What to read from the disk for a peer's pull.
public struct Scan: Sendable {
    public let number: UInt64
    public let theirs: Vector
    public let ours: Vector
    public let cursor: Dot?

    /// The most bytes of documents in one batch, but at least one document.
    public static let batchBytesMax = 64 << 10
}
