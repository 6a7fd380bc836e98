/// A count, then the elements.
extension Array: WireValue where Element: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(count: count)
        for element in self { element.encode(into: &writer) }
    }

    /// Reads a list of any length; only the bytes bound it.
    public init(from reader: inout ByteReader) throws(WireError) { self = try reader.readList() }
}

extension Array {
    /// Returns the list if its elements ascend by `key` and differ in it.
    ///
    /// - Parameter name: what the elements are, for the error.
    /// - Throws: `WireError.invalid` for any other order.
    public func ascending<Key: Comparable>(
        _ name: String, by key: (Element) -> Key
    ) throws(WireError) -> [Element] {
        for index in indices.dropFirst() where key(self[index - 1]) >= key(self[index]) {
            throw .invalid("\(name) that ascend")
        }
        return self
    }
}

extension Array where Element: Comparable {
    /// Returns the elements in ascending order if they differ, and ascend by `key`.
    ///
    /// Elements with equal keys may have any order: earlier builds had another one.
    ///
    /// - Parameter name: what the elements are, for the error.
    /// - Throws: `WireError.invalid` for elements that do not ascend by `key`, or that are equal.
    public func ascending<Key: Comparable>(
        _ name: String, within key: (Element) -> Key
    ) throws(WireError) -> [Element] {
        for index in indices.dropFirst() where key(self[index - 1]) > key(self[index]) {
            throw .invalid("\(name) that ascend")
        }
        return try sorted().ascending(name, by: \.self)
    }
}

extension ByteReader {
    /// The memory that a list reserves before its elements are read, at most, in bytes for each
    /// byte that is left: the count of a list is as untrusted as the rest.
    private static let reservedPerByte = 2

    /// Reads a count, then the elements.
    ///
    /// - Throws: `WireError.tooLong` above `limit` elements.
    public mutating func readList<Element: WireValue>(
        of _: Element.Type = Element.self, limit: Int = .max
    ) throws(WireError) -> [Element] {
        try readElements(readCount(limit: limit))
    }

    /// Reads elements whose number is known.
    public mutating func readElements<Element: WireValue>(
        _ count: Int
    ) throws(WireError) -> [Element] {
        var list: [Element] = []
        let most = remaining * ByteReader.reservedPerByte / MemoryLayout<Element>.stride
        list.reserveCapacity(min(count, most))
        for _ in 0..<count { list.append(try Element(from: &self)) }
        return list
    }
}
