/// The time that one part of a turn may take, so that the others have theirs.
///
/// Nothing depends on how much of the work is done in which turn; where time stands still within
/// a turn, as it does in a simulation, all of it is done at once.
struct TurnTime {
    private let clock: any Clock
    private let end: UInt64

    /// For what is read from one member in a turn, in microseconds: frames that are behind wait,
    /// and nothing more is read from it.
    static let ofMember: UInt64 = 4_000
    /// For the lists that are begun in a turn.
    static let ofLists: UInt64 = 8_000

    init(_ microseconds: UInt64, on clock: any Clock) {
        self.clock = clock
        end = clock.microseconds + microseconds
    }

    var isOver: Bool { clock.microseconds >= end }
}
