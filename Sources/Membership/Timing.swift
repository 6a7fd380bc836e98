/// The times of the membership protocol in milliseconds, and their reasons.
///
/// A killed process takes its connections with it, so its death is detected within a second; a
/// process that is only silent may be paused, so it gets nearly six seconds.
public enum Timing {
    /// The interval of `onTick`.
    public static let tick: UInt64 = 100
    /// The interval between two ticks above which this process must have been paused.
    public static let lateTick = 2 * tick
    /// How long no member is suspected after a start or a pause of this node: one round of the
    /// frames that the others send at least each half second.
    public static let grace: UInt64 = 1_000
    /// The interval in which the next member of the round is pinged.
    public static let probe: UInt64 = 1_000
    /// The silence after which the member and others are asked: three missed summaries of a
    /// connection.
    public static let silenceAsks: UInt64 = 1_500
    /// The interval in which they are asked again.
    public static let askAgain: UInt64 = 500
    /// The same after a lost connection: at least twice before the member is considered dead, so
    /// that in a larger mesh more than the first members have been asked.
    public static let askAgainLost: UInt64 = 150
    public static let silenceSuspects: UInt64 = 2_500
    /// The same for a node whose local health is bad.
    public static let silenceSuspectsUnwell: UInt64 = 4_000
    /// The silence after which a member is considered dead: longer than a pause of 5 s, up to half
    /// a second of silence before it, and the way back.
    public static let silenceKills: UInt64 = 5_900
    /// How long another member's report outweighs dials that are refused here.
    public static let indirectAckHolds: UInt64 = 1_500
    /// How long another member's accusation counts.
    public static let accusationHolds: UInt64 = 1_000
    /// The shortest interval in which a member is told that it is not considered alive.
    public static let tellAgain: UInt64 = 500
    /// The shortest interval in which one peer is sent the whole table.
    public static let tableAgain: UInt64 = 1_000
    /// The shortest interval in which a node that has a twin raises its incarnation.
    public static let refuteAgain: UInt64 = 1_000
}

/// The time from a lost connection to the member's death.
///
/// Source: A. Dadgar et al., "Lifeguard" (2017), section IV-B, with K = 3: the time falls with the
/// logarithm of the number of independent accusations, from the maximum to the minimum.
enum LostLink {
    /// The times in milliseconds, indexed by the number of accusations by other members.
    private static let milliseconds: [UInt64] = [600, 450, 362, 300]
    static let accusersMax = 3

    /// - Parameter others: the number of members besides this one and the one in question.
    static func timeout(accusations: Int, others: Int, isUnwell: Bool) -> UInt64 {
        let wanted = min(accusersMax, others)
        // With no other member to ask, waiting for answers gains nothing.
        guard wanted > 0 else { return milliseconds[accusersMax] }
        guard !isUnwell else { return milliseconds[0] }
        guard accusations < wanted else { return milliseconds[accusersMax] }
        return milliseconds[accusations]
    }
}

/// The local health score of a node: 0 is healthy, each failure adds one.
///
/// Source: A. Dadgar et al., "Lifeguard" (2017), section IV-A. Deviation: an unhealthy node
/// suspects later and ignores accusations, but does not extend the time to a death, since a maximum
/// for that is promised.
struct LocalHealth: Hashable, Sendable {
    private(set) var score = 0
    private static let scoreMax = 8
    private static let unwellFrom = 3

    var isUnwell: Bool { score >= LocalHealth.unwellFrom }

    mutating func onFailure() { score = min(score + 1, LocalHealth.scoreMax) }

    mutating func onSuccess() { score = max(score - 1, 0) }
}

/// A deterministic random number generator.
///
/// Source: G. Steele et al., "Fast splittable pseudorandom number generators" (2014), SplitMix64.
struct SeededNumbers: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
