import StorePort

/// The decision whether all writes are accepted, or only deletions because the disk is nearly full.
///
/// A deletion needs disk space, too. Therefore other writes are refused while some space is left;
/// that space and the reserve are for deletions. This type is a state machine: it decides on steps,
/// and the node executes them.
struct DiskPressure: Sendable {
    /// The free space below which only deletions are accepted: 16 MiB, half of the size to which
    /// SQLite's WAL grows; on a small disk, a sixteenth of the disk.
    static let minimumBytesMax: UInt64 = 16 << 20
    /// The pause between two attempts to allocate the reserve, in milliseconds.
    static let reserveMilliseconds: UInt64 = 1_000

    /// A step for the store to execute.
    enum Step: Hashable, Sendable {
        /// Write the contents of the write log and the WAL into the database file, while the disk
        /// has space for them.
        case emptyLog
        /// Allocate the reserve, a part of the disk that is kept for deletions.
        case makeReserve
    }

    /// Whether only deletions are accepted.
    private(set) var isLow = false
    /// Whether the last commit found the database locked by another program; no write is accepted
    /// until a commit succeeds.
    var isLocked = false
    private var reserveDue: UInt64 = 0
    private var isEmptyingLog = false

    private static func minimum(_ space: DiskSpace) -> UInt64 {
        min(minimumBytesMax, space.totalBytes / 16)
    }

    /// Handles a measurement of the free space.
    mutating func onSpaceMeasured(_ space: DiskSpace, now: UInt64) -> [Step] {
        let minimum = DiskPressure.minimum(space)
        // While space is low, a quarter more is required, so that a disk at the limit does not
        // alternate between the two states.
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
        // The reserve takes half of the minimum, or all of the minimum on a small disk. If no
        // reserve can be allocated, free space of twice the minimum is sufficient.
        if !space.isReserved, space.freeBytes >= 2 * minimum, now >= reserveDue {
            reserveDue = now + DiskPressure.reserveMilliseconds
            steps.append(.makeReserve)
        }
        return steps
    }

    /// Handles the end of the step `emptyLog`, with or without success.
    mutating func onLogEmptied() { isEmptyingLog = false }
}
