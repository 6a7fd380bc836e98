/// Whether the disk takes everything, or only what deletes.
///
/// Deleting needs room, too: so all else is refused while some is left, and the rest of it and the
/// reserve are for deletions. A value: it decides, the node carries out.
struct DiskPressure: Sendable {
    /// Below so much room nothing but deletions is taken: 16 MiB, half of what the log grows to; on
    /// a small disk a sixteenth.
    static let minimumBytesMax: UInt64 = 16 << 20
    /// Between two tries to take room for the reserve, in milliseconds.
    static let reserveMilliseconds: UInt64 = 1_000

    /// What is to be done about it.
    enum Step: Hashable, Sendable {
        /// What the log holds goes where it belongs while there is room for it.
        case emptyLog
        case makeReserve
    }

    /// Whether only deletions are taken.
    private(set) var isLow = false
    /// Whether another program keeps the database locked, as the last commit said: no write is
    /// taken before one works again.
    var isLocked = false
    private var reserveDue: UInt64 = 0
    private var isEmptyingLog = false

    private static func minimum(_ room: DiskSpace) -> UInt64 {
        min(minimumBytesMax, room.totalBytes / 16)
    }

    /// The system says how much room there is.
    mutating func onRoom(_ room: DiskSpace, now: UInt64) -> [Step] {
        let minimum = DiskPressure.minimum(room)
        // Once low, a quarter more: who is at the edge does not flap.
        let wanted = isLow ? minimum + minimum / 4 : minimum
        // Were there no room to fold the log, it would keep what it takes and grow on.
        isLow =
            room.freeBytes < wanted + room.logBytes
            || (!room.isReserved && room.freeBytes < 2 * minimum)
        var steps: [Step] = []
        if room.logBytes > 0, room.freeBytes < wanted + 2 * room.logBytes, !isEmptyingLog {
            isEmptyingLog = true
            steps.append(.emptyLog)
        }
        // The reserve is as large as the floor, or half of it; where there is no way to make one,
        // twice the floor does without.
        if !room.isReserved, room.freeBytes >= 2 * minimum, now >= reserveDue {
            reserveDue = now + DiskPressure.reserveMilliseconds
            steps.append(.makeReserve)
        }
        return steps
    }

    /// The log is empty, or could not be emptied.
    mutating func onLogEmptied() { isEmptyingLog = false }
}
