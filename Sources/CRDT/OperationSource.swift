import Wire

/// The source of one process's operations: counters in the order of its lines, and times.
public struct OperationSource: Sendable {
    public let process: ProcessID
    private var counter: UInt64 = 0
    private var clock = HybridClock()

    public init(process: ProcessID) { self.process = process }

    /// The time that the next operation's time exceeds.
    public var greatestTime: HybridTimestamp { clock.greatest }

    /// An upper bound of the operations so far, in counter and in time; nil before the first one.
    public var last: Stamp? {
        counter > 0 ? Stamp(time: clock.greatest, process: process, counter: counter) : nil
    }

    public mutating func next(at wall: WallTime) -> Stamp {
        counter += 1
        return Stamp(time: clock.next(at: wall), process: process, counter: counter)
    }

    /// Returns the same operation with a time greater than `time`.
    ///
    /// This is allowed only if every node that was asked has refused the operation: an operation
    /// that may have been executed never gets a second time. It keeps its counter, and therefore
    /// its place among the lines of its process.
    public mutating func raised(
        _ operation: Stamp, above time: HybridTimestamp, at wall: WallTime
    ) -> Stamp {
        Stamp(
            time: clock.next(at: wall, replacing: time), process: operation.process,
            counter: operation.counter)
    }

    /// Observes a time that clients of this process are shown; later operations are greater.
    public mutating func observe(_ time: HybridTimestamp, at wall: WallTime) {
        clock.observe(time, at: wall)
    }
}
