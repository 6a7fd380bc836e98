/// Appends values to a byte string.
///
/// The same values always give the same bytes. It owns plain memory and is never copied: most
/// writes are of a few bytes, and what an array asks itself before each costs more than those.
public struct ByteWriter: ~Copyable {
    /// The first allocation, where nothing else is asked for: most values fit.
    private static let firstBytes = 256

    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    public private(set) var count = 0

    public init(reserving capacity: Int = 0) {
        if capacity > 0 { grow(to: capacity) }
    }

    deinit { memory.deallocate() }

    /// A copy of what is written.
    public var bytes: [UInt8] { bytes(from: 0) }

    /// A copy of what is written from `start` on.
    public func bytes(from start: Int) -> [UInt8] {
        withUnsafeBytes { Array(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }

    /// Shows what is written; the bytes are valid during the call only.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    }

    /// Forgets what is written, and keeps its memory.
    public mutating func removeAll() { count = 0 }

    public mutating func write(_ byte: UInt8) {
        reserve(1)
        memory[count] = byte
        count += 1
    }

    public mutating func write(_ flag: Bool) { write(flag ? 1 : 0 as UInt8) }

    /// LEB128: seven bits a byte, the lowest first, 1–10 bytes.
    public mutating func write(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            write(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        write(UInt8(truncatingIfNeeded: rest))
    }

    public mutating func write(count: Int) { write(varint: UInt64(count)) }

    /// Big-endian, so that the order of the bytes is that of the numbers.
    public mutating func write<Number: FixedWidthInteger & UnsignedInteger>(fixed number: Number) {
        let size = MemoryLayout<Number>.size
        reserve(size)
        memory.storeBytes(of: number.bigEndian, toByteOffset: count, as: Number.self)
        count += size
    }

    /// The bytes as they are, without their count.
    public mutating func write(raw: UnsafeRawBufferPointer) {
        guard !raw.isEmpty else { return }
        reserve(raw.count)
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: raw)
        count += raw.count
    }

    /// The bytes as they are, without their count.
    public mutating func write(raw: some Collection<UInt8>) {
        let isWritten: Void? = raw.withContiguousStorageIfAvailable {
            write(raw: UnsafeRawBufferPointer($0))
        }
        if isWritten == nil { for byte in raw { write(byte) } }
    }

    /// A count, then the bytes.
    public mutating func write(_ string: [UInt8]) {
        write(count: string.count)
        string.withUnsafeBytes { write(raw: $0) }
    }

    /// A count, then the bytes of the text in UTF-8.
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

    /// Replaces what `write(fixed:)` or `write(_:)` of a byte wrote there.
    public mutating func replace<Number: FixedWidthInteger & UnsignedInteger>(
        at index: Int, with number: Number
    ) {
        precondition(
            index + MemoryLayout<Number>.size <= count, "only what is written is replaced")
        memory.storeBytes(of: number.bigEndian, toByteOffset: index, as: Number.self)
    }

    /// Writes what `body` writes, behind the count of its bytes.
    public mutating func writeCounted(_ body: (inout ByteWriter) -> Void) {
        let start = count
        write(0 as UInt8)
        body(&self)
        var rest = UInt64(count - start - 1)
        var index = start
        // A varint as `write(varint:)` spells it; room is made for each byte behind its first.
        while rest >= 0x80 {
            memory[index] = UInt8(truncatingIfNeeded: rest) | 0x80
            rest >>= 7
            index += 1
            insertByte(at: index)
        }
        memory[index] = UInt8(truncatingIfNeeded: rest)
    }

    /// Moves what is written from `index` on by a byte.
    private mutating func insertByte(at index: Int) {
        reserve(1)
        UnsafeMutableRawBufferPointer(rebasing: memory[(index + 1)...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[index..<count]))
        count += 1
    }

    /// Makes sure of room for so many bytes more.
    @inline(__always)
    private mutating func reserve(_ more: Int) {
        if count + more > memory.count { grow(to: count + more) }
    }

    /// Doubles, so that appending costs the same however much is written.
    @inline(never)
    private mutating func grow(to needed: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(needed, memory.count * 2, Self.firstBytes), alignment: 8)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
        memory.deallocate()
        memory = larger
    }
}
