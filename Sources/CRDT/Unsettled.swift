import Wire

/// The operations of a client that may still be executed, by the greatest counter of each process.
///
/// An operation that was answered with "may be done" is unsettled. The client's next requests, on
/// any node, name the operation, so that its late execution changes none of their results.
public struct Unsettled: Hashable, Sendable {
    /// The counters, one for each process; the most recently changed one is the last.
    public private(set) var counters: [ProcessCounter] = []
    /// A time no earlier than any of the operations; zero if there are none.
    public private(set) var time = HybridTimestamp.zero

    /// The greatest number of processes; if there are more, the most recent ones are kept.
    public static let countMax = 4

    public init() {}

    /// Adds an operation, which represents all earlier operations of its process.
    public mutating func insertOperation(_ operation: Stamp) {
        insertCounter(ProcessCounter(process: operation.process, counter: operation.counter))
        raiseTime(operation.time)
    }

    /// Raises `time` to a time that some of the operations may have.
    public mutating func raiseTime(_ time: HybridTimestamp) { self.time = max(self.time, time) }

    public mutating func merge(_ other: Unsettled) {
        for counter in other.counters { insertCounter(counter) }
        raiseTime(other.time)
    }

    private mutating func insertCounter(_ last: ProcessCounter) {
        #if PlantedBugs
            if PlantedBug.unsettledForgotten.isOn { return }
        #endif
        var last = last
        if let index = counters.firstIndex(where: { $0.process == last.process }) {
            let known = counters.remove(at: index)
            if known.counter > last.counter { last = known }
        }
        counters.append(last)
        if counters.count > Unsettled.countMax { counters.removeFirst() }
    }
}

extension Unsettled: WireValue {
    public func encode(into writer: inout ByteWriter) {
        counters.encode(into: &writer)
        writer.write(time != .zero)
        if time != .zero { time.encode(into: &writer) }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        for _ in 0..<(try reader.readCount(limit: Unsettled.countMax)) {
            let counter = try ProcessCounter(from: &reader)
            guard !counters.contains(where: { $0.process == counter.process }) else {
                throw .invalid("one counter for each process")
            }
            counters.append(counter)
        }
        guard try reader.readFlag() else { return }
        time = try HybridTimestamp(from: &reader)
        guard time != .zero else { throw .invalid("a time of operations") }
    }
}
