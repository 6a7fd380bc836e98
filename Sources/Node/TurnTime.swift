/// The time limit of one part of a turn, so that the other parts get theirs.
///
/// No result depends on how much work is done in which turn. Where time stands still within a turn,
/// as in a simulation, all of the work is done at once.
struct TurnTime {
    private let clock: any Clock
    private let end: UInt64

    /// The limit for frames from one member, in microseconds: further frames wait, and nothing more
    /// is read from the member.
    static let ofMember: UInt64 = 4_000
    /// The limit for deferred lists that are begun, in microseconds.
    static let ofLists: UInt64 = 8_000

    init(_ microseconds: UInt64, on clock: any Clock) {
        self.clock = clock
        end = clock.microseconds + microseconds
    }

    var isOver: Bool { clock.microseconds >= end }
}
