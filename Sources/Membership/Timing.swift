/// The times of membership, in milliseconds, and why they are what they are.
///
/// A process that is killed takes its connections with it, so it is seen within a second; one that
/// is only silent may be paused, so it gets nearly six.
public enum Timing {
    /// How often `onTick` is called.
    public static let tick: UInt64 = 100
    /// A tick that comes later than this after the one before means that this process stood still.
    public static let lateTick = 2 * tick
    /// For how long nobody is suspected after a start or a pause of one's own: one round of what
    /// the others send at least each half second.
    public static let grace: UInt64 = 1_000
    /// How often the next member of the round is pinged.
    public static let probe: UInt64 = 1_000
    /// Three beats of a link missed: ask the member, and others.
    public static let silenceAsks: UInt64 = 1_500
    /// How often it is asked again.
    public static let askAgain: UInt64 = 500
    /// The same where its link is lost: three times before it is held dead, so that more than the
    /// first three have been asked when some of them cannot answer.
    public static let askAgainLost: UInt64 = 150
    public static let silenceSuspects: UInt64 = 2_500
    /// The same for a node that does not trust itself.
    public static let silenceSuspectsUnwell: UInt64 = 4_000
    /// A pause of 5 s, half a second of rest before it, and the way back: not yet dead.
    public static let silenceKills: UInt64 = 5_900
    /// For how long an answer of others outweighs dials that are refused here.
    public static let indirectAckHolds: UInt64 = 1_500
    /// For how long another's accusation counts.
    public static let accusationHolds: UInt64 = 1_000
    /// How often a member is told that it is not held to be alive.
    public static let tellAgain: UInt64 = 500
    /// How often one peer gets the whole table.
    public static let tableAgain: UInt64 = 1_000
    /// How often a node that has a twin outbids it.
    public static let refuteAgain: UInt64 = 1_000
}

/// How long a lost link takes to become a death.
///
/// Source: A. Dadgar et al., "Lifeguard" (2017), section IV-B, with K = 3: the time falls with the
/// logarithm of the independent accusations, from the greatest to the least.
enum LostLink {
    /// By accusations of others.
    private static let milliseconds: [UInt64] = [600, 450, 362, 300]
    static let accusersMax = 3

    /// - Parameter others: how many members there are beside the two.
    static func timeout(accusations: Int, others: Int, isUnwell: Bool) -> UInt64 {
        let wanted = min(accusersMax, others)
        // With nobody to ask, waiting for answers gains nothing.
        guard wanted > 0 else { return milliseconds[accusersMax] }
        guard !isUnwell else { return milliseconds[0] }
        guard accusations < wanted else { return milliseconds[accusersMax] }
        return milliseconds[accusations]
    }
}

/// How far a node trusts its own hearing: 0 is well, each failure adds one.
///
/// Source: A. Dadgar et al., "Lifeguard" (2017), section IV-A. Deviation: a node that is unwell
/// suspects later and lets accusations shrink nothing, but does not stretch the time to a death,
/// since how soon a death is seen is promised.
struct LocalHealth: Hashable, Sendable {
    private(set) var score = 0
    private static let scoreMax = 8
    private static let unwellFrom = 3

    var isUnwell: Bool { score >= LocalHealth.unwellFrom }

    mutating func onFailure() { score = min(score + 1, LocalHealth.scoreMax) }

    mutating func onSuccess() { score = max(score - 1, 0) }
}

/// A stream of numbers that one seed decides.
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
