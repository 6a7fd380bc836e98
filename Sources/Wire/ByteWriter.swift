/// A growing byte string that values are appended to.
///
/// The same values always give the same bytes. The writer owns plain memory and is never copied:
/// most writes are of a few bytes, and the checks of an array would cost more than these writes.
public struct ByteWriter: ~Copyable {
    /// The least size of the first allocation, in bytes; most values fit.
    private static let firstBytes = 256

    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    public private(set) var count = 0

    public init(reserving capacity: Int = 0) {
        if capacity > 0 { grow(to: capacity) }
    }

    deinit { memory.deallocate() }

    /// A copy of the written bytes.
    public var bytes: [UInt8] { bytes(from: 0) }

    /// Returns a copy of the written bytes from `start` on.
    public func bytes(from start: Int) -> [UInt8] {
        withUnsafeBytes { Array(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }

    /// Calls `body` with the written bytes, which are valid during the call only.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    }

    /// Discards the written bytes and keeps the memory.
    public mutating func removeAll() { count = 0 }

    public mutating func write(_ byte: UInt8) {
        reserve(1)
        memory[count] = byte
        count += 1
    }

    public mutating func write(_ flag: Bool) { write(flag ? 1 : 0 as UInt8) }

    /// Writes a number as LEB128: seven bits a byte, the lowest first, 1–10 bytes.
    public mutating func write(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            write(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        write(UInt8(truncatingIfNeeded: rest))
    }

    public mutating func write(count: Int) { write(varint: UInt64(count)) }

    /// Writes a number big-endian, so that the bytes sort as the numbers do.
    public mutating func write<Number: FixedWidthInteger & UnsignedInteger>(fixed number: Number) {
        let size = MemoryLayout<Number>.size
        reserve(size)
        memory.storeBytes(of: number.bigEndian, toByteOffset: count, as: Number.self)
        count += size
    }

    /// Writes the bytes without a count.
    public mutating func write(raw: UnsafeRawBufferPointer) {
        guard !raw.isEmpty else { return }
        reserve(raw.count)
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: raw)
        count += raw.count
    }

    /// Writes the bytes without a count.
    public mutating func write(raw: some Collection<UInt8>) {
        let isWritten: Void? = raw.withContiguousStorageIfAvailable {
            write(raw: UnsafeRawBufferPointer($0))
        }
        if isWritten == nil { for byte in raw { write(byte) } }
    }

    /// Writes a count, then the bytes.
    public mutating func write(_ string: [UInt8]) {
        write(count: string.count)
        string.withUnsafeBytes { write(raw: $0) }
    }

    /// Writes a count, then the bytes of the text in UTF-8.
    public mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            write(count: utf8.count)
            write(raw: UnsafeRawBufferPointer(utf8))
        }
    }

    public mutating func write(_ name: some Name) { write(name.text) }

    public mutating func write(_ shard: ShardID) { write(varint: UInt64(shard.number)) }

    public mutating func write(_ id: RandomID) { write(high: id.high, low: id.low) }

    public mutating func write(_ hash: Hash128) { write(high: hash.high, low: hash.low) }

    private mutating func write(high: UInt64, low: UInt64) {
        write(fixed: high)
        write(fixed: low)
    }

    /// Replaces a number that `write(fixed:)`, or a byte that `write(_:)`, wrote at `index`.
    public mutating func replace<Number: FixedWidthInteger & UnsignedInteger>(
        at index: Int, with number: Number
    ) {
        precondition(
            index + MemoryLayout<Number>.size <= count, "only what is written is replaced")
        memory.storeBytes(of: number.bigEndian, toByteOffset: index, as: Number.self)
    }

    /// Writes the number of bytes that `body` writes, then these bytes.
    public mutating func writeCounted(_ body: (inout ByteWriter) -> Void) {
        let start = count
        write(0 as UInt8)
        body(&self)
        var rest = UInt64(count - start - 1)
        var index = start
        // A varint as in `write(varint:)`; the bytes are moved for each byte behind its first.
        while rest >= 0x80 {
            memory[index] = UInt8(truncatingIfNeeded: rest) | 0x80
            rest >>= 7
            index += 1
            insertByte(at: index)
        }
        memory[index] = UInt8(truncatingIfNeeded: rest)
    }

    /// Moves the bytes from `index` on by one.
    private mutating func insertByte(at index: Int) {
        reserve(1)
        UnsafeMutableRawBufferPointer(rebasing: memory[(index + 1)...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[index..<count]))
        count += 1
    }

    /// Ensures that so many more bytes fit.
    @inline(__always)
    private mutating func reserve(_ more: Int) {
        if count + more > memory.count { grow(to: count + more) }
    }

    /// Doubles the memory, so that the cost of appending a byte does not grow with the size.
    @inline(never)
    private mutating func grow(to needed: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(needed, memory.count * 2, Self.firstBytes), alignment: 8)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
        memory.deallocate()
        memory = larger
    }
}
