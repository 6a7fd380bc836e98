import Wire

/// A register whose value only grows: of two values, the greater one wins.
public struct MaxRegister<Value: Comparable & Hashable & Sendable>: Hashable, Sendable {
    public private(set) var value: Value

    public init(_ value: Value) { self.value = value }

    public mutating func raise(to value: Value) { self.value = max(self.value, value) }

    public mutating func merge(_ other: MaxRegister) { raise(to: other.value) }
}

extension MaxRegister: WireValue where Value: WireValue {
    public func encode(into writer: inout ByteWriter) { value.encode(into: &writer) }

    public init(from reader: inout ByteReader) throws(WireError) {
        value = try Value(from: &reader)
    }
}
