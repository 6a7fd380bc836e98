import Wire

/// The source of the stamps of one process's operations: counters in line order, and times.
public struct OperationSource: Sendable {
    public let process: ProcessID
    private var counter: UInt64 = 0
    private var clock = HybridClock()

    public init(process: ProcessID) { self.process = process }

    /// The greatest time so far, which the time of the next operation exceeds.
    public var greatestTime: HybridTimestamp { clock.greatest }

    /// A stamp whose counter and time no operation so far exceeds; nil before the first operation.
    public var last: Stamp? {
        counter > 0 ? Stamp(time: clock.greatest, process: process, counter: counter) : nil
    }

    public mutating func next(at wall: WallTime) -> Stamp {
        counter += 1
        return Stamp(time: clock.next(at: wall), process: process, counter: counter)
    }

    /// Returns the same operation with a time greater than `time`.
    ///
    /// The caller may do this only if every node to which it sent the operation has refused it: an
    /// operation that may have been executed never gets a second time. The operation keeps its
    /// counter, and therefore its place among the lines of its process.
    public mutating func raised(
        _ operation: Stamp, above time: HybridTimestamp, at wall: WallTime
    ) -> Stamp {
        Stamp(
            time: clock.next(at: wall, replacing: time), process: operation.process,
            counter: operation.counter)
    }

    /// Observes a time that a client of this process has seen; later operations have greater times.
    public mutating func observe(_ time: HybridTimestamp, at wall: WallTime) {
        clock.observe(time, at: wall)
    }
}
