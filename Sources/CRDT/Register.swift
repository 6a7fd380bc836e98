import Wire

/// A last-writer-wins register: of two values, the one with the later time wins.
///
/// A writer uses a time later than the time that it replaces, so a value wins over every value
/// that its writer had seen. Of two values with equal times, which two nodes have accepted in one
/// millisecond, the greater wins, so that clients, which are told times and no stamps, arrive at
/// the same value. Of equal values the greater stamp is kept, so that the merge is a join over all
/// values.
public struct Register<Value: Comparable & Hashable & Sendable>: Hashable, Sendable {
    public private(set) var stamp: Stamp
    public private(set) var value: Value

    public init(_ value: Value, at stamp: Stamp) {
        self.value = value
        self.stamp = stamp
    }

    public mutating func merge(_ other: Register) {
        #if PlantedBugs
            if PlantedBug.tieDecidedByStamp.isOn {
                return mergeTogether(other)
            }
        #endif
        let (mine, theirs) = (stamp.time, other.stamp.time)
        if (mine, value, stamp) < (theirs, other.value, other.stamp) { self = other }
    }

    /// Merges a register of which clients are told no time, and which is set together with others:
    /// of two values with equal times the one with the greater stamp wins in all of them.
    public mutating func mergeTogether(_ other: Register) {
        if (stamp, value) < (other.stamp, other.value) { self = other }
    }
}

extension Register: WireValue where Value: WireValue {
    public func encode(into writer: inout ByteWriter) {
        stamp.encode(into: &writer)
        value.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        stamp = try Stamp(from: &reader)
        value = try Value(from: &reader)
    }
}
