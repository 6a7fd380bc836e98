import Wire

/// A last-writer-wins register: of two values, the one with the greater stamp wins.
///
/// A writer uses a stamp greater than the stamp that it replaces, so a value wins over every value
/// that its writer had seen. Equal stamps belong to the same write; for any other values with equal
/// stamps, the greater value wins, so that the merge is a join over all values.
public struct Register<Value: Comparable & Hashable & Sendable>: Hashable, Sendable {
    public private(set) var stamp: Stamp
    public private(set) var value: Value

    public init(_ value: Value, at stamp: Stamp) {
        self.value = value
        self.stamp = stamp
    }

    public mutating func merge(_ other: Register) {
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
