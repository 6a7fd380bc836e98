import StorePort

/// The decision whether writes are accepted, or deletions alone because the disk is nearly full.
///
/// A deletion needs disk space, too. So everything else is refused while some space is left; that
/// space and the reserve are for deletions. A state machine: it decides, and the node executes the
/// steps.
struct DiskPressure: Sendable {
    /// The free space below which deletions alone are accepted: 16 MiB, half of what SQLite's WAL
    /// grows to; on a small disk, a sixteenth of it.
    static let minimumBytesMax: UInt64 = 16 << 20
    /// The pause between two attempts to allocate the reserve, in milliseconds.
    static let reserveMilliseconds: UInt64 = 1_000

    /// A step that the store is to take.
    enum Step: Hashable, Sendable {
        /// Write the contents of the write log and the WAL into the database file, while there is
        /// space for them.
        case emptyLog
        /// Allocate the reserve.
        case makeReserve
    }

    /// Whether deletions alone are accepted.
    private(set) var isLow = false
    /// Whether the last commit found the database locked by another program; no write is accepted
    /// until a commit succeeds.
    var isLocked = false
    private var reserveDue: UInt64 = 0
    private var isEmptyingLog = false

    private static func minimum(_ space: DiskSpace) -> UInt64 {
        min(minimumBytesMax, space.totalBytes / 16)
    }

    /// Takes a measurement of the free space.
    mutating func onSpaceMeasured(_ space: DiskSpace, now: UInt64) -> [Step] {
        let minimum = DiskPressure.minimum(space)
        // Once low, a quarter more is needed, so that a disk at the limit does not alternate.
        let wanted = isLow ? minimum + minimum / 4 : minimum
        // The database file may grow by all of the WAL. Without space for that the WAL could not
        // be emptied, and would grow with every write.
        isLow =
            space.freeBytes < wanted + space.logBytes
            || (!space.isReserved && space.freeBytes < 2 * minimum)
        var steps: [Step] = []
        if space.logBytes > 0, space.freeBytes < wanted + 2 * space.logBytes, !isEmptyingLog {
            isEmptyingLog = true
            steps.append(.emptyLog)
        }
        // The reserve takes half of the minimum, on a small disk as much as the minimum. Where none
        // can be allocated, twice the minimum of free space is enough without.
        if !space.isReserved, space.freeBytes >= 2 * minimum, now >= reserveDue {
            reserveDue = now + DiskPressure.reserveMilliseconds
            steps.append(.makeReserve)
        }
        return steps
    }

    /// The step `emptyLog` has ended, with or without success.
    mutating func onLogEmptied() { isEmptyingLog = false }
}
