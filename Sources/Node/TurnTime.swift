/// The time limit of one part of a turn, so that the other parts get theirs.
///
/// No result depends on how much work is done in which turn. Where time stands still within a turn,
/// as in many simulations, all of the work is done at once.
struct TurnTime {
    private let clock: any Clock
    private let end: UInt64

    /// The limit for frames from one member, in microseconds: further frames wait, and nothing more
    /// is read from the member.
    static let ofMember: UInt64 = 4_000
    /// The limit for lists, in microseconds: for those that a turn's requests ask for, for deferred
    /// ones that are begun, and for those that go on.
    static let ofLists: UInt64 = 8_000
    /// The limit for one list that goes on, in microseconds.
    static let ofListSlice: UInt64 = 2_000

    /// The limit for telling profiles, in microseconds.
    static let ofProfiles: UInt64 = 4_000

    init(_ microseconds: UInt64, on clock: any Clock) {
        self.clock = clock
        end = clock.microseconds + microseconds
    }

    var isOver: Bool { clock.microseconds >= end }

    /// The microseconds that are left.
    var left: UInt64 { end - min(end, clock.microseconds) }
}
