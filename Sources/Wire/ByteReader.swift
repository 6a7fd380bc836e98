/// The errors in bytes that came from a connection or a disk.
public enum WireError: Error, Hashable, Sendable {
    /// The bytes end before the value does.
    case truncated
    /// A count or a length exceeds its limit.
    case tooLong(count: UInt64, limit: Int)
    /// The value is impossible; the text says what it should have been.
    case invalid(String)
    /// Bytes are left over behind the last value.
    case leftover(Int)
    /// The checksum does not match the bytes.
    case checksum
    /// A later version than this one wrote the bytes.
    case version(UInt8)
    /// Only a later version knows this kind of value.
    case unknown
}

/// A reader of values from untrusted bytes.
///
/// Every read is bounded, and none traps.
public struct ByteReader: Sendable {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    public init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    public init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    public var remaining: Int { bytes.endIndex - position }

    public var isAtEnd: Bool { position == bytes.endIndex }

    /// - Throws: `WireError.leftover` where bytes remain.
    public func finish() throws(WireError) {
        guard isAtEnd else { throw .leftover(remaining) }
    }

    public mutating func readByte() throws(WireError) -> UInt8 {
        guard position < bytes.endIndex else { throw .truncated }
        defer { position += 1 }
        return bytes[position]
    }

    public mutating func readFlag() throws(WireError) -> Bool {
        switch try readByte() {
        case 0: return false
        case 1: return true
        default: throw .invalid("a flag")
        }
    }

    public mutating func readVarint() throws(WireError) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try readByte()
            let bits = UInt64(byte & 0x7F)
            guard shift < 63 || (shift == 63 && bits <= 1) else { throw .invalid("a varint") }
            number |= bits << shift
            guard byte & 0x80 != 0 else {
                // Only the shortest form is valid, so that each number has one byte string.
                guard byte != 0 || shift == 0 else { throw .invalid("a shortest varint") }
                return number
            }
            shift += 7
        }
    }

    /// Reads a count of values that take at least one byte each.
    public mutating func readCount(limit: Int = .max) throws(WireError) -> Int {
        let count = try readVarint()
        guard count <= UInt64(limit) else { throw .tooLong(count: count, limit: limit) }
        guard count <= UInt64(remaining) else { throw .truncated }
        return Int(count)
    }

    /// Reads a number that does not count the elements that follow it.
    public mutating func readNumber() throws(WireError) -> Int {
        guard let number = Int(exactly: try readVarint()) else { throw .invalid("a number") }
        return number
    }

    public mutating func readFixed<Number: FixedWidthInteger & UnsignedInteger>(
        _: Number.Type = Number.self
    ) throws(WireError) -> Number {
        let size = MemoryLayout<Number>.size
        guard remaining >= size else { throw .truncated }
        var number: Number = 0
        for byte in bytes[position..<(position + size)] { number = number << 8 | Number(byte) }
        position += size
        return number
    }

    public mutating func readRaw(_ count: Int) throws(WireError) -> ArraySlice<UInt8> {
        guard count >= 0, remaining >= count else { throw .truncated }
        defer { position += count }
        return bytes[position..<(position + count)]
    }

    public mutating func readRest() -> ArraySlice<UInt8> {
        defer { position = bytes.endIndex }
        return bytes[position...]
    }

    public mutating func readBytes(limit: Int = .max) throws(WireError) -> ArraySlice<UInt8> {
        try readRaw(readCount(limit: limit))
    }

    public mutating func readText(limit: Int = .max) throws(WireError) -> String {
        let text = try readBytes(limit: limit).withUnsafeBytes { String(utf8: $0) }
        guard let text else { throw .invalid("UTF-8") }
        return text
    }

    public mutating func readName<Kind: Name>(_: Kind.Type = Kind.self) throws(WireError) -> Kind {
        let slice = try readBytes(limit: nameBytesMax)
        guard isName(slice) else { throw .invalid("a name") }
        return Kind(checked: String(decoding: slice, as: UTF8.self))
    }

    public mutating func readShard() throws(WireError) -> ShardID {
        guard let number = UInt16(exactly: try readVarint()) else { throw .invalid("a shard") }
        return ShardID(number)
    }

    public mutating func readID() throws(WireError) -> RandomID {
        RandomID(high: try readFixed(), low: try readFixed())
    }

    public mutating func readHash() throws(WireError) -> Hash128 {
        Hash128(high: try readFixed(), low: try readFixed())
    }
}
