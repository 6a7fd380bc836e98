/// Appends values to a byte string.
///
/// The same values always give the same bytes.
public struct ByteWriter: Sendable {
    public internal(set) var bytes: [UInt8]

    public init(reserving capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    public var count: Int { bytes.count }

    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    public mutating func write(_ byte: UInt8) { bytes.append(byte) }

    public mutating func write(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    /// LEB128: seven bits a byte, the lowest first, 1–10 bytes.
    public mutating func write(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    public mutating func write(count: Int) { write(varint: UInt64(count)) }

    /// Big-endian, so that the order of the bytes is that of the numbers.
    public mutating func write<Number: FixedWidthInteger & UnsignedInteger>(fixed number: Number) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// The bytes as they are, without their count.
    public mutating func write(raw: some Collection<UInt8>) { bytes.append(contentsOf: raw) }

    /// A count, then the bytes.
    public mutating func write(_ string: [UInt8]) {
        write(count: string.count)
        bytes.append(contentsOf: string)
    }

    /// A count, then the bytes of the text in UTF-8.
    public mutating func write(_ text: String) {
        let utf8 = text.utf8
        write(count: utf8.count)
        if utf8.withContiguousStorageIfAvailable({ bytes.append(contentsOf: $0) }) == nil {
            bytes.append(contentsOf: utf8)
        }
    }

    public mutating func write(_ name: some Name) { write(name.text) }

    public mutating func write(_ shard: ShardID) { write(varint: UInt64(shard.number)) }

    public mutating func write(_ id: RandomID) { write(high: id.high, low: id.low) }

    public mutating func write(_ hash: Hash128) { write(high: hash.high, low: hash.low) }

    private mutating func write(high: UInt64, low: UInt64) {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes.append(contentsOf: $0) }
    }

    /// Replaces a byte that is written.
    public mutating func replace(at index: Int, with byte: UInt8) { bytes[index] = byte }

    /// Writes what `body` writes, behind the count of its bytes.
    public mutating func writeCounted(_ body: (inout ByteWriter) -> Void) {
        let start = bytes.count
        bytes.append(0)
        body(&self)
        var rest = UInt64(bytes.count - start - 1)
        var index = start
        // A varint as `write(varint:)` spells it; room is made for each byte behind its first.
        while rest >= 0x80 {
            bytes[index] = UInt8(truncatingIfNeeded: rest) | 0x80
            rest >>= 7
            index += 1
            bytes.insert(0, at: index)
        }
        bytes[index] = UInt8(truncatingIfNeeded: rest)
    }

    /// Hands the bytes on, with their memory, and leaves none.
    public mutating func take() -> ByteWriter {
        var taken = ByteWriter()
        swap(&self, &taken)
        return taken
    }
}
