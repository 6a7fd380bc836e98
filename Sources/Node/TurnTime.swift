/// The time limit of one part of a turn, so that the other parts of the turn get enough time.
///
/// No result depends on the turn in which work is done. In simulations whose clock does not advance
/// within a turn, all of the work is done in one turn.
struct TurnTime {
    private let clock: any Clock
    private let end: UInt64

    /// The limit for handling the frames of one member, in microseconds.
    ///
    /// Further frames wait for the next turn, and the node reads nothing more from the member
    /// meanwhile.
    static let ofMember: UInt64 = 4_000
    /// The limit for lists, in microseconds: one such limit for the lists requested in a turn, one
    /// for deferred lists, and one for lists that continue from earlier turns.
    static let ofLists: UInt64 = 8_000
    /// The limit for one slice of a list that continues from an earlier turn, in microseconds.
    static let ofListSlice: UInt64 = 2_000

    /// The limit for sending changed profiles to watchers, in microseconds.
    static let ofProfiles: UInt64 = 4_000

    init(_ microseconds: UInt64, on clock: any Clock) {
        self.clock = clock
        end = clock.microseconds + microseconds
    }

    var isOver: Bool { clock.microseconds >= end }

    /// The time left until the limit, in microseconds.
    var left: UInt64 { end - min(end, clock.microseconds) }
}
