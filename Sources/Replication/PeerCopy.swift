import CRDT
import Wire

/// What a copy knows of the same shard at a co-owner, while the connection to it lasts.
struct PeerCopy: Sendable {
    let name: NodeName
    /// What is known to be on its disk; never more.
    var confirmed = Vector()
    /// What was merged here and no push to it has named: what is pushed next may answer that.
    var untold = Vector()
    /// What it holds of the shard, as it last said.
    var holding = Holding.unknown {
        didSet { hasAnswered = true }
    }
    /// Whether it said so since it was last asked.
    var hasAnswered = false
    /// Whether it should hold the shard, as this node sees it.
    var isOwner = false
    /// The state of its copy that it wants to be rid of, and this copy has not all of yet.
    var wanted: UInt64?
    /// When it was last asked what it holds, in milliseconds.
    var soughtAt: UInt64?
    /// Whether it was filled from here while this copy was catching up: being complete by that, it
    /// cannot vouch for what is here.
    var isFilledFromHere = false
    /// The pull of its that is being served.
    var serving: Serving?
    /// A pull of its of which something was dropped on the way: it is told with the next offer.
    var unserved: UInt64?
    /// When to ask it again, after a pull from it broke; in milliseconds.
    var pullableFrom: UInt64 = 0
    /// When a difference at equal vectors is worth another look; in milliseconds.
    var comparableFrom: UInt64 = 0

    /// What it held says nothing about what it holds: it may have given that copy away.
    mutating func forgetCopy() {
        confirmed = Vector()
        holding = .unknown
    }

    /// What a node holds of a shard.
    enum Holding: Hashable, Sendable {
        case unknown
        case nothing
        case incomplete
        case complete

        init(_ claim: Frame.Claim) { self = claim.isComplete ? .complete : .incomplete }
    }

    /// How long an answer to `seek` may take before it is asked again, in milliseconds.
    static let seekMilliseconds: UInt64 = 500
    /// How long after a full comparison the next one waits, in milliseconds.
    static let comparisonPauseMilliseconds: UInt64 = 60_000
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
    static let patienceOfHearingsMilliseconds: UInt64 = 200
    /// How long a peer whose pull broke is left alone, in milliseconds.
    static let pauseMilliseconds: UInt64 = 300
}

/// A pull of a peer's that is being answered.
struct Serving: Sendable {
    let number: UInt64
    let theirs: Vector
    /// What was on disk before the scan: what `done` will claim.
    let claim: Frame.Claim
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
