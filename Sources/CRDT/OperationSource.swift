import Wire

/// The operations of one process: their counters, in the order of its lines, and their times.
public struct OperationSource: Sendable {
    public let process: ProcessID
    private var counter: UInt64 = 0
    private var clock = HybridClock()

    public init(process: ProcessID) { self.process = process }

    /// The time that the next operation is later than.
    public var greatestTime: HybridTimestamp { clock.greatest }

    /// No operation so far is later than this, in counter or in time; nil before the first.
    public var last: Stamp? {
        counter > 0 ? Stamp(time: clock.greatest, process: process, counter: counter) : nil
    }

    public mutating func next(at wall: WallTime) -> Stamp {
        counter += 1
        return Stamp(time: clock.next(at: wall), process: process, counter: counter)
    }

    /// The same operation with a time greater than `time`.
    ///
    /// Only where every node that was asked has refused it: an operation that may exist never gets
    /// a second time. It keeps its counter, and so its place among the lines of its process.
    public mutating func raised(
        _ operation: Stamp, above time: HybridTimestamp, at wall: WallTime
    ) -> Stamp {
        Stamp(
            time: clock.next(at: wall, replacing: time), process: operation.process,
            counter: operation.counter)
    }

    /// Sees a time that clients of this process are shown: what they ask for next is later.
    public mutating func observe(_ time: HybridTimestamp, at wall: WallTime) {
        clock.observe(time, at: wall)
    }
}
